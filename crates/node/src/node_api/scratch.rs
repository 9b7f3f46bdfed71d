//! The scratch buffer of a session.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::status::checked;
use napi_sys as sys;
use std::ptr;
use std::slice;
use varve_bindings::Result;

const SCRATCH_BYTES: usize = 128 << 10;

/// Memory that JavaScript owns and both sides read and write in turn. A reference keeps it alive; the TypeScript side
/// marks it as not transferable, so that it cannot be detached either.
#[derive(Debug)]
pub(crate) struct Scratch {
    env: sys::napi_env,
    reference: sys::napi_ref,
    data: *mut u8,
}

impl Scratch {
    /// Makes the buffer; the second value is its Uint8Array.
    pub(super) fn new(env: sys::napi_env) -> Result<(Self, sys::napi_value)> {
        let (mut data, mut buffer) = (ptr::null_mut(), ptr::null_mut());
        let (mut view, mut reference) = (ptr::null_mut(), ptr::null_mut());
        let kind = sys::TypedarrayType::uint8_array;
        // SAFETY: `env` is the current environment, the others are places for the results of each call; a failed call
        // leaves them null, which the next one refuses.
        unsafe {
            let status = sys::napi_create_arraybuffer(env, SCRATCH_BYTES, &raw mut data, &raw mut buffer);
            checked(status, "make the scratch buffer")?;
            let status = sys::napi_create_typedarray(env, kind, SCRATCH_BYTES, buffer, 0, &raw mut view);
            checked(status, "make the scratch buffer")?;
            checked(sys::napi_create_reference(env, buffer, 1, &raw mut reference), "keep the scratch buffer")?;
        }
        Ok((Self { env, reference, data: data.cast() }, view))
    }
}

impl AsRef<[u8]> for Scratch {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the reference keeps the memory alive, and JavaScript does not run while a callback does.
        unsafe { slice::from_raw_parts(self.data, SCRATCH_BYTES) }
    }
}

impl AsMut<[u8]> for Scratch {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `get`, the only caller, has no other slice of JavaScript memory.
        unsafe { slice::from_raw_parts_mut(self.data, SCRATCH_BYTES) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: dropped by a finalizer or a callback, both on the thread of `env` while it exists.
        unsafe { sys::napi_delete_reference(self.env, self.reference) };
    }
}
