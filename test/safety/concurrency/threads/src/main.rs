//! `varve-threads threads --seed N [--long] [--replay SEED]`: two to four threads of one process share a store, as
//! worker threads do. Each commits, reads, refreshes, compacts and flushes, and one may close the store while the
//! others use it. At every lock and atomic of the engine, shuttle decides which thread runs next: at random, or by
//! priorities that change a few times ("A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
//! Burckhardt and others). `interleavings` does the same for processes, which share files and no locks.
//!
//! 1. A schedule without a runnable thread is a deadlock. A panic, or an error other than `Closed`, is a bug.
//! 2. `life.rs` checks what each thread reads.
//! 3. At the end the cache is opened again: every acknowledged commit is there, and verify finds no damage.
//!
//! Proof that it can fail: it found a commit that waited for `close`, wrote to a state that was already empty, and
//! got a sequence number below those of older commits. It finds this bug again if `Store::if_open` does not check.

#[path = "../../../engine/src/command.rs"]
mod command;
mod life;
#[path = "../../../engine/src/order.rs"]
mod order;
#[path = "../../../engine/src/outcome.rs"]
mod outcome;
#[path = "../../../engine/src/tally.rs"]
mod tally;
#[path = "../../../engine/src/work.rs"]
mod work;

use command::Part;
use fastrand::Rng;
use life::{Acknowledged, FILE_BYTES, live, newest};
use order::Order;
use outcome::Outcome;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, Runner, thread};
use std::process::ExitCode;
use std::sync::Arc;
use varve_core::testing::sim::SimVfs;
use varve_core::{Error, Options, SerialPool, Store};
use work::{Length, each_seed};

const PARTS: &[Part] = &[("threads", run)];

const LENGTH: Length = Length { seeds_short: 700, seeds_long: 3_000_000 };
const SEEDS_MIN: u64 = 200;

/// Schedules of one seed. Priorities change at a step that an earlier schedule had, so one alone would not do.
const SCHEDULES: usize = 3;

const STACK_BYTES: usize = 1 << 20;

fn main() -> ExitCode {
    command::run(PARTS)
}

fn run(order: &Order) -> Outcome {
    let tally = each_seed(order, &LENGTH, |_, seed, tally| {
        tally.add("seeds", 1);
        tally.add("schedules", SCHEDULES as u64);
        schedules(seed);
    });
    let least = if order.is_long { LENGTH.seeds_long } else { SEEDS_MIN };
    let goals: &[_] = if order.replay.is_some() { &[] } else { &[("seeds", least)] };
    tally.into_outcome(goals)
}

/// Runs the schedules of a seed; a violation is a panic.
fn schedules(seed: u64) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    let mut random = Rng::with_seed(seed);
    if random.bool() {
        Runner::new(RandomScheduler::new_from_seed(seed, SCHEDULES), config)
            .run(move || schedule(seed));
    } else {
        let depth = random.usize(2..=5);
        Runner::new(PctScheduler::new_from_seed(seed, depth, SCHEDULES), config)
            .run(move || schedule(seed));
    }
}

fn schedule(seed: u64) {
    let mut random = Rng::with_seed(seed ^ 0x5eed);
    let vfs = match random.u8(..4) {
        0 => SimVfs::new().without_locks(),
        1 => SimVfs::new().without_links(),
        _ => SimVfs::new(),
    };
    let files = random.bool();
    let open = || {
        let blob_bytes_min = if files { FILE_BYTES } else { usize::MAX };
        let options = Options { blob_bytes_min, random: seed, ..Options::default() };
        Store::open(Arc::new(vfs.clone()), Arc::new(SerialPool), options).expect("open")
    };
    let (store, acknowledged) = (open(), Acknowledged::default());
    let threads: Vec<_> = (0..random.usize(2..=4))
        .map(|at| {
            let (store, acknowledged, random) =
                (Arc::clone(&store), acknowledged.clone(), random.fork());
            thread::spawn(move || live(&store, at, files, &acknowledged, random))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    if let Err(error) = store.close() {
        assert!(matches!(*error, Error::Closed), "close: {error}");
    }
    drop(store);
    let store = open();
    let found =
        newest(&mut store.handle(), files).expect("read").expect("all of a commit or nothing");
    assert!(acknowledged.are_in(&found), "acknowledged {acknowledged:?}, found {found:?}");
    let report = store.verify(&|_, _| std::ops::ControlFlow::Continue(())).expect("verify");
    assert!(report.sound, "damage: {:?}", report.damage);
}
