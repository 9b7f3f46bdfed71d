//! The second crash: while a crashed cache is opened, committed to and compacted, the power fails again.

use super::check::{commit_next, read, recover};
use super::record::{content_of, record};
use super::{MODELS, model_of, states_of, until_distinct};
use crate::history::{Expected, open};
use crate::order::{Order, numbers};
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::work::caught;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use varve_core::testing::sim::{CrashState, Model, SimVfs};

const BATCH: u64 = 4;

/// First crashes of one history that are crashed again: one in so many.
const STEP: usize = 151;

/// The part `nested`.
pub(crate) fn nested(order: &Order) -> Outcome {
    if let Some(case) = &order.replay {
        let mut tally = Tally::default();
        if let Err(what) = caught(|| replay(case)).and_then(|outcome| outcome) {
            tally.violation(&what, case);
        }
        tally.add("replayed", 1);
        return tally.into_outcome(&[]);
    }
    let due = if order.is_long { 2_000_000 } else { 20_000 };
    let tally = until_distinct("nested.distinct", due, order.seed, BATCH, check_history);
    tally.into_outcome(&[("nested.distinct", due)])
}

fn check_history(seed: u64, tally: &mut Tally) -> HashSet<u64> {
    let history = record(seed);
    let mut seen = HashSet::new();
    for model in history.models() {
        let first = seed as usize % STEP;
        for (index, state) in
            states_of(&history.vfs, model, seed).enumerate().skip(first).step_by(STEP)
        {
            tally.add("firstCrashes", 1);
            let case = format!("{seed}:{}:{index}", model as usize);
            match caught(|| Recovery::of(&state)) {
                Ok(recovery) => crash_again(&recovery, model, seed, &case, tally, &mut seen),
                Err(what) => tally.violation(&what, &case),
            }
        }
    }
    seen
}

fn crash_again(
    recovery: &Recovery,
    model: Model,
    seed: u64,
    case: &str,
    tally: &mut Tally,
    seen: &mut HashSet<u64>,
) {
    let mut known = HashMap::new();
    for (index, state) in recovery.vfs.crash_states(model, 0, seed, 1).enumerate() {
        tally.add("nested.checked", 1);
        tally.add(&format!("nested.{}", MODELS[model as usize]), 1);
        seen.insert(state.vfs.fingerprint());
        if let Err(what) = recovery.check(&state, &mut known, seen.len().is_multiple_of(16)) {
            tally.violation(
                &format!("{what}; second {}", state.description()),
                &format!("{case}:{index}"),
            );
        }
    }
}

/// Opening a crashed cache, the next commit and a compaction, as it went without a second crash.
struct Recovery {
    vfs: SimVfs,
    before: Expected,
    after: Expected,
    /// Operations when the commit was acknowledged.
    acknowledged: usize,
}

impl Recovery {
    fn of(state: &CrashState) -> Self {
        let vfs = state.vfs.fork();
        let mut handle = open(&vfs).expect("open");
        let before = content_of(&mut handle);
        let mut after = before.clone();
        after.insert(b"next".to_vec(), b"commit".to_vec());
        recover(&mut handle);
        let acknowledged = Self::acknowledged(state);
        drop(handle);
        Self { vfs, before, after, acknowledged }
    }

    /// The same without the compaction, to see where the commit ends.
    fn acknowledged(state: &CrashState) -> usize {
        let vfs = state.vfs.fork();
        let mut handle = open(&vfs).expect("open");
        content_of(&mut handle);
        commit_next(&mut handle);
        vfs.operation_count()
    }

    fn check(
        &self,
        state: &CrashState,
        known: &mut HashMap<u64, Expected>,
        commits: bool,
    ) -> Result<(), String> {
        let fingerprint = state.vfs.fingerprint();
        let found = match known.entry(fingerprint) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(read(&state.vfs)?),
        };
        let is_old = *found == self.before && state.prefix < self.acknowledged;
        if !is_old && *found != self.after {
            let what =
                if *found == self.before { "acknowledged and lost" } else { "no committed state" };
            return Err(format!("after the second crash: {what}"));
        }
        if commits {
            caught(|| {
                let mut handle = open(&state.vfs).expect("open");
                recover(&mut handle);
                drop(handle);
                if read(&state.vfs)? == self.after {
                    Ok(())
                } else {
                    Err("the commit after the second crash".to_owned())
                }
            })
            .and_then(|outcome| outcome)?;
        }
        Ok(())
    }
}

fn replay(case: &str) -> Result<(), String> {
    let numbers = numbers(case);
    let [seed, model, first, rest @ ..] = numbers.as_slice() else {
        return Err("no such case".to_owned());
    };
    let history = record(*seed);
    let model = model_of(*model).ok_or("no such model")?;
    let state =
        states_of(&history.vfs, model, *seed).nth(*first as usize).ok_or("no such state")?;
    let recovery = Recovery::of(&state);
    let [second] = rest else { return Ok(()) };
    let state = recovery
        .vfs
        .crash_states(model, 0, *seed, 1)
        .nth(*second as usize)
        .ok_or("no such state")?;
    recovery.check(&state, &mut HashMap::new(), true)
}
