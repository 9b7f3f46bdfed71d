//! The functions that run for each entry, by hand on Node-API. A call takes 20 to 30 ns, that of a method that
//! napi-derive makes 200, and a lock of the process (Node.js 20, AMD EPYC: bench/limits/javascript.md).
//!
//! One call:
//!
//! 1. `napi_get_cb_info` gives the arguments and the store, which is the data pointer of the function.
//! 2. The work runs inside the guard of the store, which catches panics.
//! 3. The answer becomes a value of JavaScript, or the failure is thrown as an Error with a `code`.
//!
//! Invariants:
//!
//! 1. The data pointer is an `Rc` of the store, one count for each function; the finalizer of the function gives it
//!    back.
//! 2. Everything here runs on the JavaScript thread that made the functions, in the environment of the running
//!    callback.
//! 3. No JavaScript runs while a slice of JavaScript memory is borrowed: what reads arguments runs none.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::answers::{refused, thrown};
use crate::store::OpenStore;
use napi::bindgen_prelude::{Env, FromNapiValue, JsError, JsValue, Object};
use napi::sys;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::rc::Rc;
use std::slice;
use varve_bindings::{Failure, PackedKeys, Result};
use varve_core::failpoints;

/// The answer of `find` for a key that `get` has to look up.
const UNFIT: i32 = -4;

/// Room for a key as text. V8 is quicker if there are three bytes for each unit of the string.
const TEXT_ROOM_BYTES: usize = 4096;

/// Longest UTF-8 of one character: with less room left, V8 may have omitted one.
const CHARACTER_BYTES_MAX: usize = 4;

// SAFETY: only Node-API calls it, with the current environment and its own arguments.
type Callback = unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value;

/// The callback of a function with that many arguments. Node-API takes a few nanoseconds for each.
macro_rules! callback {
    ($run:path, $count:literal) => {{
        // SAFETY: only Node-API calls it, with the arguments of a callback.
        unsafe extern "C" fn enter(
            env: sys::napi_env,
            info: sys::napi_callback_info,
        ) -> sys::napi_value {
            call::<$count>(env, info, $run)
        }
        enter
    }};
}

const FUNCTIONS: [(&CStr, Callback); 7] = [
    (c"get", callback!(get, 4)),
    (c"find", callback!(find, 1)),
    (c"read", callback!(read, 1)),
    (c"has", callback!(has, 2)),
    (c"put", callback!(put, 3)),
    (c"delete", callback!(delete, 2)),
    (c"getMany", callback!(get_many, 7)),
];

/// Looks the key in the scratch buffer up.
fn get(store: &OpenStore, arguments: &Arguments<4>) -> Result<Answer> {
    let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
    let start = arguments.number(3)?;
    store.with(|open| {
        // The key is copied first, because the value may overwrite it: the target may be the scratch buffer.
        open.handle.choose(namespace, key_bytes)?;
        arguments.write_bytes(2, start, |target| open.handle.read(target))?.map(Answer::Number)
    })
}

/// `get` of a string. The other numbers are in the cells: the namespace and where the value begins in the target, which
/// is the scratch buffer if that is below zero; then the answer.
fn find(store: &OpenStore, arguments: &Arguments<1>) -> Result<Answer> {
    store.with(|open| {
        let [namespace, start, _] = open.cells.read();
        let chosen =
            open.handle.choose_text(namespace as u32, |key| arguments.write_text(0, key))?;
        let found = match (usize::try_from(start), &mut open.target) {
            _ if !chosen => UNFIT,
            (Ok(start), Some(target)) => open.handle.read(target.room(start))?,
            (Ok(_), None) => open.handle.read(&mut [])?,
            (Err(_), _) => open.handle.read_to_scratch()?,
        };
        open.cells.answer(found);
        Ok(Answer::Nothing)
    })
}

/// Looks the key of the last call up again.
fn read(store: &OpenStore, arguments: &Arguments<1>) -> Result<Answer> {
    store.with(|open| {
        arguments.write_bytes(0, 0, |target| open.handle.read(target))?.map(Answer::Number)
    })
}

fn has(store: &OpenStore, arguments: &Arguments<2>) -> Result<Answer> {
    let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
    store.with(|open| open.handle.has(namespace, key_bytes)).map(Answer::Flag)
}

fn put(store: &OpenStore, arguments: &Arguments<3>) -> Result<Answer> {
    let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
    let value = arguments.bytes(2)?;
    store.with(|open| open.handle.put(namespace, key_bytes, value)).map(|()| Answer::Nothing)
}

