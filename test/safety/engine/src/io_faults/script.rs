//! One history under a fault, and what the disk may hold after each of its steps.

use crate::history::{Expected, commit, compact, open_with_blobs, random_key, random_value};
use crate::power_loss::{Checker, Commit, Recorded, read};
use std::collections::BTreeSet;
use varve_core::testing::sim::{Call, Effect, Fault, Model, SimVfs};
use varve_core::{Durability, Handle, Result};

/// Calls after which a history counts as endless; complete histories make a tenth of them.
const CALLS_MAX: usize = 60_000;

/// A history that is identical in each run.
pub(super) struct Script {
    pub(super) seed: u64,
    /// A sync that loses what it should have written may take commits with it that were not durable.
    pub(super) durable_only: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Strike {
    pub(super) fault: Fault,
    pub(super) seed: u64,
}

impl Script {
    /// Runs the history; `Err` names the broken promise.
    pub(super) fn run(&self, strike: Option<Strike>) -> std::result::Result<Run, String> {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let vfs = match random.u32(..4) {
            0 => SimVfs::new().without_links(),
            1 => SimVfs::new().without_locks(),
            _ => SimVfs::new(),
        };
        let blob_bytes_min = if self.seed.is_multiple_of(4) { 200 } else { 1 << 20 };
        vfs.limit_calls(CALLS_MAX);
        if let Some(strike) = strike {
            vfs.fail(strike.fault);
        }
        let loses = strike.is_some_and(|strike| matches!(strike.fault.effect, Effect::Lose { .. }));
        let empty = Commit { begun: 0, acknowledged: 0, durable: true, content: Expected::new() };
        let unreadable = strike.is_some_and(|Strike { fault, .. }| {
            fault.forever && matches!(fault.call, Some(Call::Read | Call::Len))
        });
        let mut run = Run {
            vfs,
            blob_bytes_min,
            loses,
            unreadable,
            handle: None,
            buffered: Expected::new(),
            commits: vec![empty],
        };
        for number in 0..7 {
            let step = run.step(&mut random, self.durable_only);
            run.check().map_err(|what| format!("step {number}, {step}: {what}"))?;
        }
        run.vfs.clear_faults();
        run.commits_again()?;
        Ok(run)
    }
}

/// A history on its way.
pub(super) struct Run {
    pub(super) vfs: SimVfs,
    blob_bytes_min: usize,
    loses: bool,
    /// A table that can never be read again is damaged: what it had is missed.
    unreadable: bool,
    handle: Option<Handle>,
    /// What the handle shows.
    buffered: Expected,
    /// A commit that was rejected has no time of acknowledgement.
    commits: Vec<Commit>,
}

impl Run {
    fn step(&mut self, random: &mut fastrand::Rng, durable_only: bool) -> &'static str {
        // The same numbers are drawn whatever fails.
        let what = random.u32(..10);
        let (full, durable) = (random.bool(), random.bool() || durable_only);
        let changes: Vec<_> = (0..3)
            .map(|_| (random_key(random), random_value(random), random.u32(..5) == 0))
            .collect();
        match what {
            0..6 => {
                let _ = self.put(changes).and_then(|()| self.commit(durable));
                "commit"
            }
            6 => {
                let _ = self.opened().map(|handle| compact(handle, full));
                "compact"
            }
            7 => {
                let _ = open_with_blobs(&self.vfs, self.blob_bytes_min)
                    .map(|other| compact(&other, full));
                "compact by another"
            }
            8 => {
                self.flush();
                "flush"
            }
            // A process that opens the cache reads bytes that a failed sync lost from the system's memory, and cannot
            // detect that.
            _ if durable_only => "nothing",
            _ => {
                // A rejected commit is discarded with the handle, or is on the disk after all.
                let _ = self.handle.take().map(|handle| handle.store().close());
                self.buffered = read(&self.vfs.fork()).unwrap_or_default();
                "close"
            }
        }
    }

    fn opened(&mut self) -> Result<&mut Handle> {
        if self.handle.is_none() {
            self.handle = Some(open_with_blobs(&self.vfs, self.blob_bytes_min)?);
        }
        self.handle.as_mut().ok_or_else(|| varve_core::Error::Closed.into())
    }

