//! What a call answers, as a value of JavaScript.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::status::checked;
use crate::node_api::task::Task;
use napi::{Env, JsValue, sys};
use std::ptr;
use varve_bindings::{Failure, Result};
use varve_core::failpoints;

/// What a call returns to JavaScript.
pub(crate) enum Answer {
    Nothing,
    Number(i32),
    /// A count of bytes; exact up to 2^53.
    Count(u64),
    Flag(bool),
    Text(String),
    /// A promise of what the task answers.
    Promise(Task),
}

impl Answer {
    pub(super) fn into_raw(self, env: sys::napi_env) -> Result<sys::napi_value> {
        failpoints::panics("answer");
        let mut value = ptr::null_mut();
        // SAFETY: `env` is the environment of the running callback, `value` a place for one handle; the text outlives
        // the call that copies it.
        let status = unsafe {
            match self {
                Self::Nothing => sys::napi_get_undefined(env, &raw mut value),
                Self::Number(number) => sys::napi_create_int32(env, number, &raw mut value),
                Self::Count(count) => sys::napi_create_double(env, count as f64, &raw mut value),
                Self::Flag(flag) => sys::napi_get_boolean(env, flag, &raw mut value),
                Self::Text(text) => {
                    sys::napi_create_string_utf8(env, text.as_ptr().cast(), text.len() as isize, &raw mut value)
                }
                Self::Promise(task) => return spawn(env, task),
            }
        };
        checked(status, "make the answer").map(|()| value)
    }
}

fn spawn(env: sys::napi_env, task: Task) -> Result<sys::napi_value> {
    let promise = Env::from_raw(env).spawn(task).map_err(|error| Failure::internal(&error.reason))?;
    Ok(promise.promise_object().raw())
}
