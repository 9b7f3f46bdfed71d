//! Memory that JavaScript and the addon share: the scratch buffer and the numbers of a call, which all open stores of
//! an environment use in turn, and where the values of a store go.
//!
//! Each has a reference, which keeps it alive. JavaScript does not run while a callback does, and passes the first two
//! to no one, so that nothing detaches them.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::status::checked;
use napi_sys as sys;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::slice;
use varve_bindings::Result;

const SCRATCH_BYTES: usize = 128 << 10;

/// Numbers that a call passes in memory, because Node-API takes longer for an argument or an answer.
const CELLS: usize = 3;

/// Memory that JavaScript owns and both sides read and write in turn.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    _kept: Rc<Reference>,
    data: *mut u8,
}

impl Scratch {
    /// Makes the buffer; the second value is its Uint8Array.
    pub(super) fn new(env: sys::napi_env) -> Result<(Self, sys::napi_value)> {
        let memory =
            Memory::new(env, sys::TypedarrayType::uint8_array, SCRATCH_BYTES, SCRATCH_BYTES)?;
        Ok((Self { _kept: Rc::new(memory.reference), data: memory.data.cast() }, memory.view))
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

/// The numbers of a call, which JavaScript writes before it and reads after it.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    _kept: Rc<Reference>,
    data: *mut [i32; CELLS],
}

impl Cells {
    /// Makes the numbers; the second value is their Int32Array.
    pub(super) fn new(env: sys::napi_env) -> Result<(Self, sys::napi_value)> {
        let memory =
            Memory::new(env, sys::TypedarrayType::int32_array, size_of::<[i32; CELLS]>(), CELLS)?;
        Ok((Self { _kept: Rc::new(memory.reference), data: memory.data.cast() }, memory.view))
    }

    /// What JavaScript wrote.
    #[inline(always)]
    pub(crate) fn read(&self) -> [i32; CELLS] {
        // SAFETY: the reference keeps the memory alive, which is aligned as an ArrayBuffer is. JavaScript does not run.
        unsafe { *self.data }
    }

    /// Leaves the last number for JavaScript.
    #[inline(always)]
    pub(crate) fn answer(&self, number: i32) {
        // SAFETY: as above.
        unsafe { (*self.data)[CELLS - 1] = number };
    }
}

/// A Uint8Array into which lookups write values, until JavaScript names another one.
#[derive(Debug)]
pub(crate) struct Target {
    _kept: Reference,
    data: *mut u8,
    length: usize,
}

impl Target {
    /// `array` is a handle of the running callback, over `length` bytes at `data`.
    pub(super) fn new(
        env: sys::napi_env,
        array: sys::napi_value,
        data: *mut u8,
        length: usize,
    ) -> Result<Self> {
        Ok(Self { _kept: Reference::new(env, array)?, data, length })
    }

    /// Its bytes from `start` on; none if it is shorter.
    #[inline(always)]
    pub(crate) fn room(&mut self, start: usize) -> &mut [u8] {
        // SAFETY: the reference keeps the memory alive. Its caller may detach it, so JavaScript looks at its length
        // directly before each call, and then names no start inside it. While a callback runs, this is the only slice.
        let all = unsafe { slice::from_raw_parts_mut(self.data, self.length) };
        all.get_mut(start..).unwrap_or_default()
    }
}

/// Keeps a value of JavaScript alive.
#[derive(Debug)]
pub(super) struct Reference {
    env: sys::napi_env,
    raw: sys::napi_ref,
}

impl Reference {
    /// `value` is a handle of the running callback.
    pub(super) fn new(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: `env` is the current environment, `value` a handle of it.
        checked(
            unsafe { sys::napi_create_reference(env, value, 1, &raw mut raw) },
            "keep a value",
        )?;
        Ok(Self { env, raw })
    }

    /// A handle of the running callback.
    pub(super) fn value(&self) -> Result<sys::napi_value> {
        let mut value = ptr::null_mut();
        // SAFETY: the reference exists until it is dropped, and so does `env`.
        checked(
            unsafe { sys::napi_get_reference_value(self.env, self.raw, &raw mut value) },
            "find a value",
        )?;
        Ok(value)
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // SAFETY: dropped by a finalizer or a callback, both on the thread of `env` while it exists.
        unsafe { sys::napi_delete_reference(self.env, self.raw) };
    }
}

/// A new ArrayBuffer with a view of it.
struct Memory {
    reference: Reference,
    data: *mut c_void,
    view: sys::napi_value,
}

impl Memory {
    fn new(env: sys::napi_env, kind: i32, bytes: usize, length: usize) -> Result<Self> {
        let (mut data, mut buffer) = (ptr::null_mut(), ptr::null_mut());
        let mut view = ptr::null_mut();
        // SAFETY: `env` is the current environment, the others are places for the results of each call; a failed call
        // leaves them null, which the next one refuses.
        unsafe {
            let status = sys::napi_create_arraybuffer(env, bytes, &raw mut data, &raw mut buffer);
            checked(status, "make shared memory")?;
            let status = sys::napi_create_typedarray(env, kind, length, buffer, 0, &raw mut view);
            checked(status, "make shared memory")?;
        }
        Ok(Self { reference: Reference::new(env, buffer)?, data, view })
    }
}
