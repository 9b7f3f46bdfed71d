//! The power fails at an operation of a schedule: what was not synced is lost, torn or zero, and all participants die.
//! A new process then finds of each participant a commit between the last that was durable and the last that was begun.
//! That commit is whole, and all are there that its participant had made before it, or had seen when it began its log.
//! The new process can commit, and nothing changes by that.
//!
//! The commits of participants that run at the same time do not depend on one another. Appends that become visible in
//! parts are left out, because a disk writes a sector as it is in memory.
//!
//! A state is `<model> <number>` of the schedule's own crash; the seed chooses its operation.

use super::world::World;
use crate::history::{commit, compact, open_with_blobs};
use crate::work::caught;
use std::ops::ControlFlow;
use varve_core::testing::sim::CrashState;
use varve_core::{Durability, Error, Handle};

/// Random states for each model, besides those that `fate.rs` lists.
const RANDOM_STATES: usize = 4;

/// Of the states of an operation, one in so many is tried.
const STATES_PER_TRIAL: u64 = 8;

/// What a participant did, and how many operations there were then.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) operations: usize,
    pub(super) participant: usize,
    pub(super) number: u64,
    pub(super) event: Event,
}

/// What happened to a commit.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// Its log began, or will begin, when its participant had seen these commits of each.
    Begun {
        base: Vec<u64>,
    },
    Acknowledged,
    /// It survives a power failure, with those before it.
    Durable,
}

/// Fails the power once, and tries some of the states that each model allows.
pub(super) fn fail(world: &World, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed ^ 0xdead);
    let operations = random.usize(..=world.vfs.operation_count());
    for &model in world.machine.models() {
        let states = world.vfs.crash_states(model, operations, seed, RANDOM_STATES);
        for (index, state) in states.take_while(|state| state.prefix == operations).enumerate() {
            if random.u64(..STATES_PER_TRIAL) > 0 {
                continue;
            }
            world.count("crashes");
            let outcome = caught(|| After::new(world, &state).check()).and_then(|outcome| outcome);
            if let Err(what) = outcome {
                return world.violation(format!("{what}; {model:?} {index}: {}", state.description()));
            }
        }
    }
}

/// What is left after a crash.
struct After<'w> {
    world: &'w World,
    state: &'w CrashState,
    /// What was noted before it.
    notes: Vec<Note>,
}

impl<'w> After<'w> {
    fn new(world: &'w World, state: &'w CrashState) -> Self {
        let mut notes = world.notes();
        notes.retain(|note| note.operations <= state.prefix);
        Self { world, state, notes }
    }

    fn check(&self) -> Result<(), String> {
        let mut cache = Cache::open(self.world, self.state)?;
        let found = self.numbers(&mut cache)?;
        for (participant, number) in found.iter().enumerate() {
            self.check_base(participant, *number, &found)?;
        }
        cache.commit("next").map_err(said)?;
        drop(cache);
        let mut cache = Cache::open(self.world, self.state)?;
        let after = self.numbers(&mut cache)?;
        if after != found {
            return Err(format!("the next commit changes commits {found:?} to {after:?}"));
        }
        if cache.text("next")?.is_none() {
            return Err("the next commit is lost".to_owned());
        }
        let damage = cache.damage().map_err(said)?;
        // A blob that was not synced may be lost. Then its entry is a miss.
        let is_blob = |file: &String| file.starts_with("files/");
        match damage.into_iter().find(|file| !is_blob(file)) {
            Some(file) => Err(format!("{file} is damaged after the next commit")),
            None => Ok(()),
        }
    }

    /// The newest commit of each participant.
    fn numbers(&self, cache: &mut Cache) -> Result<Vec<u64>, String> {
        (0..self.world.groups().len()).map(|participant| self.check_group(cache, participant)).collect()
    }

    /// The commits of a participant to which this happened.
    fn noted(&self, participant: usize, is: impl Fn(&Event) -> bool) -> Vec<u64> {
        let notes = self.notes.iter().filter(|note| note.participant == participant && is(&note.event));
        notes.map(|note| note.number).collect()
    }

    /// The newest commit of a participant, which must be whole.
    fn check_group(&self, cache: &mut Cache, participant: usize) -> Result<u64, String> {
        let newest = |numbers: Vec<u64>| numbers.into_iter().max().unwrap_or(0);
        let begun = newest(self.noted(participant, |event| matches!(event, Event::Begun { .. })));
        let durable = newest(self.noted(participant, |event| matches!(event, Event::Durable)));
        let here = cache.number(&format!("{participant} a"))?;
        let found = here.unwrap_or(0);
        if found < durable || found > begun {
            return Err(format!("{participant} has commit {found}, not from {durable} to {begun}"));
        }
        for (key, expected) in [("f", here), ("o", here), ("d", here.filter(|number| number % 3 != 0))] {
            let other = cache.number(&format!("{participant} {key}"))?;
            let may_lose = key == "o" || key == "f" && found > durable;
            if other != expected && !(may_lose && other.is_none()) {
                return Err(format!("a mixture: {participant} a has {here:?}, {participant} {key} {other:?}"));
            }
        }
        for earlier in self.noted(participant, |event| matches!(event, Event::Acknowledged)) {
            let is_there = cache.number(&format!("{participant} #{earlier}"))?.is_some();
            if is_there != (earlier <= found) {
                return Err(format!("commit {earlier} of {participant}, whose last is {found}, is there: {is_there}"));
            }
        }
        Ok(found)
    }

    /// What the newest commit of a participant builds on is there.
    fn check_base(&self, participant: usize, number: u64, found: &[u64]) -> Result<(), String> {
        let base = self.notes.iter().find_map(|note| match &note.event {
            Event::Begun { base } if (note.participant, note.number) == (participant, number) => Some(base),
            _ => None,
        });
        match base.into_iter().flatten().zip(found).enumerate().find(|(_, (seen, found))| seen > found) {
            Some((other, (seen, found))) => {
                Err(format!("commit {number} of {participant} builds on {seen} of {other}, of which {found} is left"))
            }
            None => Ok(()),
        }
    }
}

/// A process after the crash.
struct Cache {
    handle: Handle,
    id: u32,
}

impl Cache {
    fn open(world: &World, state: &CrashState) -> Result<Self, String> {
        let mut handle = open_with_blobs(&state.vfs, world.terms.blob_bytes_min()).map_err(said)?;
        let id = handle.namespace("n", "1").map_err(said)?;
        Ok(Self { handle, id })
    }

    fn commit(&mut self, key: &str) -> Result<(), Box<Error>> {
        self.handle.put(self.id, key.as_bytes(), b"value")?;
        commit(&mut self.handle, Durability::Durable)?;
        compact(&self.handle, true).map(|_| ())
    }

    fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        let found = self.handle.get(self.id, key.as_bytes(), |value| String::from_utf8_lossy(value).into_owned());
        found.map_err(said)
    }

    /// The number that begins a value.
    fn number(&mut self, key: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let number = text.split(' ').next().and_then(|word| word.parse().ok());
        number.map(Some).ok_or_else(|| format!("the value of {key} was never written"))
    }

    fn damage(&self) -> Result<Vec<String>, Box<Error>> {
        let report = self.handle.store().verify(&|_, _| ControlFlow::Continue(()))?;
        Ok(report.damage.into_iter().map(|damage| damage.file).collect())
    }
}

fn said(error: Box<Error>) -> String {
    error.to_string()
}
