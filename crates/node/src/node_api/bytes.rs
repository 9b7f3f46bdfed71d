//! Bytes of Rust as a Uint8Array.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::env::{Env, Value};
use crate::node_api::status::checked;
use napi_sys as sys;
use std::ffi::c_void;
use std::ptr;
use varve_bindings::Result;

/// A Uint8Array over these very bytes; a copy if the host does not accept foreign memory.
pub(super) fn bytes_of(env: Env, bytes: Vec<u8>) -> Result<Value> {
    let (length, mut view) = (bytes.len(), ptr::null_mut());
    let buffer = if bytes.is_empty() { copied(env, &bytes)? } else { shared(env, bytes)? };
    let kind = sys::TypedarrayType::uint8_array;
    // SAFETY: `buffer` is a handle of this callback with `length` bytes.
    let status =
        unsafe { sys::napi_create_typedarray(env.0, kind, length, buffer, 0, &raw mut view) };
    checked(status, "make a Uint8Array")?;
    Ok(view)
}

/// An ArrayBuffer over the bytes, which are not empty.
fn shared(env: Env, bytes: Vec<u8>) -> Result<Value> {
    let mut buffer = ptr::null_mut();
    let owner = Box::into_raw(Box::new(bytes));
    // SAFETY: the box owns the bytes until `free` drops it. If this fails it leaks, because the host may have freed it.
    let status = unsafe {
        let (data, length) = ((*owner).as_mut_ptr().cast(), (*owner).len());
        sys::napi_create_external_arraybuffer(
            env.0,
            data,
            length,
            Some(free),
            owner.cast(),
            &raw mut buffer,
        )
    };
    if status == sys::Status::napi_no_external_buffers_allowed {
        // SAFETY: the host refused the bytes, so they are still owned here.
        return copied(env, &unsafe { Box::from_raw(owner) });
    }
    checked(status, "make an ArrayBuffer")?;
    Ok(buffer)
}

fn copied(env: Env, bytes: &[u8]) -> Result<Value> {
    let (mut target, mut buffer) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: `env` is the current environment, the others are places for the results.
    let status = unsafe {
        sys::napi_create_arraybuffer(env.0, bytes.len(), &raw mut target, &raw mut buffer)
    };
    checked(status, "make an ArrayBuffer")?;
    if !bytes.is_empty() {
        // SAFETY: the new buffer has as many bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), target.cast(), bytes.len()) };
    }
    Ok(buffer)
}

// SAFETY: only Node-API calls it, once, with the owner given to `napi_create_external_arraybuffer`.
unsafe extern "C" fn free(_env: sys::napi_env, _data: *mut c_void, owner: *mut c_void) {
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(owner.cast::<Vec<u8>>()) });
}
