//! The status that every function of Node-API returns.

use napi_sys as sys;
use varve_bindings::{Failure, Result};

/// Inlined, because every call from JavaScript checks a few. `task` is what the function does, for the message of the
/// failure.
#[inline(always)]
pub(super) fn checked(status: sys::napi_status, task: &str) -> Result<()> {
    if status == sys::Status::napi_ok { Ok(()) } else { Err(failed(status, task)) }
}

#[cold]
#[inline(never)]
fn failed(status: sys::napi_status, task: &str) -> Box<Failure> {
    Failure::argument(format!("cannot {task}: Node-API status {status}"))
}