fn delete(store: &OpenStore, arguments: &Arguments<2>) -> Result<Answer> {
    let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
    store.with(|open| open.handle.delete(namespace, key_bytes)).map(|()| Answer::Nothing)
}

fn get_many(store: &OpenStore, arguments: &Arguments<7>) -> Result<Answer> {
    let keys = PackedKeys { packed: arguments.bytes(1)?, ends: arguments.words(2)? };
    let (namespace, first) = (arguments.number(0)?, arguments.number(3)? as usize);
    let start = arguments.number(5)?;
    let read = |target: &mut [u8], lengths: &mut [i32]| {
        store.with(|open| open.handle.get_many(namespace, keys, first, target, lengths))
    };
    let answered = arguments.write_lengths(6, |lengths| {
        arguments.write_bytes(4, start, |target| read(target, lengths))
    })??;
    Ok(Answer::Number(answered? as i32))
}

/// What a function returns to JavaScript.
enum Answer {
    Nothing,
    Number(i32),
    Flag(bool),
}

/// The arguments of the running call. Missing ones are `undefined`.
struct Arguments<const COUNT: usize> {
    env: sys::napi_env,
    values: [sys::napi_value; COUNT],
}

impl<const COUNT: usize> Arguments<COUNT> {
    #[inline(always)]
    fn number(&self, index: usize) -> Result<u32> {
        let mut number = 0;
        // SAFETY: a handle of the running callback, and a place for the number.
        let status =
            unsafe { sys::napi_get_value_uint32(self.env, self.values[index], &raw mut number) };
        checked(status, "read a number")?;
        Ok(number)
    }

    /// Writes the UTF-8 of a string to `target`, with U+FFFD for each lone surrogate; false if it is too long for that.
    #[inline(always)]
    fn write_text(&self, index: usize, target: &mut Vec<u8>) -> Result<bool> {
        target.clear();
        target.reserve(TEXT_ROOM_BYTES);
        let (value, text, mut written) = (self.values[index], target.as_mut_ptr().cast(), 0);
        // SAFETY: a handle of the running callback, room for the string and its zero, and a place for its length.
        unsafe {
            let length = &raw mut written;
            let status =
                sys::napi_get_value_string_utf8(self.env, value, text, TEXT_ROOM_BYTES, length);
            checked(status, "read a string")?;
            target.set_len(written.min(TEXT_ROOM_BYTES));
        }
        Ok(written + CHARACTER_BYTES_MAX < TEXT_ROOM_BYTES)
    }

    /// The bytes of a Uint8Array or Buffer. They may lie in the scratch buffer; then both are only read.
    #[inline(always)]
    fn bytes(&self, index: usize) -> Result<&[u8]> {
        let (data, length) = self.buffer(index)?;
        // SAFETY: the array lives as long as the callback runs, and nothing writes to it meanwhile.
        Ok(unsafe { slice::from_raw_parts(data, length) })
    }

    /// Writes to the bytes of a Uint8Array from `start` on.
    #[inline(always)]
    fn write_bytes<T>(
        &self,
        index: usize,
        start: u32,
        write: impl FnOnce(&mut [u8]) -> T,
    ) -> Result<T> {
        let (data, length) = self.buffer(index)?;
        // SAFETY: as in `bytes`, and this is the only slice of its memory while `write` runs: no call passes memory of a
        // target as another argument, and those that may write to the scratch buffer read it before.
        let target = unsafe { slice::from_raw_parts_mut(data, length) };
        Ok(write(target.get_mut(start as usize..).unwrap_or_default()))
    }

    /// Writes to the numbers of an Int32Array.
    fn write_lengths<T>(&self, index: usize, write: impl FnOnce(&mut [i32]) -> T) -> Result<T> {
        // SAFETY: a handle of the running callback; as in `write_bytes`.
        let lengths = unsafe { <&mut [i32]>::from_napi_value(self.env, self.values[index]) };
        Ok(write(lengths.map_err(refused)?))
    }

    /// The words of a Uint32Array.
    fn words(&self, index: usize) -> Result<&[u32]> {
        // SAFETY: a handle of the running callback; as in `bytes`.
        unsafe { <&[u32]>::from_napi_value(self.env, self.values[index]) }.map_err(refused)
    }

