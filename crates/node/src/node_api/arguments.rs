//! The arguments of a synchronous call from JavaScript.
//!
//! No JavaScript runs while a slice of JavaScript memory is borrowed: Node-API calls that read arguments run none.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::env::Env;
use crate::node_api::scratch::Target;
use crate::node_api::status::checked;
use napi_sys as sys;
use std::ffi::c_void;
use std::ptr;
use std::slice;
use varve_bindings::{Failure, Result};

/// Most arguments of a call.
pub(crate) const ARGUMENTS_MAX: usize = 7;

/// Room for a key that `write_text` takes. V8 is quicker if there are three bytes for each unit of the string.
const TEXT_ROOM_BYTES: usize = 4096;

/// Longest UTF-8 of one character: with less room left, V8 may have omitted one.
const CHARACTER_BYTES_MAX: usize = 4;

/// The arguments of the running call. Missing ones are `undefined`.
pub(crate) struct Arguments {
    env: sys::napi_env,
    values: [sys::napi_value; ARGUMENTS_MAX],
}

impl Arguments {
    /// `values` are handles of the callback that runs in `env`.
    pub(crate) fn new(env: sys::napi_env, values: [sys::napi_value; ARGUMENTS_MAX]) -> Self {
        Self { env, values }
    }

    pub(crate) fn env(&self) -> Env {
        Env(self.env)
    }

    #[inline(always)]
    pub(crate) fn number(&self, index: usize) -> Result<u32> {
        let mut number = 0;
        // SAFETY: a handle of the running callback, and a place for the number.
        checked(
            unsafe { sys::napi_get_value_uint32(self.env, self.values[index], &raw mut number) },
            "read a number",
        )?;
        Ok(number)
    }

    /// A whole number of milliseconds or bytes.
    pub(crate) fn count(&self, index: usize) -> Result<u64> {
        let mut number = 0.0;
        // SAFETY: a handle of the running callback, and a place for the number.
        checked(
            unsafe { sys::napi_get_value_double(self.env, self.values[index], &raw mut number) },
            "read a number",
        )?;
        Ok(number as u64)
    }

    pub(crate) fn big(&self, index: usize) -> Result<u64> {
        let (mut number, mut lossless) = (0, false);
        let (value, number_at, lossless_at) =
            (self.values[index], &raw mut number, &raw mut lossless);
        // SAFETY: a handle of the running callback, and places for the number and whether it fits.
        let status =
            unsafe { sys::napi_get_value_bigint_uint64(self.env, value, number_at, lossless_at) };
        checked(status, "read a bigint")?;
        Ok(number)
    }

    pub(crate) fn flag(&self, index: usize) -> Result<bool> {
        let mut flag = false;
        // SAFETY: a handle of the running callback, and a place for the flag.
        checked(
            unsafe { sys::napi_get_value_bool(self.env, self.values[index], &raw mut flag) },
            "read a boolean",
        )?;
        Ok(flag)
    }

    pub(crate) fn text(&self, index: usize) -> Result<String> {
        let (value, mut length) = (self.values[index], 0);
        // SAFETY: a handle of the running callback; without a buffer only the length is written.
        let status = unsafe {
            sys::napi_get_value_string_utf8(self.env, value, ptr::null_mut(), 0, &raw mut length)
        };
        checked(status, "read a string")?;
        let mut bytes = vec![0u8; length + 1];
        let (target, room) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: `target` has room for the bytes of the string and the zero that Node-API adds.
        let status = unsafe {
            sys::napi_get_value_string_utf8(self.env, value, target, room, &raw mut length)
        };
        checked(status, "read a string")?;
        bytes.truncate(length);
        String::from_utf8(bytes).map_err(|_| Failure::argument("a string is not valid UTF-8"))
    }

    /// Writes the UTF-8 of a string to `target`, with U+FFFD for each lone surrogate; false if it is too long for that.
    #[inline(always)]
    pub(crate) fn write_text(&self, index: usize, target: &mut Vec<u8>) -> Result<bool> {
        target.clear();
        target.reserve(TEXT_ROOM_BYTES);
        let (text, room, mut written) = (target.as_mut_ptr().cast(), TEXT_ROOM_BYTES, 0);
        // SAFETY: a handle of the running callback, room for the string and its zero, and a place for its length.
        unsafe {
            let status = sys::napi_get_value_string_utf8(
                self.env,
                self.values[index],
                text,
                room,
                &raw mut written,
            );
            checked(status, "read a string")?;
            target.set_len(written.min(room));
        }
        Ok(written + CHARACTER_BYTES_MAX < room)
    }

