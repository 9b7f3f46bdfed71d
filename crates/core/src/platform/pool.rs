//! Threads: a job is divided into independent parts, which the pool runs on as many threads as it has.

use std::fmt::Debug;

/// Runs the parts of a job.
pub trait Pool: Debug + Send + Sync {
    /// Number of parts that can run at the same time, at least 1.
    fn threads(&self) -> usize;

    /// Calls `job(0) .. job(count - 1)`, in any order and on any thread, and returns when all have returned.
    fn run(&self, count: usize, job: &(dyn Fn(usize) + Sync));
}

/// Runs every part on the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct SerialPool;

impl Pool for SerialPool {
    fn threads(&self) -> usize {
        1
    }

    fn run(&self, count: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(job);
    }
}
