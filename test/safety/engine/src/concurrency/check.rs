//! What a participant must find at every open and refresh, and immediately after its own commits.

use super::layers::{Space, Stack};
use super::participant::Participant;
use super::world::SharedCommit;
use varve_core::{BlobRef, Damage, Result};

/// How often a missing file is looked up in a newer state, as the API does for large values.
const READS: u32 = 8;

impl Participant {
    /// Every group whole, none older than what was seen or acknowledged before this state was read.
    pub(super) fn check(&mut self) -> Result<()> {
        for index in 0..self.world.groups().len() {
            self.check_group(index)?;
            for number in self.due(index) {
                // Damage during the check allows misses that it does not expect yet.
                if self.number(&format!("{index} #{number}"))?.is_none()
                    && self.world.damages() == self.damages
                {
                    self.world.violation(format!("commit {number} of {index} is lost"));
                }
            }
        }
        self.check_shared()?;
        let damage = self.damage_here(self.handle.store().status().damage);
        if self.world.damages() == 0 && !damage.is_empty() {
            self.world
                .violation(format!("damage is reported, although nothing was damaged: {damage:?}"));
        }
        self.world.count("reads");
        Ok(())
    }

    /// What is damaged, without the layers that are missing.
    pub(super) fn damage_here(&self, mut damage: Vec<Damage>) -> Vec<Damage> {
        let has_missing = self.stack.is_some_and(Stack::is_partial);
        damage.retain(|damage| !has_missing || damage.what != "missing layer");
        damage
    }

    /// The commits of a participant that must be there.
    fn due(&self, index: usize) -> Vec<u64> {
        if self.world.terms.is_capped() || self.world.damages() != self.damages {
            return Vec::new();
        }
        if self.damages > 0 {
            return self.established[index].clone();
        }
        let history = self.world.groups().swap_remove(index).history;
        history.into_iter().filter(|number| *number <= self.seen[index]).collect()
    }

    /// The keys of one participant's newest commit. If entries may be misses, those that are found are of one commit.
    pub(super) fn check_group(&mut self, index: usize) -> Result<()> {
        self.world.expose(self.me, false);
        let (may_miss, damages) = (self.world.may_miss(), self.world.damages());
        let mut number = None;
        for key in ["a", "f", "o", "d"].map(|key| format!("{index} {key}")) {
            if number.is_none() && (may_miss || key.ends_with('a')) {
                let is_loose = self.world.is_loose(index, self.seen[index]);
                let is_miss = may_miss && self.world.may_show(Space::Fixed, &key, is_loose);
                number = self.number(&key)?.filter(|number| *number > 0 || !is_miss);
            }
        }
        let least = if may_miss { self.due(index).pop().unwrap_or(0) } else { self.seen[index] };
        let ceiling = self.world.groups()[index].begun;
        let is_older = number.is_some_and(|number| number < self.seen[index]);
        let number = number.unwrap_or(0);
        if is_older || number < least || number > ceiling {
            // Damage during the check allows misses that it does not expect yet.
            if self.world.damages() != damages {
                return self.check_group(index);
            }
            let floor = self.seen[index];
            self.world.violation(format!(
                "{index} has {number}, not from {floor} (or a miss below {least}) to {ceiling}"
            ));
        }
        for key in ["a", "f", "o", "d"] {
            let (expected, found) =
                (self.expected(index, key, number), self.number(&format!("{index} {key}"))?);
            // A writer may lose its pin with its log, to a process that cannot test locks, or if it pauses or a call
            // fails; then the entry of the files is a miss.
            let cannot_test = self.world.groups().iter().any(|group| !group.has_lock);
            let may_lose = key == "o"
                && (cannot_test
                    || self.world.terms.turns_per_pause > 0
                    || self.world.terms.calls_per_fault > 0);
            let may_show = found == Some(0) && self.may_show(index, key, number);
            if found != expected && !may_show && !((may_lose || may_miss) && found.is_none()) {
                // A file may be collected because its entry was overwritten since: a miss, in an older state only.
                if self.world.damages() != damages
                    || (found.is_none() && self.handle.store().refresh()?)
                {
                    return self.check_group(index);
                }
                self.world.violation(format!(
                    "a mixture: {index} a has {number}, {index} {key} {found:?}"
                ));
            }
        }
        // What a writer without a lock has not acknowledged may have been appended to a log that was taken: it is
        // seen, goes, and comes again. What a call that failed has appended goes with its log.
        let group = &self.world.groups()[index];
        let stays = group.has_lock && self.world.terms.calls_per_fault == 0;
        if stays || number <= group.acknowledged {
            self.seen[index] = self.seen[index].max(number);
        }
        self.check_output(index, number)
    }

    /// What a key of a participant has after its commit `number`. Commit 0 is that of the layers.
    fn expected(&self, index: usize, key: &str, number: u64) -> Option<u64> {
        match number {
            0 => self.below(Space::Fixed, &format!("{index} {key}")).map(|_| 0),
            _ => Some(number).filter(|number| key != "d" || number % 3 != 0),
        }
    }

    /// Whether layers may show a key of a participant after its commit `number`.
    fn may_show(&self, index: usize, key: &str, number: u64) -> bool {
        let (world, name) = (&self.world, format!("{index} {key}"));
        let is_none = self.expected(index, key, number).is_none() || world.may_miss();
        is_none && world.may_show(Space::Fixed, &name, world.is_loose(index, number))
    }

