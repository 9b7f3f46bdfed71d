//! A call that runs on a thread of libuv's pool and answers with a promise.
//!
//! 1. [`spawn`] makes the promise and queues the work, on the thread of JavaScript.
//! 2. `execute` runs the job on a thread of the pool.
//! 3. `complete` settles the promise on the thread of JavaScript. If the environment ends first, Node waits for the
//!    job, and `complete` only drops its reply.
//!
//! Invariant: the data pointer of the work is its box, which `spawn` gives to Node and `complete` takes back. Node
//! calls `execute` and then `complete` once each; if the environment ends before the job began, only `complete`.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::bytes::bytes_of;
use crate::node_api::env::{Env, Value};
use crate::node_api::status::checked;
use napi_sys as sys;
use std::ffi::c_void;
use std::ptr;
use varve_bindings::{Failure, Result, answer, guarded};

type Job = Box<dyn FnOnce() -> Reply + Send>;

/// What a task answers.
pub(crate) enum Reply {
    /// JSON.
    Text(String),
    Bytes(Vec<u8>),
    /// An object that is made on the thread of JavaScript.
    Object(Box<dyn FnOnce(Env) -> Result<Value> + Send>),
}

impl Reply {
    /// JSON of a failure.
    pub(crate) fn failed(failure: Box<Failure>) -> Self {
        Self::Text(answer::<()>(Err(failure)))
    }

    fn into_value(self, env: Env) -> Result<Value> {
        match self {
            Self::Text(json) => text_of(env, &json),
            Self::Bytes(bytes) => bytes_of(env, bytes),
            Self::Object(make) => make(env),
        }
    }
}

/// A job for another thread.
pub(crate) struct Task {
    job: Job,
}

impl Task {
    /// A panic of `job` becomes a failure.
    pub(crate) fn new(job: impl FnOnce() -> Reply + Send + 'static) -> Self {
        Self { job: Box::new(job) }
    }
}

struct Work {
    /// `None` once it ran.
    job: Option<Job>,
    /// `None` until it ran.
    reply: Option<Reply>,
    deferred: sys::napi_deferred,
    handle: sys::napi_async_work,
}

/// A string of JavaScript.
pub(super) fn text_of(env: Env, text: &str) -> Result<Value> {
    let mut value = ptr::null_mut();
    let (data, length) = (text.as_ptr().cast(), text.len() as isize);
    // SAFETY: `env` is the current environment; the text is copied.
    checked(
        unsafe { sys::napi_create_string_utf8(env.0, data, length, &raw mut value) },
        "make a string",
    )?;
    Ok(value)
}

/// Queues the job; its promise.
pub(super) fn spawn(env: Env, task: Task) -> Result<Value> {
    let (mut promise, mut deferred, name) =
        (ptr::null_mut(), ptr::null_mut(), text_of(env, "varve")?);
    // SAFETY: `env` is the current environment, the others are places for the results.
    checked(
        unsafe { sys::napi_create_promise(env.0, &raw mut deferred, &raw mut promise) },
        "make a promise",
    )?;
    let work =
        Box::new(Work { job: Some(task.job), reply: None, deferred, handle: ptr::null_mut() });
    let data = Box::into_raw(work);
    // SAFETY: the handles are of this callback. `data` is valid until `complete` takes it back; only a work that was
    // queued is completed, so it is taken back here if that fails.
    unsafe {
        let (place, own) = (&raw mut (*data).handle, data.cast::<c_void>());
        let created = sys::napi_create_async_work(
            env.0,
            promise,
            name,
            Some(execute),
            Some(complete),
            own,
            place,
        );
        let queued = if created == sys::Status::napi_ok {
            sys::napi_queue_async_work(env.0, (*data).handle)
        } else {
            created
        };
        if queued != sys::Status::napi_ok {
            let work = Box::from_raw(data);
            if created == sys::Status::napi_ok {
                sys::napi_delete_async_work(env.0, work.handle);
            }
        }
        checked(queued, "start a task")?;
    }
    Ok(promise)
}

// SAFETY: only Node-API calls it, with the data of a queued work.
unsafe extern "C" fn execute(_env: sys::napi_env, data: *mut c_void) {
    // SAFETY: the invariant: nothing else uses the work until this returns.
    let work = unsafe { &mut *data.cast::<Work>() };
    work.reply = work.job.take().map(|job| guarded(|| Ok(job())).unwrap_or_else(Reply::failed));
}

// SAFETY: only Node-API calls it, with the data of a queued work.
unsafe extern "C" fn complete(env: sys::napi_env, _status: sys::napi_status, data: *mut c_void) {
    // SAFETY: the invariant: this is the last call for the work.
    let mut work = unsafe { Box::from_raw(data.cast::<Work>()) };
    let (handle, deferred) = (work.handle, work.deferred);
    if let Some(reply) = work.reply.take() {
        let value = guarded(|| reply.into_value(Env(env)));
        if let Ok(value) = value.or_else(|failure| Reply::failed(failure).into_value(Env(env))) {
            // SAFETY: a deferred is settled once, with a handle of this callback. It fails if the environment ends.
            unsafe { sys::napi_resolve_deferred(env, deferred, value) };
        }
    }
    // A job that never ran, because the environment ended first, is dropped with what it owns: that may panic.
    let _ = guarded(|| {
        drop(work);
        Ok(())
    });
    // SAFETY: the work is complete.
    unsafe { sys::napi_delete_async_work(env, handle) };
}
