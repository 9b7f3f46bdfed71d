//! Threads for jobs that are split into parts.
//!
//! The pool is separate from rayon's global one, which the host may use and in which a panic would end the process. If
//! a part panics, the others finish, and then `run` panics in its caller.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::num::NonZero;
use std::sync::OnceLock;
use std::thread;
use varve_core::Pool;
use varve_core::failpoints;

/// The most threads; more do not make a disk faster.
const THREADS_MAX: usize = 8;

/// A pool of threads, which start with the first job of more than one part.
#[derive(Debug)]
pub struct DiskPool {
    threads: usize,
    /// `None` if the system provides no threads; the caller then does the work.
    pool: OnceLock<Option<ThreadPool>>,
}

impl DiskPool {
    /// A pool of `threads` threads, at least 1.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1), pool: OnceLock::new() }
    }

    fn pool(&self) -> Option<&ThreadPool> {
        let build = || {
            let builder =
                ThreadPoolBuilder::new().num_threads(self.threads).thread_name(|index| format!("varve-{index}"));
            // Handles panics that no caller of rayon waits for, on which rayon would abort. `run` causes none.
            builder.panic_handler(drop).build().ok()
        };
        self.pool.get_or_init(build).as_ref()
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

    fn run(&self, count: usize, job: &(dyn Fn(usize) + Sync)) {
        let pool = if count > 1 && self.threads > 1 { self.pool() } else { None };
        match pool {
            Some(pool) => pool.install(|| {
                (0..count).into_par_iter().with_max_len(1).for_each(|part| {
                    failpoints::panics("pool-part");
                    job(part);
                });
            }),
            None => (0..count).for_each(job),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
    fn pool_threads_start_with_the_first_job_that_needs_them() {
        let pool = DiskPool::new(2);
        pool.run(0, &|_| panic!("a job without parts runs none"));
        pool.run(1, &|_| assert_ne!(thread::current().name(), Some("varve-0")));
        assert!(pool.pool.get().is_none());
        let names = Mutex::new(HashSet::new());
        pool.run(8, &|_| {
            names.lock().unwrap().insert(thread::current().name().map(str::to_owned));
        });
        assert!(names.into_inner().unwrap().iter().flatten().all(|name| name.starts_with("varve-")));
    }

    #[test]
    fn a_panic_in_a_job_reaches_the_caller_and_the_pool_keeps_working() {
        let pool = DiskPool::new(2);
        for _ in 0..20 {
            let run = || pool.run(16, &|part| assert!(part % 3 > 0, "planted"));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
        }
        pool.run(16, &|_| {});
    }
}
