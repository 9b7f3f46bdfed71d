//! The status that every function of Node-API returns.

use napi::sys;
use varve_bindings::{Failure, Result};

/// `task` is what the function does, for the message of the failure.
pub(super) fn checked(status: sys::napi_status, task: &str) -> Result<()> {
    if status == sys::Status::napi_ok {
        return Ok(());
    }
    Err(Failure::argument(format!("cannot {task}: Node-API status {status}")))
}
