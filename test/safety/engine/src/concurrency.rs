//! Interleavings: two to six participants (processes, with and without locks) use one cache directory. They commit,
//! store files, refresh, compact, close and are killed. At every call of the file system a scheduler decides which
//! participant runs next.
//!
//! This scheduler replaces `loom` and `shuttle`, which explore atomics and locks: participants share only files, so
//! their order matters at the calls through `Vfs`. The engine runs unchanged, as one coroutine per participant. A
//! schedule takes about a millisecond, and its seed repeats it. Threads of one process also share locks; shuttle
//! explores those (`test/safety/concurrency/threads`).
//!
//! 1. The seed determines the participants, how often turns change, how often a participant pauses, whether lists and
//!    appends are torn (`turn.rs`), whether clocks differ and jump, and the file system: usual, without hard links,
//!    with padded appends, or of Windows.
//! 2. Each participant lives several lives (`participant.rs`), and may be killed between two calls.
//! 3. At every open and refresh no acknowledged commit is missing, all keys of a commit have the same number, no number
//!    decreases, every file that an entry needs exists, and no damage is reported (`check.rs`).
//! 4. Some schedules have a cap, commits that attach tables, or damage; `terms.rs` lists what must hold then.
//! 5. In half of the schedules, participants open the cache over sealed layers (`layers.rs`).
//! 6. At last one participant repairs and compacts alone: nothing is lost, nothing needless stays.
//! 7. The power fails at a random operation of the schedule (`power.rs`).

mod check;
mod damage;
mod fault;
mod layers;
mod newcomer;
mod participant;
mod power;
mod terms;
mod turn;
mod world;

use crate::order::Order;
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::work::{Length, each_seed};
use generator::{Generator, Gn};
use participant::{Participant, live};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use world::{Killed, Summary, World};

const LENGTH: Length = Length { seeds_short: 3600, seeds_long: 2_000_000 };
const GOALS: [(&str, u64); 10] = [
    ("schedules", 1000),
    ("layered", 1000),
    ("repeated", 1),
    ("capped", 200),
    ("attached", 20),
    ("damages", 200),
    ("repairs", 200),
    ("established", 200),
    ("crashes", 2000),
    ("faults", 2000),
];

/// One schedule in so many runs twice, to prove that the seed determines everything.
const REPEATED: u64 = 500;

const PARTICIPANTS_MAX: usize = 6;

/// Turns that a pause lasts at most: enough for the others to publish several manifests between two calls of a process.
const PAUSE_TURNS_MAX: u64 = 1000;

/// Words of 8 bytes of a participant's stack.
const STACK_WORDS: usize = 64 << 10;

/// Files in the folder when all is tidy: a manifest, a table, a log or two.
const FILES_MAX: usize = 6;

/// The part `interleavings`.
pub(crate) fn run(order: &Order) -> Outcome {
    let is_replay = order.replay.is_some();
    let tally = each_seed(order, &LENGTH, |index, seed, tally| {
        let summary = schedule(seed, is_replay);
        if is_replay {
            print_trace(&summary);
        } else if index.is_multiple_of(REPEATED) {
            tally.add("repeated", 1);
            if schedule(seed, false).trace_hash != summary.trace_hash {
                tally.violation("a schedule runs differently the second time", &seed.to_string());
            }
        }
        count(tally, seed, &summary);
    });
    let goals: &[_] = if is_replay { &[] } else { &GOALS };
    tally.into_outcome(goals)
}

fn count(tally: &mut Tally, seed: u64, summary: &Summary) {
    tally.add("calls", summary.calls);
    for (name, count) in &summary.counts {
        tally.add(name, *count);
    }
    tally.add("schedules", 1);
    tally.add("failed", u64::from(!summary.violations.is_empty()));
    for what in &summary.violations {
        tally.violation(what, &seed.to_string());
    }
}

#[expect(clippy::print_stderr, reason = "a replay of a schedule shows it")]
fn print_trace(summary: &Summary) {
    eprintln!("{}\n{}", summary.terms, summary.trace.join("\n"));
}

