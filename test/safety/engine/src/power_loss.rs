//! Crash states: the power fails after any operation of the file system. Data that was not synced may be there,
//! missing, torn or zero, as three models of a file system allow (`Model`). After the crash the cache must open, hold
//! a committed state that includes the last acknowledged durable commit, and accept the next commit.
//!
//! - `states`: every crash of histories that contain each phase of a cache's life;
//! - `recordings`: every crash of programs that used the built package, whose system calls were recorded;
//! - `nested`: the power fails again while the crashed cache is opened, committed to and compacted.
//!
//! A case is `<history>:<model>:<state>`; `nested` adds two numbers for the second crash.

mod check;
mod nested;
mod phase;
mod record;
mod recorded;
mod recordings;

use crate::order::{Order, numbers};
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::work::{caught, each};
use phase::{PHASES_DUE, SHAPES_DUE};
use record::record;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use varve_core::testing::sim::{CrashState, CrashStates, Model};

pub(crate) use check::{Checker, read};
pub(crate) use nested::nested;
pub(crate) use recorded::{Commit, Recorded};
pub(crate) use recordings::recordings;

/// Random states for each prefix, in addition to the enumerated ones.
const RANDOM_STATES: usize = 6;

/// Histories between two looks whether there are enough states.
const BATCH: u64 = 64;

/// Every so many states that are new, the next commit is tried as well.
const COMMIT_STEP: usize = 8;

/// The part `states`.
pub(crate) fn states(order: &Order) -> Outcome {
    if let Some(case) = &order.replay {
        let mut tally = Tally::default();
        replay(case, &mut tally);
        return tally.into_outcome(&[]);
    }
    let due = if order.is_long { 20_000_000 } else { 300_000 };
    let tally = until_distinct("states.distinct", due, order.seed, BATCH, check_history);
    let phases = PHASES_DUE.iter().map(|phase| format!("phase.{phase}"));
    let names: Vec<String> =
        phases.chain(SHAPES_DUE.iter().map(|shape| format!("shape.{shape}"))).collect();
    let mut goals: Vec<(&str, u64)> =
        names.iter().map(|name| (name.as_str(), states_due(name))).collect();
    goals.push(("states.distinct", due));
    tally.into_outcome(&goals)
}

/// How many states of a phase or shape are due. With some seeds few histories have room for these two.
fn states_due(name: &str) -> u64 {
    if matches!(name, "phase.padded" | "phase.evict") { 1_000 } else { 2_000 }
}

/// Crashes one history after the other, `batch` of them between two looks, until there are `due` distinct states; how
/// many there are is counted as `name`. `crash` gives their fingerprints.
fn until_distinct<F: IntoIterator<Item = u64>>(
    name: &str,
    due: u64,
    first: u64,
    batch: u64,
    crash: impl Fn(u64, &mut Tally) -> F + Sync,
) -> Tally {
    let seen = Mutex::new(HashSet::new());
    let distinct = || seen.lock().unwrap_or_else(PoisonError::into_inner);
    let mut tally = Tally::default();
    let mut seed = first;
    while (distinct().len() as u64) < due {
        tally.absorb(each(seed..seed + batch, |seed, tally| {
            let mine = crash(seed, tally);
            distinct().extend(mine);
        }));
        seed += batch;
    }
    tally.add(name, distinct().len() as u64);
    tally
}

/// Every crash state of the history of a seed. Returns the fingerprints.
fn check_history(seed: u64, tally: &mut Tally) -> Vec<u64> {
    tally.add("histories", 1);
    crash(&record(seed), &seed.to_string(), seed, RANDOM_STATES, tally)
}

/// Every crash state of one history on every model. Returns the fingerprints.
fn crash(
    history: &Recorded,
    case: &str,
    seed: u64,
    random_states: usize,
    tally: &mut Tally,
) -> Vec<u64> {
    let mut checker = Checker::new(history);
    for model in history.models() {
        for (index, state) in history.vfs.crash_states(model, 0, seed, random_states).enumerate() {
            let (is_new, outcome) = check(&mut checker, &state, tally);
            tally.add("states.checked", 1);
            let phase = history.phase_at(state.prefix);
            tally.add(&format!("checked.{}.{phase}", MODELS[model as usize]), 1);
            if is_new {
                tally.add(&format!("phase.{phase}"), 1);
                history
                    .also_at(state.prefix)
                    .iter()
                    .filter(|also| **also != phase)
                    .for_each(|also| tally.add(&format!("phase.{also}"), 1));
                history.shapes.iter().for_each(|shape| tally.add(&format!("shape.{shape}"), 1));
            }
            if let Err(what) = outcome {
                tally.violation(
                    &format!("{what}; {}", state.description()),
                    &format!("{case}:{}:{index}", model as usize),
                );
            }
        }
    }
    checker.into_fingerprints()
}

/// Whether the state is new, and what is wrong with it.
fn check(
    checker: &mut Checker<'_>,
    state: &CrashState,
    tally: &mut Tally,
) -> (bool, Result<(), String>) {
    let look = match checker.look(state) {
        Ok(look) => look,
        Err(what) => return (false, Err(what)),
    };
    let outcome = checker.allows(state, &look, state.is_whole());
    if look.is_new && checker.seen().is_multiple_of(COMMIT_STEP) && outcome.is_ok() {
        tally.add("states.committedTo", 1);
        return (look.is_new, checker.takes_the_next_commit(state, &look));
    }
    (look.is_new, outcome)
}

/// The models in the words of figures, in order.
const MODELS: [&str; 4] = ["posix", "weak", "ordered", "journaled"];

/// The model of that number in a case.
fn model_of(number: u64) -> Option<Model> {
    Model::ALL.into_iter().chain([Model::Journaled]).nth(number as usize)
}

fn states_of(vfs: &varve_core::testing::sim::SimVfs, model: Model, seed: u64) -> CrashStates {
    vfs.crash_states(model, 0, seed, RANDOM_STATES)
}

/// One state alone, with the next commit.
fn replay(case: &str, tally: &mut Tally) {
    let numbers = numbers(case);
    let [seed, rest @ ..] = numbers.as_slice() else {
        return tally.violation("no such case", case);
    };
    let outcome = caught(|| replay_state(&record(*seed), rest, *seed, RANDOM_STATES));
    tally.add("replayed", 1);
    if let Err(what) = outcome.and_then(|outcome| outcome) {
        tally.violation(&what, case);
    }
}

/// The history with its operations, and the state of that model and number.
fn replay_state(
    history: &Recorded,
    case: &[u64],
    seed: u64,
    random_states: usize,
) -> Result<(), String> {
    #[expect(clippy::print_stderr, reason = "a replay is for people")]
    {
        eprintln!("{history}");
    }
    let [model, index] = case else { return Ok(()) };
    let model = model_of(*model).ok_or("no such model")?;
    let state = history
        .vfs
        .crash_states(model, 0, seed, random_states)
        .nth(*index as usize)
        .ok_or("no such state")?;
    let mut checker = Checker::new(history);
    let look = checker.look(&state)?;
    checker.allows(&state, &look, state.is_whole())?;
    checker.takes_the_next_commit(&state, &look)
}
