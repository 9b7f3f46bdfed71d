//! What a call answers, as a value of JavaScript.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::env::{Env, Value};
use crate::node_api::status::checked;
use crate::node_api::task::{Task, spawn, text_of};
use napi_sys as sys;
use std::ptr;
use varve_bindings::Result;
use varve_core::failpoints;

/// What a call returns to JavaScript.
pub(crate) enum Answer {
    Nothing,
    Number(i32),
    /// A count of bytes; exact up to 2^53.
    Count(u64),
    Flag(bool),
    Text(String),
    Object(Value),
    /// A promise of what the task answers.
    Promise(Task),
}

impl Answer {
    pub(super) fn into_value(self, env: Env) -> Result<Value> {
        failpoints::panics("answer");
        let mut value = ptr::null_mut();
        // SAFETY: `env` is the environment of the running callback, `value` a place for one handle.
        let status = unsafe {
            match self {
                // No handle is `undefined`.
                Self::Nothing => return Ok(value),
                Self::Number(number) => sys::napi_create_int32(env.0, number, &raw mut value),
                Self::Count(count) => sys::napi_create_double(env.0, count as f64, &raw mut value),
                Self::Flag(flag) => sys::napi_get_boolean(env.0, flag, &raw mut value),
                Self::Text(text) => return text_of(env, &text),
                Self::Object(object) => return Ok(object),
                Self::Promise(task) => return spawn(env, task),
            }
        };
        checked(status, "make the answer").map(|()| value)
    }
}
