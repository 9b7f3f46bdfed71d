//! Threads for jobs that are split into parts: rayon's, in a pool of Varve's own. Rayon's global pool may be the host's,
//! and a panic in it would end the process.
//!
//! - All caches of a process use one pool ([`shared`]). Its threads start with the first job of more than one part, and
//!   end with the last cache that uses it.
//! - One job has the threads at a time. A job that comes meanwhile runs on its caller, part by part, until they are
//!   free. So a short job never waits for a long one, and a part may start a job itself.
//! - If the system provides no threads, jobs run on their callers. So they do in a child process made by `fork`, which
//!   has the memory of its parent, but not its threads.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::{mem, process, thread};
use varve_core::Pool;
use varve_core::failpoints;

/// The most threads; more do not make a disk faster.
const THREADS_MAX: usize = 8;

static SHARED: Mutex<Weak<DiskPool>> = Mutex::new(Weak::new());

/// The pool of all caches of this process.
pub(crate) fn shared() -> Arc<DiskPool> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let pool = Arc::new(DiskPool::default());
        *shared = Arc::downgrade(&pool);
        pool
    })
}

/// Runs each job on up to `threads` threads.
#[derive(Debug)]
pub struct DiskPool {
    threads: usize,
    /// The process that starts the threads.
    process: u32,
    /// Locked by the job that has the threads.
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// No job has had more than one part.
    Idle,
    Started(ThreadPool),
    /// The system provides no threads.
    Refused,
}

impl State {
    fn start(threads: usize) -> Self {
        Self::of(ThreadPoolBuilder::new().num_threads(threads))
    }

    fn of(builder: ThreadPoolBuilder) -> Self {
        let builder = builder.thread_name(|index| format!("varve-{index}"));
        // It receives panics for which no caller of rayon waits; without it rayon would abort. `run` causes none.
        builder.panic_handler(drop).build().map_or(Self::Refused, Self::Started)
    }
}

impl DiskPool {
    /// A pool of `threads` threads, at least 1.
    pub fn new(threads: usize) -> Self {
        let state = Mutex::new(State::Idle);
        Self { threads: threads.max(1), process: process::id(), state }
    }

    fn is_of_this_process(&self) -> bool {
        self.process == process::id()
    }

    /// The threads, unless another job has them.
    fn free(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            // A part of an earlier job panicked, which leaves the threads as they were.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Runs the parts on the threads, if there are any that are free.
    fn run_on_threads(&self, parts: std::ops::Range<usize>, run: &(dyn Fn(usize) + Sync)) -> bool {
        let Some(mut state) = self.free() else { return false };
        if matches!(*state, State::Idle) {
            *state = State::start(self.threads);
        }
        let State::Started(threads) = &*state else { return false };
        threads.install(|| parts.into_par_iter().with_max_len(1).for_each(run));
        true
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

    /// If a part panics, this panics once the parts that other threads have begun are done.
    fn run(&self, count: usize, job: &(dyn Fn(usize) + Sync)) {
        let run = |part| {
            failpoints::panics("pool-part");
            job(part);
        };
        let may_use_threads = self.threads > 1 && self.is_of_this_process();
        for part in 0..count {
            let is_last = part + 1 == count;
            if may_use_threads && !is_last && self.run_on_threads(part..count, &run) {
                return;
            }
            run(part);
        }
    }
}

impl Drop for DiskPool {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let state = mem::replace(state, State::Idle);
        if !self.is_of_this_process() {
            // Ending threads that do not exist would wait for locks that they held when the process was forked.
            mem::forget(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn names_of(pool: &DiskPool, count: usize) -> HashSet<Option<String>> {
        let names = Mutex::new(HashSet::new());
        pool.run(count, &|_| {
            names.lock().unwrap().insert(thread::current().name().map(str::to_owned));
        });
        names.into_inner().unwrap()
    }

    fn own_name() -> HashSet<Option<String>> {
        HashSet::from([thread::current().name().map(str::to_owned)])
    }

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
    fn threads_start_with_the_first_job_that_needs_them() {
        let pool = DiskPool::new(2);
        pool.run(0, &|_| panic!("a job without parts runs none"));
        assert_eq!(names_of(&pool, 1), own_name());
        assert!(matches!(*pool.state.lock().unwrap(), State::Idle));
        // Each part waits for the other one, so each has a thread.
        let both = Barrier::new(2);
        let names = Mutex::new(HashSet::new());
        pool.run(2, &|_| {
            both.wait();
            names.lock().unwrap().insert(thread::current().name().map(str::to_owned));
        });
        let expected = ["varve-0", "varve-1"].map(|name| Some(name.to_owned()));
        assert_eq!(names.into_inner().unwrap(), HashSet::from(expected));
    }

    #[test]
    fn a_job_that_comes_while_another_has_the_threads_runs_on_its_caller() {
        let pool = DiskPool::new(2);
        let inner = Mutex::new(Vec::new());
        pool.run(2, &|_| {
            let names = names_of(&pool, 4);
            inner.lock().unwrap().push(names == own_name());
        });
        assert_eq!(inner.into_inner().unwrap(), [true, true]);
    }

    #[test]
    fn a_job_takes_the_threads_when_they_become_free() {
        let pool = DiskPool::new(2);
        let (first_begun, first_may_end) = (Barrier::new(2), Barrier::new(2));
        let names = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                pool.run(2, &|part| {
                    if part == 0 {
                        first_begun.wait();
                        first_may_end.wait();
                    }
                });
            });
            first_begun.wait();
            let first = Mutex::new(Some(first));
            pool.run(3, &|part| {
                names.lock().unwrap().push(thread::current().name().map(str::to_owned));
                if part == 0 {
                    first_may_end.wait();
                    first.lock().unwrap().take().unwrap().join().unwrap();
                }
            });
        });
        let names = names.into_inner().unwrap();
        let is_of_the_pool =
            |name: &Option<String>| name.as_deref().is_some_and(|name| name.starts_with("varve-"));
        assert_eq!(
            names.iter().map(is_of_the_pool).collect::<Vec<_>>(),
            [false, true, true],
            "{names:?}"
        );
    }

    #[test]
    fn without_threads_of_the_system_jobs_run_on_their_callers() {
        let builder = ThreadPoolBuilder::new().num_threads(2).stack_size(usize::MAX >> 1);
        let pool = DiskPool { state: Mutex::new(State::of(builder)), ..DiskPool::new(2) };
        assert!(matches!(*pool.state.lock().unwrap(), State::Refused));
        assert_eq!(names_of(&pool, 8), own_name());
    }

    #[test]
    fn in_a_forked_process_jobs_run_on_their_callers() {
        let mut pool = DiskPool::new(2);
        pool.run(2, &|_| {});
        pool.process += 1;
        assert_eq!(names_of(&pool, 8), own_name());
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

    #[test]
    fn the_pool_of_the_process_is_shared_until_its_last_user_is_gone() {
        let pool = shared();
        assert!(Arc::ptr_eq(&pool, &shared()));
        drop(pool);
        assert!(SHARED.lock().unwrap().upgrade().is_none());
    }
}
