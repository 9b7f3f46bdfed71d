//! What a call answers besides values: an error with a code, or a promise of what a job answers on a thread of libuv's
//! pool. If the environment ends first, Node waits for the job, and its answer is dropped.

use napi::bindgen_prelude::{AsyncTask, Either, Env, Task, ToNapiValue, TypeName, Uint8Array};
use serde::Serialize;
use varve_bindings::{Failure, Guard, answer, guarded};
use varve_core::failpoints;

/// The code of an error, which programs read.
#[derive(Debug)]
pub struct Code(&'static str);

impl AsRef<str> for Code {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// The outcome of a call from JavaScript. The macros of napi look for this name.
pub(crate) type Result<T> = napi::Result<T, Code>;

/// The failure as an Error of JavaScript.
#[cold]
#[expect(clippy::boxed_local, reason = "a result has its failure in a box")]
pub(crate) fn thrown(failure: Box<Failure>) -> napi::Error<Code> {
    let Failure { code, message } = *failure;
    napi::Error::new(Code(code), message)
}

/// A failure of napi in a call of ours.
#[cold]
pub(crate) fn refused(error: napi::Error) -> Box<Failure> {
    Failure::argument(error.to_string())
}

/// A promise of what a job answers on another thread. The macros of napi look for this name.
pub(crate) type Promise<A> = AsyncTask<Job<A>>;

/// What a promise resolves to: JSON, also of a failure, or bytes.
pub trait Answer: ToNapiValue + TypeName + 'static {
    /// What the job makes on its thread.
    type Made: Send + 'static;

    fn of(made: Self::Made) -> Self;
    fn failed(json: String) -> Self;
}

impl Answer for String {
    type Made = Self;

    fn of(json: Self) -> Self {
        json
    }

    fn failed(json: Self) -> Self {
        json
    }
}

/// Bytes, or JSON of a failure.
pub(crate) type Bytes = Either<Uint8Array, String>;

impl Answer for Bytes {
    type Made = Vec<u8>;

    fn of(bytes: Vec<u8>) -> Self {
        Either::A(bytes.into())
    }

    fn failed(json: String) -> Self {
        Either::B(json)
    }
}

/// Work for another thread. A panic of it becomes a failure, and the store gives up.
pub struct Job<A: Answer> {
    guard: Guard,
    /// `None` once it ran.
    work: Option<Box<dyn FnOnce() -> varve_bindings::Result<A::Made> + Send>>,
}

impl<A: Answer> Job<A> {
    pub(crate) fn promise(
        guard: Guard,
        work: impl FnOnce() -> varve_bindings::Result<A::Made> + Send + 'static,
    ) -> Promise<A> {
        AsyncTask::new(Self { guard, work: Some(Box::new(work)) })
    }
}

impl<A: Answer> Task for Job<A> {
    type Output = varve_bindings::Result<A::Made>;
    type JsValue = A;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let work = self.work.take();
        Ok(self.guard.run(|| {
            failpoints::panics("task");
            work.ok_or_else(|| Failure::internal("a job ran twice"))?()
        }))
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> napi::Result<A> {
        Ok(output.map_or_else(|failure| A::failed(failed(failure)), A::of))
    }
}

impl<A: Answer> Drop for Job<A> {
    /// Work that never ran, because the environment ended first, is dropped with what it owns: that may panic.
    fn drop(&mut self) {
        let work = self.work.take();
        let _ = guarded(|| {
            drop(work);
            Ok(())
        });
    }
}

/// A promise of JSON.
pub(crate) fn json_of<T: Serialize>(
    guard: Guard,
    work: impl FnOnce() -> varve_bindings::Result<T> + Send + 'static,
) -> Promise<String> {
    Job::promise(guard, move || Ok(answer(Ok(work()?))))
}

/// JSON of a failure.
pub(crate) fn failed(failure: Box<Failure>) -> String {
    answer::<()>(Err(failure))
}
