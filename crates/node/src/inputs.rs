//! Inputs of results, checked against the present: `varve_disk::check_inputs`, on this thread and the pool, or without
//! this thread.

use crate::answers::{Bytes, Job, Promise, Result, thrown};
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use varve_bindings::{Failure, Guard, guarded};

/// The numbers of the inputs that are not known to be unchanged. Throws unless this is a packed set.
#[napi(catch_unwind)]
pub fn check_inputs(rows: String, stamps: &[f64], until_change: bool) -> Result<Uint8Array> {
    check(&rows, stamps, until_change).map(Into::into).map_err(thrown)
}

/// The numbers of the inputs that are not known to be unchanged, found on another thread.
#[napi(catch_unwind)]
pub fn check_inputs_async(rows: String, stamps: &[f64], until_change: bool) -> Promise<Bytes> {
    let stamps = stamps.to_vec();
    Job::promise(Guard::default(), move || check(&rows, &stamps, until_change))
}

fn check(rows: &str, stamps: &[f64], until_change: bool) -> varve_bindings::Result<Vec<u8>> {
    let checked = || varve_disk::check_inputs(rows, stamps, until_change);
    guarded(|| checked().ok_or_else(|| Failure::argument("a set of inputs is not packed")))
}