    fn put(&mut self, changes: Vec<(Vec<u8>, Vec<u8>, bool)>) -> Result<()> {
        let mut content = std::mem::take(&mut self.buffered);
        let handle = self.opened();
        let outcome = handle.and_then(|handle| {
            let id = handle.namespace("n", "1")?;
            for (key, value, is_delete) in changes {
                if is_delete {
                    handle.delete(id, &key)?;
                    content.remove(&key);
                } else {
                    handle.put(id, &key, &value)?;
                    content.insert(key, value);
                }
            }
            Ok(())
        });
        self.buffered = content;
        outcome
    }

    fn commit(&mut self, durable: bool) -> Result<()> {
        let begun = self.vfs.operation_count();
        let durability = if durable { Durability::Durable } else { Durability::Relaxed };
        let outcome = commit(self.opened()?, durability);
        let acknowledged = if outcome.is_ok() { self.vfs.operation_count() } else { usize::MAX };
        self.commits.push(Commit { begun, acknowledged, durable, content: self.buffered.clone() });
        outcome
    }

    fn flush(&mut self) {
        let flushed = self.handle.as_ref().is_some_and(|handle| handle.store().flush().is_ok());
        let last = self.commits.iter().rposition(|commit| commit.acknowledged != usize::MAX);
        let Some(last) = last.filter(|_| flushed) else { return };
        let now = self.vfs.operation_count();
        // Those that were rejected since may be there as well.
        for index in last..self.commits.len() {
            let acknowledged = if index == last { now } else { usize::MAX };
            let Commit { begun, ref content, .. } = self.commits[index];
            self.commits.push(Commit {
                begun,
                acknowledged,
                durable: index == last,
                content: content.clone(),
            });
        }
    }

    /// A new participant finds what was acknowledged last, or what was rejected since.
    fn check(&self) -> std::result::Result<(), String> {
        let found = read(&self.vfs.fork())?;
        let is_sure =
            |commit: &Commit| commit.acknowledged != usize::MAX && (commit.durable || !self.loses);
        let last = self.commits.iter().rposition(is_sure).unwrap_or(0);
        if self.commits[last..].iter().any(|commit| self.is_as(&found, &commit.content)) {
            return Ok(());
        }
        let older = self.commits[..last].iter().any(|commit| commit.content == found);
        let expected = &self.commits[last].content;
        let differ = |key: &&Vec<u8>| found.get(*key) != expected.get(*key);
        let keys: BTreeSet<&Vec<u8>> = found.keys().chain(expected.keys()).filter(differ).collect();
        let keys: Vec<_> = keys.into_iter().map(|key| String::from_utf8_lossy(key)).collect();
        let what = if older {
            "false acknowledgement: an earlier commit is there"
        } else {
            "no committed state"
        };
        Err(format!("{what}; {keys:?} differ from commit {last} of {}", self.commits.len()))
    }

    fn is_as(&self, found: &Expected, expected: &Expected) -> bool {
        found == expected
            || self.unreadable && found.iter().all(|(key, value)| expected.get(key) == Some(value))
    }

    /// The fault is gone.
    fn commits_again(&mut self) -> std::result::Result<(), String> {
        let change = vec![(b"after".to_vec(), b"the fault".to_vec(), false)];
        self.put(change).map_err(|error| format!("after the fault: put: {error}"))?;
        // A sync that failed for another participant is news to this one.
        let outcome = self
            .commit(true)
            .or_else(|error| if self.loses { self.commit(true) } else { Err(error) });
        outcome.map_err(|error| format!("after the fault: commit: {error}"))?;
        let found = read(&self.vfs.fork())?;
        if self.is_as(&found, &self.buffered) {
            Ok(())
        } else {
            Err("after the fault: not what was committed".to_owned())
        }
    }

    /// The power fails at any moment. Returns in how many ways.
    pub(super) fn crash(self, seed: u64) -> std::result::Result<u64, String> {
        let history = Recorded::of(self.vfs, self.commits);
        let mut checker = Checker::new(&history);
        let mut count = 0;
        for state in history.vfs.crash_states(Model::Posix, 0, seed, 0) {
            let look = checker.look(&state)?;
            checker
                .allows(&state, &look, false)
                .map_err(|what| format!("{what}; {}\n{history}", state.description()))?;
            count += 1;
        }
        Ok(count)
    }
}