    /// The value that the layers of this participant have.
    fn below(&self, space: Space, key: &str) -> Option<&'static [u8]> {
        self.stack?.value(space, key)
    }

    /// The file that `o` needs must be there as long as `o` is, unless files were damaged.
    fn check_output(&mut self, index: usize, number: u64) -> Result<()> {
        let key = format!("{index} o");
        for attempt in 0..READS {
            let Some(value) = self.handle.get(self.id, key.as_bytes(), <[u8]>::to_vec)? else {
                return Ok(());
            };
            let mut parts = value.splitn(2, |byte| *byte == b' ');
            let (Some(now), Some(content)) = (parts.next(), parts.next()) else { return Ok(()) };
            if self
                .handle
                .store()
                .read_blob(&BlobRef::of(content))?
                .is_some_and(|read| read == content)
            {
                return Ok(());
            }
            if attempt + 1 < READS && self.handle.store().refresh()? {
                continue;
            }
            // A participant whose commit failed sees what it has put. Its pin may be lost, and its file collected.
            let is_put = index == self.me && self.version.is_some();
            if self.world.damages() == 0 && !is_put {
                let now = String::from_utf8_lossy(now).into_owned();
                self.world.violation(format!(
                    "the file of {index} o, commit {now} (first {number}), is missing"
                ));
            }
            break;
        }
        Ok(())
    }

    /// The last commit to a key is found, or one that ran at the same time as the last one.
    fn check_shared(&mut self) -> Result<()> {
        if !self.world.is_in_step() {
            return Ok(());
        }
        let own = self.number_in(self.id, "shared")?;
        self.check_last("key", Space::Fixed, own);
        // A participant whose commit failed sees what it has put, too.
        if self.version.is_none() { self.check_versions() } else { Ok(()) }
    }

    /// Only one version of a namespace has commits; of the others, layers are visible.
    fn check_versions(&mut self) -> Result<()> {
        let mut of_versions = Vec::new();
        for (version, id) in self.versions.clone().into_iter().enumerate() {
            let (space, found) = (Space::Version(version), self.number_in(id, "shared")?);
            if found.is_some_and(|number| number > 0) {
                of_versions.push((space, found));
            } else if found.is_none()
                && self.below(space, "shared").is_some()
                && !self.world.may_miss()
            {
                self.world.violation(format!("{space:?} has nothing of the layers below"));
            }
        }
        if of_versions.len() > 1 {
            self.world.violation(format!("several versions at once: {of_versions:?}"));
        }
        let (space, found) = of_versions.first().copied().unwrap_or((Space::Version(0), None));
        self.check_last("version", space, found);
        let current = found.map(|number| (space, number));
        if self.world.layers.is_any() { self.check_gone(current) } else { Ok(()) }
    }

    /// The last commit to the current version has deleted `gone`. Of other versions, and of `kept`, layers are visible.
    fn check_gone(&mut self, current: Option<(Space, u64)>) -> Result<()> {
        for (version, id) in self.versions.clone().into_iter().enumerate() {
            let space = Space::Version(version);
            let (found, kept) = (self.number_in(id, "gone")?, self.number_in(id, "kept")?);
            let below = self.below(space, "gone").map(|_| 0);
            let is_right = match current.filter(|(current, _)| *current == space) {
                Some((_, number)) => {
                    let is_loose = self.world.shared()[number as usize - 1].is_loose;
                    found.is_none() || self.world.may_show(space, "gone", is_loose)
                }
                None => found == below || self.world.may_miss(),
            };
            if !is_right {
                self.world.violation(format!(
                    "{space:?} gone has {found:?}, {below:?} in layers, after {current:?}"
                ));
            }
            if kept != self.below(space, "kept").map(|_| 0) && !self.world.may_miss() {
                self.world.violation(format!("{space:?} kept has {kept:?}, not what layers have"));
            }
        }
        Ok(())
    }

    /// No commit came after the one that was found, which is 0 for layers.
    fn check_last(&self, what: &str, space: Space, found: Option<u64>) {
        let commits = self.world.shared();
        let is_due =
            |commit: &SharedCommit| commit.acknowledged.is_some_and(|at| at <= self.read_at);
        let is_loose = !commits.iter().any(|commit| is_due(commit) && !commit.is_loose);
        let is_miss = self.world.may_miss() && self.world.may_show(space, "shared", is_loose);
        let found = found.filter(|number| *number > 0 || !is_miss);
        // A log that is cut while it is read may have been measured before: what is left is an older state of it.
        if found.is_none() && self.world.may_miss() || self.world.damages() != self.damages {
            return;
        }
        // When the commit that was found was over; before everything if none was.
        let over = match found.unwrap_or(0) {
            0 => Some(0),
            number => commits.get(number as usize - 1).and_then(|commit| commit.acknowledged),
        };
        let is_newer =
            |commit: &&SharedCommit| is_due(commit) && over.is_some_and(|over| over < commit.begun);
        if let Some(newer) = commits.iter().find(is_newer) {
            self.world
                .violation(format!("the {what} of all has {found:?}, and {newer:?} came after it"));
        }
    }

    fn number(&mut self, key: &str) -> Result<Option<u64>> {
        self.number_in(self.id, key)
    }

    fn number_in(&mut self, id: u32, key: &str) -> Result<Option<u64>> {
        let Some(value) = self.handle.get(id, key.as_bytes(), <[u8]>::to_vec)? else {
            return Ok(None);
        };
        let number =
            String::from_utf8_lossy(&value).split(' ').next().unwrap_or_default().parse().ok();
        if number.is_none() {
            self.world.violation(format!("the value of {key} was never written"));
        }
        let space = self.space(id);
        if number == Some(0) && self.below(space, key) != Some(&*value) {
            self.world.violation(format!(
                "{space:?} {key} has a value that the layers below do not have"
            ));
        }
        Ok(number)
    }
}
