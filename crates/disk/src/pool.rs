//! Threads for jobs that are split into parts.
//!
//! Each job starts its threads and ends them: 10 to 30 microseconds each, which no job of more than one part notices.
//! So there are no idle threads, nothing is shared between jobs, and a job may borrow.

use std::iter;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use varve_core::Pool;
use varve_core::failpoints;

/// The most threads; more do not make a disk faster.
const THREADS_MAX: usize = 8;

/// Runs each job on its caller and up to `threads - 1` more threads.
#[derive(Debug)]
pub struct DiskPool {
    threads: usize,
}

impl DiskPool {
    /// A pool of `threads` threads, at least 1.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1) }
    }
}

impl Default for DiskPool {
    /// As many threads as the machine offers this process, at most 8.
    fn default() -> Self {
        Self::new(thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX))
    }
}

impl Pool for DiskPool {
    fn threads(&self) -> usize {
        self.threads
    }

    /// If a part panics, this panics once all threads of the job have ended.
    fn run(&self, count: usize, job: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let parts = || {
            iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed))
                .take_while(|part| *part < count)
        };
        let work = || {
            parts().for_each(|part| {
                failpoints::panics("pool-part");
                job(part);
            });
        };
        thread::scope(|scope| {
            let start = |index| {
                thread::Builder::new().name(format!("varve-{index}")).spawn_scoped(scope, work)
            };
            // If the system provides no more threads, those that there are do the work.
            let started: Vec<_> =
                (1..self.threads.min(count)).map_while(|index| start(index).ok()).collect();
            work();
            started
                .into_iter()
                .for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Barrier, Mutex};

    #[test]
    fn every_part_of_a_job_runs_once() {
        for threads in [0, 1, 4] {
            let runs: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            DiskPool::new(threads).run(runs.len(), &|part| {
                runs[part].fetch_add(1, Ordering::Relaxed);
            });
            assert!(runs.iter().all(|run| run.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn a_job_has_no_more_threads_than_parts() {
        let pool = DiskPool::new(4);
        pool.run(0, &|_| panic!("a job without parts runs none"));
        let caller = thread::current().id();
        pool.run(1, &|_| assert_eq!(thread::current().id(), caller));
        // Each part waits for the other one, so each has a thread.
        let (both, ids) = (Barrier::new(2), Mutex::new(HashSet::new()));
        pool.run(2, &|_| {
            both.wait();
            ids.lock().unwrap().insert(thread::current().id());
        });
        let ids = ids.into_inner().unwrap();
        assert!(ids.len() == 2 && ids.contains(&caller), "{ids:?}");
    }

    #[test]
    fn a_panic_in_a_job_reaches_the_caller_and_the_pool_keeps_working() {
        let pool = DiskPool::new(2);
        for _ in 0..20 {
            let run = || pool.run(16, &|part| assert!(part % 3 > 0, "planted"));
            let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"planted"));
        }
        pool.run(16, &|_| {});
    }
}
