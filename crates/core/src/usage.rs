//! Use records: on which day entries were last used. Kept apart from the tables, so that reading never rewrites one.
//!
//! ```text
//! used/<day>-<number>     a record: hashes of keys by namespace and day; <day> is the newest in it, in days since 1970
//! ```
//! - An entry's **known day** is the newest of: the day of its commit while that is in a log, the day of the oldest
//!   commit of its table, the days of marks that have its hash. So a table of commits of one day needs no marks; when
//!   it is merged with an older one, marks say what is younger (`compact/merge.rs`).
//! - What this process **read** is one bit of each entry (`bits.rs`), set by lookups; hashes are looked up only when a
//!   record is due. It is written at `flush` and `close`, and only for entries whose known day is before today: the
//!   first build of a day writes one small file, later ones and those that wrote the entries nothing.
//! - Records are hints. One that is torn, damaged or gone makes entries look older than they are, nothing else; so none
//!   is waited for, and no failure to write one fails a call.
//! - Marks of one hash: the newest counts. So whoever writes the marks of some records into one may remove those, at
//!   any time and beside anybody else (`folder.rs`).

mod bits;
mod folder;
mod noted;
mod record;
#[cfg(test)]
mod tests;

pub(crate) use bits::UsedBits;
pub(crate) use folder::UsedFolder;
#[cfg(feature = "sim")]
pub(crate) use folder::number_of_record;
pub(crate) use noted::Noted;

use std::collections::BTreeMap;

/// Days since 1970; the last one stands for all later ones.
pub(crate) type Day = u16;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Marks older than so many days are forgotten.
const DAYS_KEPT: Day = 90;

/// More marks than this are not kept; those of the oldest days go first.
pub(crate) const MARKS_MAX: usize = 8 << 20;

/// The day of a time.
pub(crate) fn day_of(time_ms: u64) -> Day {
    Day::try_from(time_ms / DAY_MS).unwrap_or(Day::MAX)
}

/// When that day began.
pub(crate) fn ms_of(day: Day) -> u64 {
    u64::from(day) * DAY_MS
}

/// That an entry was used: upper half of its key's hash, day, whether it was read then (else only written).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark(u64);

impl Mark {
    pub(crate) fn new(hash: u32, day: Day, is_read: bool) -> Self {
        Self(u64::from(hash) << 32 | u64::from(day) << 1 | u64::from(is_read))
    }

    pub(crate) fn hash(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn day(self) -> Day {
        (self.0 >> 1) as Day
    }

    pub(crate) fn is_read(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Name and version of a namespace.
pub(crate) type Space = (String, String);

/// Marks by namespace: of each hash the newest, in order of the hashes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    spaces: BTreeMap<Space, Vec<Mark>>,
}

impl Marks {
    pub(crate) fn add(&mut self, space: Space, marks: Vec<Mark>) {
        if marks.is_empty() {
            return;
        }
        let all = self.spaces.entry(space).or_default();
        all.extend(marks);
        settle(all);
    }

    pub(crate) fn absorb(&mut self, other: Self) {
        other.spaces.into_iter().for_each(|(space, marks)| self.add(space, marks));
    }

    pub(crate) fn of(&self, space: &Space) -> &[Mark] {
        self.spaces.get(space).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn take(&mut self, space: &Space) -> Vec<Mark> {
        self.spaces.remove(space).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.spaces.values().map(Vec::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spaces.values().all(Vec::is_empty)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Space, &[Mark])> {
        self.spaces.iter().map(|(space, marks)| (space, marks.as_slice()))
    }

    /// Keeps the marks for which `keep` holds.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Space, Mark) -> bool) {
        for (space, marks) in &mut self.spaces {
            marks.retain(|mark| keep(space, *mark));
        }
        self.spaces.retain(|_, marks| !marks.is_empty());
    }

    /// Forgets what was long ago, and takes what was after today for today: the clock was wrong then, or is wrong now.
    pub(crate) fn settle_at(&mut self, today: Day) {
        let oldest = today.saturating_sub(DAYS_KEPT);
        for marks in self.spaces.values_mut() {
            let at_most_today = |mark: &Mark| Mark::new(mark.hash(), mark.day().min(today), mark.is_read());
            *marks = marks.iter().map(at_most_today).filter(|mark| mark.day() >= oldest).collect();
        }
        self.bound_to(MARKS_MAX);
    }

    /// Drops the oldest days as long as there are too many marks, of a single day any.
    fn bound_to(&mut self, marks_max: usize) {
        while self.len() > marks_max {
            let Some(oldest) = self.spaces.values().flatten().map(|mark| mark.day()).min() else { return };
            if Some(oldest) == self.newest() {
                self.spaces.values_mut().for_each(|marks| marks.truncate(marks.len() / 2));
            } else {
                self.retain(|_, mark| mark.day() > oldest);
            }
        }
        self.spaces.retain(|_, marks| !marks.is_empty());
    }

    /// The newest day.
    pub(crate) fn newest(&self) -> Option<Day> {
        self.spaces.values().flatten().map(|mark| mark.day()).max()
    }
}

/// Sorts marks and leaves of each hash the newest.
pub(crate) fn settle(marks: &mut Vec<Mark>) {
    marks.sort_unstable();
    // Of two in a row the first one that is removed is the later one, so they are looked at from behind.
    marks.reverse();
    marks.dedup_by_key(|mark| mark.hash());
    marks.reverse();
}

/// The mark of a hash among marks in order, for hashes that only grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [Mark],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(marks: &'a [Mark]) -> Self {
        Self { rest: marks }
    }

    pub(crate) fn find(&mut self, hash: u32) -> Option<Mark> {
        while let Some((first, rest)) = self.rest.split_first()
            && first.hash() < hash
        {
            self.rest = rest;
        }
        self.rest.first().copied().filter(|mark| mark.hash() == hash)
    }
}