/// Runs one schedule to its end.
fn schedule(seed: u64, is_traced: bool) -> Summary {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
    let count = random.usize(2..=PARTICIPANTS_MAX);
    let locks: Vec<bool> = (0..count).map(|_| random.bool()).collect();
    let world = World::new(seed, &locks, is_traced);
    if world.terms.is_capped() {
        world.count("capped");
    }
    if world.layers.is_any() {
        world.count("layered");
    }
    let kill_one_in = [0, 50, 200][random.usize(..3)];
    let mut pauses = Pauses::new(world.terms.turns_per_pause, count);
    let mut lives: Vec<u32> = (0..count).map(|_| random.u32(1..=3)).collect();
    let mut running: Vec<Option<Generator<'_, (), ()>>> = (0..count).map(|_| None).collect();
    loop {
        let ready: Vec<usize> =
            (0..count).filter(|at| running[*at].is_some() || lives[*at] > 0).collect();
        if ready.is_empty() || world.has_failed() {
            break;
        }
        let at = pauses.pick(&mut random, &ready);
        let is_new = running[at].is_none();
        let participant = running[at].get_or_insert_with(|| {
            lives[at] -= 1;
            let has_locks = locks[at];
            begin(&world, move |world| live(world, at, has_locks))
        });
        let is_killed = !is_new && kill_one_in > 0 && random.u64(..kill_one_in) == 0;
        if is_killed {
            world.count("kills");
        }
        if world.terms.damages_now(&mut random) {
            damage::strike(&world, &mut random);
        }
        world.give_turn(at, is_killed);
        participant.resume();
        if participant.is_done() {
            running[at] = None;
        }
    }
    // Participants that remain after a violation are killed, too.
    for (at, participant) in running.iter_mut().enumerate() {
        while let Some(participant) =
            participant.as_mut().filter(|participant| !participant.is_done())
        {
            world.give_turn(at, true);
            participant.resume();
        }
    }
    drop(running);
    if !world.has_failed() {
        let mut last = begin(&world, move |world| tidy_up(world, count));
        while !last.is_done() {
            world.give_turn(count, false);
            last.resume();
        }
    }
    if !world.has_failed() && !world.has_tears() && world.damages() == 0 && !world.terms.is_capped()
    {
        power::fail(&world, seed);
    }
    world.summary()
}

/// Which participants pause. Without pauses all advance about equally fast, and what only a slow process does stays
/// untried.
struct Pauses {
    turns_per_pause: u64,
    turn: u64,
    /// The turn until which each participant pauses.
    until: Vec<u64>,
}

impl Pauses {
    fn new(turns_per_pause: u64, count: usize) -> Self {
        Self { turns_per_pause, turn: 0, until: vec![0; count] }
    }

    /// Picks the participant that runs next: one that does not pause, if there is one.
    fn pick(&mut self, random: &mut fastrand::Rng, ready: &[usize]) -> usize {
        self.turn += 1;
        let awake: Vec<usize> =
            ready.iter().copied().filter(|at| self.until[*at] <= self.turn).collect();
        let among = if awake.is_empty() { ready } else { &awake };
        let at = among[random.usize(..among.len())];
        if self.turns_per_pause > 0 && random.u64(..self.turns_per_pause) == 0 {
            self.until[at] = self.turn + random.u64(..PAUSE_TURNS_MAX);
        }
        at
    }
}

fn tidy_up(world: &Arc<World>, index: usize) {
    let tidied = Participant::open(world, index, true).and_then(|mut last| last.tidy_up(FILES_MAX));
    if let Err(error) = tidied {
        world.violation(format!("at the end: {error}"));
    }
}

fn begin(
    world: &Arc<World>,
    life: impl FnOnce(&Arc<World>) + Send + 'static,
) -> Generator<'static, (), ()> {
    let world = Arc::clone(world);
    Gn::new_opt(STACK_WORDS, move || {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| life(&world)))
            && !panic.is::<Killed>()
        {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            world.violation(format!("a panic: {}", text.unwrap_or_default()));
        }
        world.vfs.kill(false);
    })
}
