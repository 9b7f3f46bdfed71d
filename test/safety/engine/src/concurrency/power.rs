//! The power fails at an operation of a schedule: what was not synced is lost, torn or zero, and all participants die.
//! A new process then finds of each participant a commit between the last that was durable and the last that was begun.
//! That commit is whole, and all are there that its participant had made before it, or had seen when it began its log.
//! The new process can commit, and nothing changes by that.
//!
//! The commits of participants that run at the same time do not depend on one another. Appends that become visible in
//! parts are left out, because a disk writes a sector as it is in memory.
//!
//! Over layers (`layers.rs`), the new process has those of any participant, or none, and so has the one after it.
//!
//! A state is `<model> <number>` of the schedule's own crash; the seed chooses its operation.

use super::layers::{Space, Stack};
use super::world::World;
use crate::history::{commit, compact, open_with};
use crate::work::caught;
use std::ops::ControlFlow;
use varve_core::testing::sim::CrashState;
use varve_core::{Durability, Error, Handle, Options};

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
        has_layers: bool,
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
            let stacks = [(); 2].map(|()| world.layers.draw());
            let outcome =
                caught(|| After::new(world, &state).check(stacks)).and_then(|outcome| outcome);
            if let Err(what) = outcome {
                return world
                    .violation(format!("{what}; {model:?} {index}: {}", state.description()));
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

    /// The layers are those of the first and of the second new process.
    fn check(&self, [first, second]: [Option<&'static Stack>; 2]) -> Result<(), String> {
        let mut cache = Cache::open(self.world, self.state, first)?;
        let found = self.numbers(&mut cache)?;
        for (participant, number) in found.iter().enumerate() {
            self.check_base(participant, *number, &found)?;
        }
        cache.commit("next").map_err(said)?;
        drop(cache);
        let mut cache = Cache::open(self.world, self.state, second)?;
        let after = self.numbers(&mut cache)?;
        if after != found {
            return Err(format!("the next commit changes commits {found:?} to {after:?}"));
        }
        if cache.text("next")?.is_none() {
            return Err("the next commit is lost".to_owned());
        }
        let damage = cache.damage().map_err(said)?;
        // A blob that was not synced may be lost. Then its entry is a miss.
        let is_blob = |file: &String| file.starts_with("files/") || file.starts_with("/layer/");
        match damage.into_iter().find(|file| !is_blob(file)) {
            Some(file) => Err(format!("{file} is damaged after the next commit")),
            None => Ok(()),
        }
    }

    /// The newest commit of each participant.
    fn numbers(&self, cache: &mut Cache) -> Result<Vec<u64>, String> {
        (0..self.world.groups().len())
            .map(|participant| self.check_group(cache, participant))
            .collect()
    }

    /// The commits of a participant to which this happened.
    fn noted(&self, participant: usize, is: impl Fn(&Event) -> bool) -> Vec<u64> {
        let notes =
            self.notes.iter().filter(|note| note.participant == participant && is(&note.event));
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
        for key in ["a", "f", "o", "d"] {
            let name = format!("{participant} {key}");
            let expected = match found {
                0 => cache.below(&name).map(|_| 0),
                _ => here.filter(|number| key != "d" || number % 3 != 0),
            };
            let other = cache.number(&name)?;
            let may_lose = key == "o" || key == "f" && found > durable;
            let may_show =
                expected.is_none() && other == Some(0) && self.may_show(participant, found, &name);
            if other != expected && !may_show && !(may_lose && other.is_none()) {
                return Err(format!(
                    "a mixture: {participant} a has {here:?}, {participant} {key} {other:?}"
                ));
            }
        }
        for earlier in self.noted(participant, |event| matches!(event, Event::Acknowledged)) {
            let is_there = cache.number(&format!("{participant} #{earlier}"))?.is_some();
            if is_there != (earlier <= found) {
                return Err(format!(
                    "commit {earlier} of {participant}, whose last is {found}, is there: {is_there}"
                ));
            }
        }
        Ok(found)
    }

    /// Whether layers may show a key that this commit has deleted. A commit over layers before it may be lost.
    fn may_show(&self, participant: usize, number: u64, key: &str) -> bool {
        let has_layers = self.notes.iter().any(|note| match note.event {
            Event::Begun { has_layers, .. } => {
                has_layers && (note.participant, note.number) == (participant, number)
            }
            _ => false,
        });
        self.world.may_show(Space::Fixed, key, !has_layers)
    }

    /// What the newest commit of a participant builds on is there.
    fn check_base(&self, participant: usize, number: u64, found: &[u64]) -> Result<(), String> {
        let base = self.notes.iter().find_map(|note| match &note.event {
            Event::Begun { base, .. }
                if (note.participant, note.number) == (participant, number) =>
            {
                Some(base)
            }
            _ => None,
        });
        match base
            .into_iter()
            .flatten()
            .zip(found)
            .enumerate()
            .find(|(_, (seen, found))| seen > found)
        {
            Some((other, (seen, found))) => Err(format!(
                "commit {number} of {participant} builds on {seen} of {other}, of which {found} is left"
            )),
            None => Ok(()),
        }
    }
}

/// A process after the crash.
struct Cache {
    handle: Handle,
    id: u32,
    stack: Option<&'static Stack>,
}

impl Cache {
    fn open(
        world: &World,
        state: &CrashState,
        stack: Option<&'static Stack>,
    ) -> Result<Self, String> {
        let layers = stack.map_or_else(Vec::new, Stack::sources);
        let blob_bytes_min = world.terms.blob_bytes_min();
        let options =
            Options { block_cache_bytes: 1 << 20, blob_bytes_min, layers, ..Options::default() };
        let mut handle = open_with(&state.vfs, options).map_err(said)?;
        let id = handle.namespace("n", "1").map_err(said)?;
        Ok(Self { handle, id, stack })
    }

    /// The value that the layers have.
    fn below(&self, key: &str) -> Option<&'static [u8]> {
        self.stack?.value(Space::Fixed, key)
    }

    fn commit(&mut self, key: &str) -> Result<(), Box<Error>> {
        self.handle.put(self.id, key.as_bytes(), b"value")?;
        commit(&mut self.handle, Durability::Durable)?;
        compact(&self.handle, true).map(|_| ())
    }

    fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        let found = self
            .handle
            .get(self.id, key.as_bytes(), |value| String::from_utf8_lossy(value).into_owned());
        found.map_err(said)
    }

    /// The number that begins a value.
    fn number(&mut self, key: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let number = text.split(' ').next().and_then(|word| word.parse().ok());
        if number == Some(0) && self.below(key) != Some(text.as_bytes()) {
            return Err(format!("{key} has a value that the layers below do not have"));
        }
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
