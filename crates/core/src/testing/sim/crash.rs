//! The directories that a crash could leave, one after the other.
//!
//! The iterator goes through the journal once. At each entry it knows the directory that is certainly durable and the
//! pending operations. `fate.rs` provides the plans; each plan, applied to the durable directory, is one state.
//! Invariants: pending operations are in journal order. A sync makes every pending append of its file durable, and a
//! sync of the directory every pending change of a name.

use super::SimVfs;
use super::content::Content;
use super::fate::{Fate, Model, Pending, Plan, SECTOR_BYTES, mix};
use super::fault::LostPages;
use super::journal::{Image, InodeId, Operation};
use super::state::Options;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

/// One outcome of a crash.
#[derive(Debug)]
pub struct CrashState {
    /// Number of journal entries before the crash.
    pub prefix: usize,
    /// The disk after the crash: everything on it is durable, its journal is empty, its locks are free, no call fails.
    pub vfs: SimVfs,
    model: Model,
    plan: Plan,
    pending: Arc<[Pending]>,
}

impl CrashState {
    /// Whether everything happened, as if only the process had died.
    pub fn is_whole(&self) -> bool {
        self.model.fates(self.plan, &self.pending).iter().all(|fate| *fate == Fate::Kept)
    }

    /// The prefix, and the fate of each unsynced operation.
    pub fn description(&self) -> String {
        let mut text =
            format!("crash after operation {}: {:?} {:?}", self.prefix, self.model, self.plan);
        for (one, fate) in self.pending.iter().zip(self.model.fates(self.plan, &self.pending)) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n  {}: {fate:?}", one.operation);
        }
        text
    }
}

/// Which states are tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampling {
    pub(super) model: Model,
    pub(super) from_operation: usize,
    pub(super) seed: u64,
    pub(super) random_per_prefix: usize,
}

/// The outcomes of a crash at every point of a history; made by [`SimVfs::crash_states`].
#[derive(Debug)]
pub struct CrashStates {
    options: Options,
    sampling: Sampling,
    journal: std::vec::IntoIter<Operation>,
    prefix: usize,
    durable: Image,
    pending: Vec<Pending>,
    /// `pending` at `prefix`, which the states share.
    shared: Arc<[Pending]>,
    plans: std::vec::IntoIter<Plan>,
}

impl CrashStates {
    pub(super) fn new(
        options: Options,
        start: Image,
        journal: Vec<Operation>,
        sampling: Sampling,
    ) -> Self {
        let mut states = Self {
            options,
            sampling,
            journal: journal.into_iter(),
            prefix: 0,
            durable: start,
            pending: Vec::new(),
            shared: Arc::new([]),
            plans: Vec::new().into_iter(),
        };
        states.plan();
        states
    }

    /// The plans for this prefix.
    fn plan(&mut self) {
        let Sampling { model, from_operation, seed, random_per_prefix } = self.sampling;
        if self.prefix >= from_operation {
            self.shared = self.pending.clone().into();
            self.plans = model
                .plans(&self.pending, mix(seed, self.prefix as u64), random_per_prefix)
                .into_iter();
        }
    }