    /// Never at a null pointer, also for an empty or detached array.
    #[inline(always)]
    fn buffer(&self, index: usize) -> Result<(*mut u8, usize)> {
        let (mut data, mut length) = (ptr::null_mut(), 0);
        let (value, data_at, length_at) = (self.values[index], &raw mut data, &raw mut length);
        // SAFETY: a handle of the running callback, and places for data and length.
        let status = unsafe { sys::napi_get_buffer_info(self.env, value, data_at, length_at) };
        checked(status, "read a Uint8Array")?;
        if data.is_null() || length == 0 {
            return Ok((ptr::NonNull::dangling().as_ptr(), 0));
        }
        Ok((data.cast(), length))
    }
}

/// Inlined, because every call from JavaScript checks a few. `task` is what the function does, for the message of the
/// failure.
#[inline(always)]
fn checked(status: sys::napi_status, task: &str) -> Result<()> {
    if status == sys::Status::napi_ok { Ok(()) } else { Err(failed(status, task)) }
}

#[cold]
#[inline(never)]
fn failed(status: sys::napi_status, task: &str) -> Box<Failure> {
    Failure::argument(format!("cannot {task}: Node-API status {status}"))
}

/// All steps of a call.
#[inline(always)]
fn call<const COUNT: usize>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    run: impl FnOnce(&OpenStore, &Arguments<COUNT>) -> Result<Answer>,
) -> sys::napi_value {
    let (mut values, mut count, mut data) = ([ptr::null_mut(); COUNT], COUNT, ptr::null_mut());
    let (count_at, this) = (&raw mut count, ptr::null_mut());
    // SAFETY: `info` belongs to the running callback; `values` has room for `count` handles. Invariant 1: the running
    // function holds a count of the store.
    let store = unsafe {
        sys::napi_get_cb_info(env, info, count_at, values.as_mut_ptr(), this, &raw mut data);
        data.cast::<OpenStore>().as_ref()
    };
    let Some(store) = store else { return ptr::null_mut() };
    let answered = store.guarded(|| {
        failpoints::panics("callback");
        value_of(env, run(store, &Arguments { env, values })?)
    });
    answered.unwrap_or_else(|failure| {
        // SAFETY: the environment of the running callback.
        unsafe { JsError::from(thrown(failure)).throw_into(env) };
        ptr::null_mut()
    })
}

#[inline(always)]
fn value_of(env: sys::napi_env, answer: Answer) -> Result<sys::napi_value> {
    failpoints::panics("answer");
    let mut value = ptr::null_mut();
    // SAFETY: the environment of the running callback, and a place for one handle.
    let status = unsafe {
        match answer {
            // No handle is `undefined`.
            Answer::Nothing => return Ok(value),
            Answer::Number(number) => sys::napi_create_int32(env, number, &raw mut value),
            Answer::Flag(flag) => sys::napi_get_boolean(env, flag, &raw mut value),
        }
    };
    checked(status, "make the answer").map(|()| value)
}

/// Adds all functions to an object. They are defined, because an assignment would call a setter that the program added to
/// `Object.prototype`.
pub(crate) fn add(env: &Env, object: &Object<'_>, store: &Rc<OpenStore>) -> Result<()> {
    use sys::PropertyAttributes::{configurable, enumerable, writable};
    let (env, object) = (env.raw(), object.raw());
    for (name, callback) in FUNCTIONS {
        let (mut function, data) = (ptr::null_mut(), Rc::into_raw(Rc::clone(store)));
        let (data, none) = (data.cast_mut().cast::<c_void>(), ptr::null_mut());
        let (text, length) = (name.as_ptr(), name.count_bytes() as isize);
        // SAFETY: the environment and a handle of the running callback; names and the descriptor are copied. `data` holds
        // one count of the store, which the finalizer gives back. If a call fails the count leaks, which keeps `data`
        // valid for the function.
        unsafe {
            let at = &raw mut function;
            let status = sys::napi_create_function(env, text, length, Some(callback), data, at);
            checked(status, "make a function")?;
            let hint = ptr::null_mut();
            let status = sys::napi_add_finalizer(env, function, data, Some(release), hint, none);
            checked(status, "watch a function")?;
            let property = sys::napi_property_descriptor {
                utf8name: text,
                name: ptr::null_mut(),
                method: None,
                getter: None,
                setter: None,
                value: function,
                attributes: writable | enumerable | configurable,
                data: ptr::null_mut(),
            };
            let status = sys::napi_define_properties(env, object, 1, &raw const property);
            checked(status, "add a function")?;
        }
    }
    Ok(())
}

/// Gives back the count of a function that the garbage collector has freed.
// SAFETY: only Node-API calls it, once, with the data pointer given to `napi_add_finalizer`.
unsafe extern "C" fn release(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: invariant 1.
    let store = unsafe { Rc::from_raw(data.cast::<OpenStore>()) };
    store.release();
}
