//! Interleavings: two to four participants of one folder (processes, with and without locks) commit, store files,
//! refresh, compact, close and are killed, while a scheduler decides at every call of the file system who goes on.
//!
//! Why a scheduler of our own and not `loom` or `shuttle`: participants share nothing but files, so the places where
//! their order matters are the calls through `Vfs`, not atomics and locks, which those two would explore. The engine
//! runs unchanged, as a coroutine per participant; a schedule takes about a millisecond and is repeated from its seed.
//! Threads of one process share locks, too: shuttle explores those (`test/safety/threads`).
//!
//! 1. A seed gives the participants, how often turns change, whether lists and appends are torn (`turn.rs`), whether
//!    the file system has hard links.
//! 2. Each participant lives several lives (`participant.rs`); between two calls it may be killed.
//! 3. At every open and refresh: nothing acknowledged before is missing, all keys of a commit carry one number,
//!    nothing goes backwards, every file that an entry needs is there, nothing is reported as damaged.
//! 4. At last one participant tidies up alone: nothing is lost, nothing needless stays.

mod participant;
mod turn;
mod world;

use crate::order::Order;
use crate::outcome::Outcome;
use generator::{Generator, Gn};
use participant::{Participant, live};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use world::{Killed, Summary, World};

const SCHEDULES_SHORT: u64 = 100_000;
const SCHEDULES_LONG: u64 = 2_000_000;
/// The short form stops here, however many there were; that many there must be.
const SECONDS_SHORT: u64 = 8;
const SCHEDULES_MIN: u64 = 2000;

/// One schedule in so many runs twice, to prove that a seed says everything.
const REPEATED: u64 = 500;

/// Words of 8 bytes of a participant's stack.
const STACK_WORDS: usize = 64 << 10;

/// Files in the folder when all is tidy: a manifest, a table, a log or two.
const FILES_MAX: usize = 6;

/// The part `interleavings`.
pub(crate) fn run(order: &Order) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(seed) = order.replay.as_ref().and_then(|case| case.parse().ok()) {
        let summary = schedule(seed, true);
        print_trace(&summary);
        report(&mut outcome, seed, &summary);
        return outcome;
    }
    let total = Mutex::new((outcome, Totals::default()));
    let next = AtomicU64::new(0);
    let end = (!order.is_long).then(|| Instant::now() + Duration::from_secs(SECONDS_SHORT));
    let count = if order.is_long { SCHEDULES_LONG } else { SCHEDULES_SHORT };
    thread::scope(|threads| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            threads.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || end.is_some_and(|end| Instant::now() >= end) {
                        return;
                    }
                    let seed = fastrand::Rng::with_seed(order.seed.wrapping_add(index << 20)).u64(..);
                    let summary = schedule(seed, false);
                    let same =
                        index.is_multiple_of(REPEATED).then(|| schedule(seed, false).trace_hash == summary.trace_hash);
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    total.1.add(&summary, same);
                    report(&mut total.0, seed, &summary);
                    if same == Some(false) {
                        total.0.violation("a schedule runs differently the second time", &seed.to_string());
                    }
                }
            });
        }
    });
    let (mut outcome, totals) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    totals.print_to(&mut outcome);
    outcome
}

fn report(outcome: &mut Outcome, seed: u64, summary: &Summary) {
    for what in &summary.violations {
        outcome.violation(what, &seed.to_string());
    }
}

#[expect(clippy::print_stderr, reason = "whoever replays a schedule wants to see it")]
fn print_trace(summary: &Summary) {
    eprintln!("{}", summary.trace.join("\n"));
}

/// Runs one schedule to its end.
fn schedule(seed: u64, is_traced: bool) -> Summary {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
    let count = random.usize(2..=4);
    let locks: Vec<bool> = (0..count).map(|_| random.bool()).collect();
    let world = World::new(seed, &locks, is_traced);
    let kill_one_in = [0, 50, 200][random.usize(..3)];
    let mut lives: Vec<u32> = (0..count).map(|_| random.u32(1..=3)).collect();
    let mut running: Vec<Option<Generator<'_, (), ()>>> = (0..count).map(|_| None).collect();
    let mut kills = 0;
    loop {
        let ready: Vec<usize> = (0..count).filter(|at| running[*at].is_some() || lives[*at] > 0).collect();
        if ready.is_empty() || world.has_failed() {
            break;
        }
        let at = ready[random.usize(..ready.len())];
        let is_new = running[at].is_none();
        let participant = running[at].get_or_insert_with(|| {
            lives[at] -= 1;
            let has_locks = locks[at];
            begin(&world, move |world| live(world, at, has_locks))
        });
        let is_killed = !is_new && kill_one_in > 0 && random.u64(..kill_one_in) == 0;
        kills += u64::from(is_killed);
        world.give_turn(at, is_killed);
        participant.resume();
        if participant.is_done() {
            running[at] = None;
        }
    }
    // Whoever is still there after a violation is killed, too.
    for (at, participant) in running.iter_mut().enumerate() {
        while let Some(participant) = participant.as_mut().filter(|participant| !participant.is_done()) {
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
    Summary { kills, ..world.summary() }
}

fn tidy_up(world: &Arc<World>, index: usize) {
    let tidied = Participant::open(world, index, true).and_then(|mut last| last.tidy_up(FILES_MAX));
    if let Err(error) = tidied {
        world.violation(format!("at the end: {error}"));
    }
}

fn begin(world: &Arc<World>, life: impl FnOnce(&Arc<World>) + Send + 'static) -> Generator<'static, (), ()> {
    let world = Arc::clone(world);
    Gn::new_opt(STACK_WORDS, move || {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| life(&world)))
            && !panic.is::<Killed>()
        {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            world.violation(format!("a panic: {}", text.unwrap_or_default()));
        }
    })
}

/// Sums over all schedules.
#[derive(Default)]
struct Totals {
    schedules: u64,
    calls: u64,
    commits: u64,
    reads: u64,
    kills: u64,
    busy: u64,
    repeated: u64,
    failed: u64,
}

impl Totals {
    fn add(&mut self, summary: &Summary, same: Option<bool>) {
        self.schedules += 1;
        self.calls += summary.calls;
        self.commits += summary.commits;
        self.reads += summary.reads;
        self.kills += summary.kills;
        self.busy += summary.busy;
        self.repeated += u64::from(same.is_some());
        self.failed += u64::from(!summary.violations.is_empty());
    }

    fn print_to(&self, outcome: &mut Outcome) {
        outcome.figure_at_least("schedules", self.schedules, SCHEDULES_MIN);
        outcome.figure("calls", self.calls);
        outcome.figure("commits", self.commits);
        outcome.figure("reads", self.reads);
        outcome.figure("kills", self.kills);
        outcome.figure("busy", self.busy);
        outcome.figure_at_least("repeated", self.repeated, 1);
        outcome.figure("failed", self.failed);
    }
}
