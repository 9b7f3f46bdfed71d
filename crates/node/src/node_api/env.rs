//! The environment and the values of JavaScript, as the rest of the crate passes them on.
#![expect(unsafe_code, reason = "a callback promises which environment is the current one")]

use napi_sys as sys;

/// The environment of the running callback.
#[derive(Clone, Copy)]
pub(crate) struct Env(pub(super) sys::napi_env);

/// A handle of the running callback.
pub(crate) type Value = sys::napi_value;

impl Env {
    /// # Safety
    ///
    /// It must be the environment of the running callback.
    // SAFETY: the caller promises it.
    pub(crate) unsafe fn current(env: sys::napi_env) -> Self {
        Self(env)
    }
}
