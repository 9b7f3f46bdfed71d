//! Small caches of every shape, with their present and their earlier contents.

use crate::history::{Expected, commit, compact, open_with};
use std::collections::BTreeSet;
use varve_core::testing::sim::SimVfs;
use varve_core::{Durability, Handle, MacKey, Options};

/// How a cache was written.
pub(super) struct Plan {
    pub(super) name: &'static str,
    /// One commit each, and what comes after it.
    rounds: &'static [After],
    /// Values of so many bytes and more are files.
    blob_bytes_min: usize,
    /// Values are so many times as long.
    scale: usize,
    /// Whether it has a key.
    authenticated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Nothing,
    Checkpoint,
    Compact,
    Close,
    Die,
}

use After::{Checkpoint, Close, Compact, Die, Nothing};

/// The shapes; the last has at least 64 KiB.
pub(super) const SHAPES: [Plan; 9] = [
    Plan {
        name: "log only",
        rounds: &[Nothing, Nothing, Nothing],
        blob_bytes_min: 1 << 20,
        scale: 1,
        authenticated: false,
    },
    Plan {
        name: "several logs",
        rounds: &[Die, Close, Nothing],
        blob_bytes_min: 1 << 20,
        scale: 1,
        authenticated: false,
    },
    Plan {
        name: "closed",
        rounds: &[Close, Die, Close],
        blob_bytes_min: 1 << 20,
        scale: 1,
        authenticated: false,
    },
    Plan {
        name: "checkpointed",
        rounds: &[Checkpoint, Checkpoint, Checkpoint, Nothing],
        blob_bytes_min: 1 << 20,
        scale: 1,
        authenticated: false,
    },
    Plan {
        name: "compacted",
        rounds: &[Nothing, Nothing, Compact],
        blob_bytes_min: 1 << 20,
        scale: 1,
        authenticated: false,
    },
    Plan {
        name: "files",
        rounds: &[Nothing, Compact, Nothing],
        blob_bytes_min: 300,
        scale: 1,
        authenticated: false,
    },
    Plan {
        name: "authenticated",
        rounds: &[Die, Checkpoint, Close, Nothing],
        blob_bytes_min: 1 << 20,
        scale: 1,
        authenticated: true,
    },
    Plan {
        name: "authenticated files",
        rounds: &[Nothing, Compact, Nothing],
        blob_bytes_min: 300,
        scale: 1,
        authenticated: true,
    },
    Plan {
        name: "large",
        rounds: &[Checkpoint, Nothing, Checkpoint, Close, Nothing, Nothing],
        blob_bytes_min: 7_000,
        scale: 9,
        authenticated: false,
    },
];

/// A cache at rest.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) key: Option<MacKey>,
    pub(super) vfs: SimVfs,
    /// Whether its last process closed it.
    pub(super) is_closed: bool,
    pub(super) commits: Vec<Round>,
    keys: BTreeSet<Vec<u8>>,
}

/// One commit.
pub(super) struct Round {
    /// The log it is in.
    pub(super) log: String,
    changes: Expected,
    /// What the cache held after it.
    content: Expected,
}

impl Shape {
    pub(super) fn build(plan: &Plan) -> Self {
        Self::build_of(plan, "")
    }

    /// Two caches of one plan with different `salt` have the same keys and other values; the other one has no secret.
    pub(super) fn build_of(plan: &Plan, salt: &str) -> Self {
        let vfs = SimVfs::new();
        let key = (plan.authenticated && salt.is_empty())
            .then(|| MacKey::new(&[7; 32]).expect("long enough"));
        let mut random = fastrand::Rng::with_seed(salt.len() as u64);
        let mut open = || {
            let (blob_bytes_min, random) = (plan.blob_bytes_min, random.u64(..));
            let options =
                Options { blob_bytes_min, mac_key: key.clone(), random, ..Options::default() };
            open_with(&vfs, options).expect("open")
        };
        let mut handle = open();
        let mut commits: Vec<Round> = Vec::new();
        let mut content = Expected::new();
        for (round, after) in plan.rounds.iter().enumerate() {
            let id = handle.namespace("n", "1").expect("namespace");
            let mut changes = Expected::new();
            for number in round..round + 7 {
                let key = format!("key {number}").into_bytes();
                let value = value_of(number, round, 1 + number * 30 * plan.scale / 7, salt);
                handle.put(id, &key, &value).expect("put");
                changes.insert(key, value);
            }
            content.extend(changes.clone());
            commit(&mut handle, Durability::Durable).expect("commit");
            let writer = handle.store().status().writer.expect("a log");
            commits.push(Round { log: format!("{writer}.log"), changes, content: content.clone() });
            match after {
                Nothing => {}
                Checkpoint | Compact => drop(compact(&handle, *after == Compact).expect("compact")),
                Close => handle.store().close().expect("close"),
                Die => {}
            }
            if matches!(after, Close | Die) {
                handle = open();
            }
        }
        drop(handle);
        vfs.settle();
        let keys = content.keys().cloned().collect();
        Self {
            name: plan.name,
            key,
            vfs,
            commits,
            keys,
            is_closed: plan.rounds.last() == Some(&Close),
        }
    }

    /// Opens what became of it, with its key.
    pub(super) fn open(&self, vfs: &SimVfs) -> varve_core::Result<Handle> {
        open_with(
            vfs,
            Options { block_cache_bytes: 1 << 20, mac_key: self.key.clone(), ..Options::default() },
        )
    }

    pub(super) fn bytes(&self) -> u64 {
        self.vfs.names().iter().map(|name| self.vfs.length(name)).sum()
    }

    pub(super) fn keys(&self) -> &BTreeSet<Vec<u8>> {
        &self.keys
    }

    pub(super) fn content(&self) -> &Expected {
        &self.commits[self.commits.len() - 1].content
    }

    /// Whether the key once had this value.
    pub(super) fn is_old(&self, key: &[u8], value: &[u8]) -> bool {
        self.commits.iter().any(|round| round.content.get(key).is_some_and(|old| old == value))
    }

    /// What is left where a log ends before its time, as after a loss of power: each number of its commits.
    pub(super) fn without_end_of(&self, log: &str) -> Vec<Expected> {
        let of_log = self.commits.iter().filter(|round| round.log == log).count();
        let left = |kept: usize| {
            let mut content = Expected::new();
            let mut seen = 0;
            for round in &self.commits {
                seen += usize::from(round.log == log);
                if round.log != log || seen <= kept {
                    content.extend(round.changes.clone());
                }
            }
            content
        };
        (0..of_log).map(left).collect()
    }
}

/// Half text, half noise, so that some blocks are compressed and some are not.
fn value_of(number: usize, round: usize, repeats: usize, salt: &str) -> Vec<u8> {
    let text = format!("value {number} of round {round}{salt} ");
    if number.is_multiple_of(2) {
        return text.repeat(repeats).into_bytes();
    }
    let mut random = fastrand::Rng::with_seed((number * 100 + round + salt.len() * 7919) as u64);
    (0..text.len() * repeats / 2).map(|_| random.u8(..)).collect()
}
