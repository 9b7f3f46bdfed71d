//! What one thread does, and what it may see. Commit number `n` of a thread writes `n` under two keys of its own, one
//! value short and one long. A thread that reads both from one state finds the same number under both. It is not lower
//! than a number that this thread has read before, nor than one that was acknowledged before the read.

use fastrand::Rng;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_core::{Durability, Error, Handle, Result, Store};

const THREADS_MAX: usize = 4;
const STEPS_MAX: usize = 7;
/// Bytes of the second value: some are large enough for a file, and some commits are large enough for a table.
const LENGTHS: [usize; 4] = [8, 300, 8, 1 << 20];

/// From what length on values may be files of their own. Such a value is a miss once it was overwritten and collected.
pub(crate) const FILE_BYTES: usize = 256;

/// The newest number of each thread; 0 = none.
pub(crate) type Numbers = [u64; THREADS_MAX];

/// The newest acknowledged commit of each thread. Atomics of std: to look at them lets no other thread go on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acknowledged(Arc<[AtomicU64; THREADS_MAX]>);

impl Acknowledged {
    fn now(&self) -> Numbers {
        self.0.each_ref().map(|number| number.load(Ordering::Relaxed))
    }

    /// Whether all of them are there, or newer ones.
    pub(crate) fn are_in(&self, found: &Numbers) -> bool {
        is_at_least(found, &self.now())
    }
}

/// Lives until the store is closed or it has done enough.
pub(crate) fn live(
    store: &Arc<Store>,
    at: usize,
    files: bool,
    acknowledged: &Acknowledged,
    mut random: Rng,
) {
    let mut thread =
        Thread { handle: store.handle(), at, files, number: 0, seen: Numbers::default() };
    for _ in 0..random.usize(2..=STEPS_MAX) {
        match thread.step(acknowledged, &mut random) {
            Ok(()) => {}
            Err(error) if matches!(*error, Error::Closed) => return,
            Err(error) => panic!("thread {at}: {error}"),
        }
    }
}

struct Thread {
    handle: Handle,
    at: usize,
    /// Whether values may be files.
    files: bool,
    number: u64,
    seen: Numbers,
}

impl Thread {
    fn step(&mut self, acknowledged: &Acknowledged, random: &mut Rng) -> Result<()> {
        match random.u8(..20) {
            0..8 => self.commit(acknowledged, random),
            8..13 => self.read(acknowledged),
            13..15 => self.handle.store().refresh().map(drop),
            15..17 => self
                .handle
                .store()
                .compact(random.bool(), &|_, _| ControlFlow::Continue(()))
                .map(drop),
            17 => self.handle.store().flush(),
            18 => self.walk(),
            _ if random.u8(..4) == 0 => self.handle.store().close(),
            _ => self.handle.store().stats().map(drop),
        }
    }

    fn commit(&mut self, acknowledged: &Acknowledged, random: &mut Rng) -> Result<()> {
        let id = self.handle.namespace("n", "1")?;
        self.number += 1;
        let mut long = self.number.to_le_bytes().to_vec();
        let length = if random.u8(..8) == 0 { LENGTHS[3] } else { LENGTHS[random.usize(..3)] };
        long.resize(length, self.number as u8);
        self.handle.put(id, &key(self.at, "short"), &self.number.to_le_bytes())?;
        self.handle.put(id, &key(self.at, "long"), &long)?;
        let Some(commit) = self.handle.begin_commit() else { return Ok(()) };
        let durability = [Durability::Relaxed, Durability::Durable][usize::from(random.bool())];
        commit.run(Some(durability), 1_000)?;
        acknowledged.0[self.at].store(self.number, Ordering::Relaxed);
        Ok(())
    }

    fn read(&mut self, acknowledged: &Acknowledged) -> Result<()> {
        let before = acknowledged.now();
        let found = newest(&mut self.handle, self.files)?.expect("all of a commit or nothing");
        assert!(is_at_least(&found, &before), "acknowledged {before:?}, read {found:?}");
        assert!(is_at_least(&found, &self.seen), "seen {:?}, read {found:?}", self.seen);
        self.seen = found;
        Ok(())
    }

    /// A walk shows one state.
    fn walk(&mut self) -> Result<()> {
        let mut walk = self.handle.store().walk(None, true)?;
        let mut found = [Numbers::default(); 2];
        walk.go_on(&mut |entry| {
            let (at, is_long) = (usize::from(entry.key[0]), entry.key.ends_with(b"long"));
            found[usize::from(is_long)][at] = number_in(entry.value);
            ControlFlow::Continue(())
        });
        let is_one = (0..THREADS_MAX).all(|at| is_whole([found[0][at], found[1][at]], self.files));
        assert!(is_one, "a walk shows one state, not {found:?}");
        Ok(())
    }
}

/// The newest commit of each thread, read from one state; `None`: only a part of a commit.
pub(crate) fn newest(handle: &mut Handle, files: bool) -> Result<Option<Numbers>> {
    let id = handle.namespace("n", "1")?;
    let keys: Vec<Vec<u8>> =
        (0..THREADS_MAX).flat_map(|at| [key(at, "short"), key(at, "long")]).collect();
    let mut found = Vec::new();
    handle.get_many(id, keys.iter().map(Vec::as_slice), |value| {
        found.push(value.map_or(0, number_in))
    })?;
    let mut numbers = Numbers::default();
    for (number, pair) in numbers.iter_mut().zip(found.chunks(2)) {
        if !is_whole([pair[0], pair[1]], files) {
            return Ok(None);
        }
        *number = pair[0];
    }
    Ok(Some(numbers))
}

fn is_whole([short, long]: [u64; 2], files: bool) -> bool {
    short == long || files && long == 0
}

fn key(at: usize, name: &str) -> Vec<u8> {
    [&[at as u8], name.as_bytes()].concat()
}

fn number_in(value: &[u8]) -> u64 {
    value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn is_at_least(found: &Numbers, least: &Numbers) -> bool {
    found.iter().zip(least).all(|(found, least)| found >= least)
}