    /// A Uint8Array into which later calls write.
    pub(crate) fn target(&self, index: usize) -> Result<Target> {
        let (data, length) = self.buffer(index)?;
        Target::new(self.env, self.values[index], data, length)
    }

    /// The bytes of a Uint8Array or Buffer. They may lie in the scratch buffer; then both are only read.
    #[inline(always)]
    pub(crate) fn bytes(&self, index: usize) -> Result<&[u8]> {
        let (data, length) = self.buffer(index)?;
        // SAFETY: the array lives as long as the callback runs, and nothing writes to it meanwhile, because no
        // JavaScript runs.
        Ok(unsafe { slice::from_raw_parts(data, length) })
    }

    /// The same, or nothing for `null` and `undefined`.
    pub(crate) fn optional_bytes(&self, index: usize) -> Result<Option<&[u8]>> {
        let mut kind = 0;
        // SAFETY: a handle of the running callback, and a place for the type.
        checked(
            unsafe { sys::napi_typeof(self.env, self.values[index], &raw mut kind) },
            "read a type",
        )?;
        let is_missing =
            kind == sys::ValueType::napi_null || kind == sys::ValueType::napi_undefined;
        if is_missing { Ok(None) } else { self.bytes(index).map(Some) }
    }

    /// Writes to the bytes of a Uint8Array from `start` on.
    #[inline(always)]
    pub(crate) fn write_bytes<T>(
        &self,
        index: usize,
        start: u32,
        write: impl FnOnce(&mut [u8]) -> T,
    ) -> Result<T> {
        let (data, length) = self.buffer(index)?;
        // SAFETY: the array lives as long as the callback runs, and this is the only slice of its memory while `write`
        // runs: no call passes memory of a target as another argument, and those that may write to the scratch buffer
        // read it before.
        let target = unsafe { slice::from_raw_parts_mut(data, length) };
        Ok(write(target.get_mut(start as usize..).unwrap_or_default()))
    }

    /// Writes to the numbers of an Int32Array.
    pub(crate) fn write_lengths<T>(
        &self,
        index: usize,
        write: impl FnOnce(&mut [i32]) -> T,
    ) -> Result<T> {
        let (data, length) = self.typed(index, sys::TypedarrayType::int32_array)?;
        if length == 0 {
            return Ok(write(&mut []));
        }
        // SAFETY: as in `write_bytes`; an Int32Array is aligned to its numbers.
        Ok(write(unsafe { slice::from_raw_parts_mut(data.cast(), length) }))
    }

    /// The words of a Uint32Array.
    #[inline(always)]
    pub(crate) fn words(&self, index: usize) -> Result<&[u32]> {
        let (data, length) = self.typed(index, sys::TypedarrayType::uint32_array)?;
        if length == 0 {
            return Ok(&[]);
        }
        // SAFETY: as in `bytes`; a Uint32Array is aligned to its words.
        Ok(unsafe { slice::from_raw_parts(data.cast(), length) })
    }

    /// The elements of a typed array of this kind; a null pointer only if there are none.
    fn typed(&self, index: usize, expected: i32) -> Result<(*mut c_void, usize)> {
        let (mut kind, mut length, mut data) = (0, 0, ptr::null_mut());
        let (value, unset) = (self.values[index], ptr::null_mut());
        // SAFETY: a handle of the running callback, places for kind, length and data; the last two are not needed.
        let status = unsafe {
            let (kind, length, data) = (&raw mut kind, &raw mut length, &raw mut data);
            sys::napi_get_typedarray_info(
                self.env,
                value,
                kind,
                length,
                data,
                unset,
                ptr::null_mut(),
            )
        };
        checked(status, "read a typed array")?;
        if kind != expected {
            return Err(Failure::argument("expected a typed array of another kind"));
        }
        Ok(if data.is_null() { (data, 0) } else { (data, length) })
    }

    /// Never a null pointer, also for an empty or detached array.
    #[inline(always)]
    fn buffer(&self, index: usize) -> Result<(*mut u8, usize)> {
        let (mut data, mut length) = (ptr::null_mut(), 0);
        // SAFETY: a handle of the running callback, and places for data and length.
        let status = unsafe {
            sys::napi_get_buffer_info(self.env, self.values[index], &raw mut data, &raw mut length)
        };
        checked(status, "read a Uint8Array")?;
        if data.is_null() || length == 0 {
            return Ok((ptr::NonNull::dangling().as_ptr(), 0));
        }
        Ok((data.cast(), length))
    }
}
