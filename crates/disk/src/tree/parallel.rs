//! Runs many small jobs on the threads of a pool, in runs of neighbouring paths. Sorted paths of one directory follow
//! each other, so a run opens few directories.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use varve_core::{Error, Pool, Result, Watch};

/// Fewer jobs than this stay on the calling thread, because handing them out takes longer than it saves.
const PARALLEL_MIN: usize = 32;

/// The most jobs in a run, few enough for the threads to finish at about the same time.
const RUN_MAX: usize = 64;

/// Returns the results in order, or the first error. No further job begins after an error or a stop. `begin` creates
/// the state that the jobs of one run share. The watch counts jobs.
pub(super) fn in_runs<T: Sync, S, R: Send>(
    pool: &dyn Pool,
    jobs: &[T],
    watch: Watch<'_>,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let threads = if jobs.len() < PARALLEL_MIN { 1 } else { pool.threads().max(1) };
    let run = if threads == 1 {
        jobs.len().max(1)
    } else {
        jobs.len().div_ceil(threads * 4).clamp(8, RUN_MAX)
    };
    let runs: Vec<&[T]> = jobs.chunks(run).collect();
    let answers: Vec<Mutex<Result<Vec<R>>>> =
        runs.iter().map(|_| Mutex::new(Err(Error::Cancelled.boxed()))).collect();
    let (failed, done, total) = (AtomicBool::new(false), AtomicU64::new(0), jobs.len() as u64);
    pool.run(runs.len(), &|index| {
        let (Some(jobs), Some(answer)) = (runs.get(index), answers.get(index)) else { return };
        let mut shared = begin();
        let outcome = jobs.iter().map(|job| {
            let may_go_on =
                watch(done.fetch_add(1, Ordering::Relaxed), total) == ControlFlow::Continue(());
            if !may_go_on || failed.load(Ordering::Relaxed) {
                return Err(Error::Cancelled.boxed());
            }
            work(&mut shared, job)
        });
        let outcome: Result<Vec<R>> = outcome.collect();
        failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
        *answer.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
    });
    let outcomes = answers
        .into_iter()
        .map(|answer| answer.into_inner().unwrap_or_else(PoisonError::into_inner));
    let (mut all, mut first) = (Vec::with_capacity(jobs.len()), None);
    for outcome in outcomes {
        match outcome {
            Ok(answers) => all.extend(answers),
            // The error that stopped the other jobs counts, not their cancellation.
            Err(error) if matches!(first.as_deref(), None | Some(Error::Cancelled)) => {
                first = Some(error)
            }
            Err(_) => {}
        }
    }
    first.map_or(Ok(all), Err)
}
