//! Usage records: on which day entries were last used. They are separate from the tables, so that reading never
//! rewrites one.
//!
//! ```text
//! used/<day>-<number>     a record: hashes of keys by namespace and day; <day> is the newest in it, in days since 1970
//! ```
//! - Records are hints. A torn, damaged or missing one only makes entries look older than they are. So records are not
//!   synced, and no failure to write one fails a call.
//! - If a hash has several marks, the newest counts. So a process may merge the marks of some records into a new one
//!   and remove them, at any time and concurrently with other processes (`folder.rs`).

mod bits;
mod folder;
mod record;
#[cfg(test)]
mod tests;
mod tracker;

pub(crate) use bits::UsageBits;
pub(crate) use folder::UsageFolder;
#[cfg(any(test, feature = "sim"))]
pub(crate) use folder::number_of_record;
pub(crate) use tracker::UsageTracker;

use std::collections::BTreeMap;

/// Days since 1970; the last one stands for all later ones.
pub(crate) type Day = u16;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Marks older than this many days are dropped.
const DAYS_KEPT: Day = 90;

/// Most marks that are kept; those of the oldest days are dropped first.
pub(crate) const MARKS_MAX: usize = 8 << 20;

/// The day of a time.
pub(crate) fn day_of(time_ms: u64) -> Day {
    Day::try_from(time_ms / DAY_MS).unwrap_or(Day::MAX)
}

/// The start of that day.
pub(crate) fn ms_of(day: Day) -> u64 {
    u64::from(day) * DAY_MS
}

/// The use of an entry: upper half of its key's hash, day, and whether it was read then or only written.
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

/// Marks by namespace: the newest of each hash, sorted by hash.
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

    /// Keeps the marks for which `keep` returns true.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Space, Mark) -> bool) {
        for (space, marks) in &mut self.spaces {
            marks.retain(|mark| keep(space, *mark));
        }
        self.spaces.retain(|_, marks| !marks.is_empty());
    }

    /// Drops old marks, and changes marks after today to today: the clock was wrong then, or is wrong now.
    pub(crate) fn settle_at(&mut self, today: Day) {
        let oldest = today.saturating_sub(DAYS_KEPT);
        for marks in self.spaces.values_mut() {
            let at_most_today =
                |mark: &Mark| Mark::new(mark.hash(), mark.day().min(today), mark.is_read());
            *marks = marks.iter().map(at_most_today).filter(|mark| mark.day() >= oldest).collect();
        }
        self.bound_to(MARKS_MAX);
    }

    /// Drops the oldest days while there are too many marks; of a single day, any marks.
    fn bound_to(&mut self, marks_max: usize) {
        while self.len() > marks_max {
            let Some(oldest) = self.spaces.values().flatten().map(|mark| mark.day()).min() else {
                return;
            };
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

/// Sorts marks and keeps the newest of each hash.
pub(crate) fn settle(marks: &mut Vec<Mark>) {
    marks.sort_unstable();
    // `dedup` removes the later of two, so the order is reversed first.
    marks.reverse();
    marks.dedup_by_key(|mark| mark.hash());
    marks.reverse();
}

/// Finds marks in a sorted list, for ascending hashes.
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
