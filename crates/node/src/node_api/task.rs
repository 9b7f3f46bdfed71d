//! A call that runs on a thread of libuv's pool and answers with a promise. If the environment ends first, Node waits
//! for the task and drops its answer.

use crate::node_api::made::Made;
use napi::Env;
use varve_bindings::{Failure, answer, guarded};

type Job = Box<dyn FnOnce() -> Reply + Send>;

/// What a task answers.
pub(crate) enum Reply {
    /// JSON.
    Text(String),
    Bytes(Vec<u8>),
}

impl Reply {
    /// JSON of a failure.
    pub(crate) fn failed(failure: Failure) -> Self {
        Self::Text(answer::<()>(Err(failure)))
    }
}

/// A job for another thread.
pub(crate) struct Task {
    /// None once it ran.
    job: Option<Job>,
}

impl Task {
    /// `job` must not panic.
    pub(crate) fn new(job: impl FnOnce() -> Reply + Send + 'static) -> Self {
        Self { job: Some(Box::new(job)) }
    }
}

impl napi::Task for Task {
    type Output = Reply;
    type JsValue = Made;

    fn compute(&mut self) -> napi::Result<Reply> {
        Ok(self.job.take().map_or_else(|| Reply::failed(Failure::internal("a task ran twice")), |job| job()))
    }

    fn resolve(&mut self, _env: Env, reply: Reply) -> napi::Result<Made> {
        Ok(match reply {
            Reply::Text(json) => Made::Text(json),
            Reply::Bytes(bytes) => Made::Bytes(bytes),
        })
    }
}

impl Drop for Task {
    /// A job that never ran, because the environment ended first, is dropped with what it owns: that may panic.
    fn drop(&mut self) {
        let job = self.job.take();
        let _ = guarded(|| {
            drop(job);
            Ok(())
        });
    }
}
