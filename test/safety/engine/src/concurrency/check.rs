//! What a participant must find at every open and refresh, and immediately after its own commits.

use super::participant::Participant;
use super::world::SharedCommit;
use varve_core::{BlobRef, Result};

/// How often a missing file is looked up in a newer state, as the API does for large values.
const READS: u32 = 8;

impl Participant {
    /// Every group whole, none older than what was seen or acknowledged before this state was read.
    pub(super) fn check(&mut self) -> Result<()> {
        for index in 0..self.world.groups().len() {
            self.check_group(index)?;
            for number in self.due(index) {
                // Damage during the check allows misses that it does not expect yet.
                if self.number(&format!("{index} #{number}"))?.is_none() && self.world.damages() == self.damages {
                    self.world.violation(format!("commit {number} of {index} is lost"));
                }
            }
        }
        self.check_shared()?;
        let damage = self.handle.store().status().damage;
        if self.world.damages() == 0 && !damage.is_empty() {
            self.world.violation(format!("damage is reported, although nothing was damaged: {damage:?}"));
        }
        self.world.count("reads");
        Ok(())
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
        let mut number = self.number(&format!("{index} a"))?;
        for key in ["f", "o", "d"] {
            if may_miss && number.is_none() {
                number = self.number(&format!("{index} {key}"))?;
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
            self.world
                .violation(format!("{index} has {number}, not from {floor} (or a miss below {least}) to {ceiling}"));
        }
        let here = Some(number).filter(|number| *number > 0);
        for (key, expected) in [("f", here), ("o", here), ("d", here.filter(|number| number % 3 != 0))] {
            let found = self.number(&format!("{index} {key}"))?;
            // A writer may lose its pin with its log, to a process that cannot test locks, or if it pauses or a call
            // fails; then the entry of the files is a miss.
            let cannot_test = self.world.groups().iter().any(|group| !group.has_lock);
            let may_lose = key == "o"
                && (cannot_test || self.world.terms.turns_per_pause > 0 || self.world.terms.calls_per_fault > 0);
            if found != expected && !((may_lose || may_miss) && found.is_none()) {
                // A file may be collected because its entry was overwritten since: a miss, in an older state only.
                if self.world.damages() != damages || (found.is_none() && self.handle.store().refresh()?) {
                    return self.check_group(index);
                }
                self.world.violation(format!("a mixture: {index} a has {number}, {index} {key} {found:?}"));
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

    /// The file that `o` needs must be there as long as `o` is, unless files were damaged.
    fn check_output(&mut self, index: usize, number: u64) -> Result<()> {
        let key = format!("{index} o");
        for attempt in 0..READS {
            let Some(value) = self.handle.get(self.id, key.as_bytes(), <[u8]>::to_vec)? else { return Ok(()) };
            let mut parts = value.splitn(2, |byte| *byte == b' ');
            let (Some(now), Some(content)) = (parts.next(), parts.next()) else { return Ok(()) };
            if self.handle.store().read_blob(&BlobRef::of(content))?.is_some_and(|read| read == content) {
                return Ok(());
            }
            if attempt + 1 < READS && self.handle.store().refresh()? {
                continue;
            }
            if self.world.damages() == 0 {
                let now = String::from_utf8_lossy(now).into_owned();
                self.world.violation(format!("the file of {index} o, commit {now} (first {number}), is missing"));
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
        let commits = self.world.shared();
        let own = self.number_in(self.id, "shared")?;
        let mut of_versions = Vec::new();
        // A participant whose commit failed sees what it has put, too.
        let versions = if self.version.is_some() { Vec::new() } else { self.versions.clone() };
        for version in &versions {
            of_versions.extend(self.number_in(*version, "shared")?);
        }
        if of_versions.len() > 1 {
            self.world.violation(format!("several versions at once: {of_versions:?}"));
        }
        let of_version = Some(("version", of_versions.first().copied())).filter(|_| !versions.is_empty());
        for (what, found) in [("key", own)].into_iter().chain(of_version) {
            // A log that is cut while it is read may have been measured before: what is left is an older state of it.
            if found.is_none() && self.world.may_miss() || self.world.damages() != self.damages {
                continue;
            }
            // When the commit that was found was over; before everything if none was.
            let over =
                found.map_or(Some(0), |number| commits.get(number as usize).and_then(|commit| commit.acknowledged));
            let is_newer = |commit: &&SharedCommit| {
                commit.acknowledged.is_some_and(|at| at <= self.read_at) && over.is_some_and(|over| over < commit.begun)
            };
            if let Some(newer) = commits.iter().find(is_newer) {
                self.world.violation(format!("the {what} of all has {found:?}, and {newer:?} came after it"));
            }
        }
        Ok(())
    }

    fn number(&mut self, key: &str) -> Result<Option<u64>> {
        self.number_in(self.id, key)
    }

    fn number_in(&mut self, id: u32, key: &str) -> Result<Option<u64>> {
        let parse = |value: &[u8]| String::from_utf8_lossy(value).split(' ').next().unwrap_or_default().parse().ok();
        let found = self.handle.get(id, key.as_bytes(), parse)?;
        if found == Some(None) {
            self.world.violation(format!("the value of {key} was never written"));
        }
        Ok(found.flatten())
    }
}