    /// Applies the next entry of the journal.
    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Sync { .. } | Operation::SyncFolder { .. }
                if self.sampling.model.is_ordered() =>
            {
                self.settle(|one| one.changes_names() || operation.makes_durable(one));
            }
            Operation::Sync { inode } => {
                self.settle(|one| operation.makes_durable(one));
                self.note_synced(inode);
            }
            Operation::SyncFolder { .. } => self.settle(|one| operation.makes_durable(one)),
            Operation::SyncNewest { inode } => self.sync_newest(inode),
            Operation::Lose { inode, pages: LostPages::Gone } => {
                self.pending
                    .retain(|one| one.is_durable || one.operation.appends_to() != Some(inode));
            }
            Operation::Lose { inode, pages: LostPages::Zeroed | LostPages::Cached } => {
                self.turn_to_zeros(inode)
            }
            operation => {
                self.pending.push(Pending { operation, file_synced: false, is_durable: false })
            }
        }
    }

    /// Some file systems make the names of a file durable when it is synced.
    fn note_synced(&mut self, inode: InodeId) {
        let named = |one: &&mut Pending| one.operation.names() == Some(inode);
        self.pending.iter_mut().filter(named).for_each(|one| one.file_synced = true);
    }

    fn sync_newest(&mut self, inode: InodeId) {
        if self.sampling.model.is_ordered() {
            self.settle(Operation::changes_names);
        }
        self.note_synced(inode);
        if let Some(newest) =
            self.pending.iter_mut().rfind(|one| one.operation.appends_to() == Some(inode))
        {
            newest.is_durable = true;
        }
    }

    /// Makes the pending operations durable for which `which` returns true.
    fn settle(&mut self, which: impl Fn(&Operation) -> bool) {
        let (settled, pending) = self.pending.drain(..).partition(|one| which(&one.operation));
        self.pending = pending;
        for one in settled as Vec<Pending> {
            one.operation.apply_to(&mut self.durable.names);
            if let Some(inode) = one.operation.changes() {
                let length = self.durable.contents.len().max(inode + 1);
                self.durable.contents.resize(length, Content::default());
                if let Some(content) = self.durable.contents.get_mut(inode) {
                    write(content, &one.operation, Fate::Kept);
                }
            }
        }
    }

    /// Bytes that the machine has dropped can at most become zeros of the right length.
    fn turn_to_zeros(&mut self, lost: InodeId) {
        for one in &mut self.pending {
            if let Operation::Append { inode, bytes, .. } = &mut one.operation
                && *inode == lost
                && !one.is_durable
            {
                *bytes = vec![0; bytes.len()].into();
            }
        }
    }

    /// Applies a plan to the durable directory, without files that have no name.
    fn play(&self, plan: Plan) -> CrashState {
        let model = self.sampling.model;
        let drawn = model.fates(plan, &self.shared);
        let fates = || self.shared.iter().zip(drawn.iter().copied());
        let mut names = self.durable.names.clone();
        fates()
            .filter(|(_, fate)| *fate == Fate::Kept)
            .for_each(|(one, _)| one.operation.apply_to(&mut names));
        let mut numbers = BTreeMap::new();
        let mut contents = Vec::new();
        for inode in names.values_mut() {
            *inode = *numbers.entry(*inode).or_insert_with(|| {
                contents.push(self.durable.contents.get(*inode).cloned().unwrap_or_default());
                contents.len() - 1
            });
        }
        let mut ended: BTreeSet<usize> = BTreeSet::new();
        for (Pending { operation, is_durable, .. }, fate) in fates() {
            let number = operation.changes().and_then(|inode| numbers.get(&inode));
            let number = number.filter(|at| *is_durable || !ended.contains(*at));
            if let Some(content) = number.and_then(|&number| contents.get_mut(number)) {
                let ends = write(content, operation, fate);
                ended.extend(number.filter(|_| ends));
            }
        }
        let vfs = SimVfs::from_image(self.options, Image { names, contents });
        CrashState { prefix: self.prefix, vfs, model, plan, pending: self.shared.clone() }
    }
}

impl Iterator for CrashStates {
    type Item = CrashState;

    fn next(&mut self) -> Option<CrashState> {
        loop {
            if let Some(plan) = self.plans.next() {
                return Some(self.play(plan));
            }
            let operation = self.journal.next()?;
            self.step(operation);
            self.prefix += 1;
            self.plan();
        }
    }
}

/// Writes what `fate` leaves of an operation; earlier bytes that were lost become zeros. Returns whether the file ends
/// there. A sector is written as it is in memory at that moment, so bytes in its middle cannot be missing if later ones
/// exist. If the file is longer already, a sector is written completely or not at all.
fn write(content: &mut Content, operation: &Operation, fate: Fate) -> bool {
    let (offset, bytes) = match operation {
        Operation::Append { offset, bytes, .. } => (*offset, bytes),
        Operation::Cut { length, .. } if fate == Fate::Kept => {
            content.truncate(*length);
            return false;
        }
        _ => return false,
    };
    let sectors = match fate {
        Fate::Dropped => return false,
        Fate::Kept => None,
        Fate::Cut(length) => {
            content.pad(offset);
            let end = offset + length as u64;
            let is_within = content.len() > end;
            let end = if is_within { (end / SECTOR_BYTES * SECTOR_BYTES).max(offset) } else { end };
            content.write(offset, bytes, 0..(end - offset) as usize);
            return !is_within && !end.is_multiple_of(SECTOR_BYTES);
        }
        Fate::Zeroed(sectors) => Some(sectors),
    };
    content.pad(offset);
    let Some(sectors) = sectors else {
        content.write(offset, bytes, 0..bytes.len());
        return false;
    };
    let end = offset + bytes.len() as u64;
    let mut at = offset;
    while at < end {
        let next = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(end);
        if sectors.contains(at / SECTOR_BYTES - offset / SECTOR_BYTES) {
            content.pad(next);
        } else {
            content.write(at, bytes, (at - offset) as usize..(next - offset) as usize);
        }
        at = next;
    }
    false
}
