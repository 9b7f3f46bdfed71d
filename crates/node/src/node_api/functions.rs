//! Synchronous calls from JavaScript, by hand on Node-API: 20-30 ns instead of the 200 ns and the process-wide mutex of
//! a derived method (TOOLCHAIN.md 2.2).
//!
//! One call: `napi_get_cb_info` gives the arguments and the context, which is the data pointer of the callback;
//! [`Call::run`] does the work inside [`Context::run`], which catches panics; the answer becomes a JavaScript value or
//! is thrown as an Error with a `code`.
//!
//! Invariants:
//! 1. The data pointer is an `Rc<Context>`, one count per function, given back by the function's finalizer.
//! 2. Everything here runs on the JavaScript thread that opened the session.
//! 3. No JavaScript runs while a slice of JavaScript memory is borrowed: Node-API calls that read arguments run none.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block says what it relies on")]

use crate::context::Context;
use crate::guard::guarded;
use crate::slow::Work;
use napi::bindgen_prelude::{ToNapiValue, TypeName, Uint8Array};
use napi::{Env, JsValue, ValueType, sys};
use std::ffi::{CString, c_void};
use std::ptr;
use std::rc::Rc;
use std::slice;
use varve_bindings::{Failure, Result};
use varve_core::failpoints;

const ARGUMENTS_MAX: usize = 3;
const SCRATCH_BYTES: usize = 128 << 10;

/// One synchronous function of a session.
pub(crate) trait Call {
    /// Its name in JavaScript.
    const NAME: &'static str;

    /// Does the work.
    fn run(context: &Context, arguments: &Arguments) -> Result<Answer>;
}

/// What a call returns to JavaScript.
pub(crate) enum Answer {
    Nothing,
    Number(i32),
    /// A count of bytes; exact up to 2^53.
    Count(u64),
    Flag(bool),
    Text(String),
    /// A promise of the JSON that the work answers with.
    Promise(Work),
}

impl Answer {
    fn into_raw(self, env: sys::napi_env) -> Result<sys::napi_value> {
        failpoints::panics("answer");
        let mut value = ptr::null_mut();
        // SAFETY: `env` is the environment of the running callback, `value` a place for one handle; the text outlives
        // the call that copies it.
        let status = unsafe {
            match self {
                Self::Nothing => sys::napi_get_undefined(env, &raw mut value),
                Self::Number(number) => sys::napi_create_int32(env, number, &raw mut value),
                Self::Count(count) => sys::napi_create_double(env, count as f64, &raw mut value),
                Self::Flag(flag) => sys::napi_get_boolean(env, flag, &raw mut value),
                Self::Text(text) => {
                    sys::napi_create_string_utf8(env, text.as_ptr().cast(), text.len() as isize, &raw mut value)
                }
                Self::Promise(work) => return spawn(env, work),
            }
        };
        checked(status, "make the answer").map(|()| value)
    }
}

fn spawn(env: sys::napi_env, work: Work) -> Result<sys::napi_value> {
    let promise = Env::from_raw(env).spawn(work).map_err(|error| Failure::internal(&error.reason))?;
    Ok(promise.promise_object().raw())
}

/// The arguments of the running call. Those not given are `undefined`.
pub(crate) struct Arguments {
    env: sys::napi_env,
    values: [sys::napi_value; ARGUMENTS_MAX],
}

impl Arguments {
    pub(crate) fn number(&self, index: usize) -> Result<u32> {
        let mut number = 0;
        // SAFETY: a handle of the running callback, and a place for the number.
        checked(unsafe { sys::napi_get_value_uint32(self.env, self.values[index], &raw mut number) }, "read a number")?;
        Ok(number)
    }

    /// A whole number of milliseconds or bytes.
    pub(crate) fn count(&self, index: usize) -> Result<u64> {
        let mut number = 0.0;
        // SAFETY: a handle of the running callback, and a place for the number.
        checked(unsafe { sys::napi_get_value_double(self.env, self.values[index], &raw mut number) }, "read a number")?;
        Ok(number as u64)
    }

    pub(crate) fn big(&self, index: usize) -> Result<u64> {
        let (mut number, mut lossless) = (0, false);
        let (value, number_at, lossless_at) = (self.values[index], &raw mut number, &raw mut lossless);
        // SAFETY: a handle of the running callback, and places for the number and whether it fitted.
        checked(
            unsafe { sys::napi_get_value_bigint_uint64(self.env, value, number_at, lossless_at) },
            "read a bigint",
        )?;
        Ok(number)
    }

    pub(crate) fn flag(&self, index: usize) -> Result<bool> {
        let mut flag = false;
        // SAFETY: a handle of the running callback, and a place for the flag.
        checked(unsafe { sys::napi_get_value_bool(self.env, self.values[index], &raw mut flag) }, "read a boolean")?;
        Ok(flag)
    }

    pub(crate) fn text(&self, index: usize) -> Result<String> {
        let (value, mut length) = (self.values[index], 0);
        // SAFETY: a handle of the running callback; without a buffer only the length is written.
        let status = unsafe { sys::napi_get_value_string_utf8(self.env, value, ptr::null_mut(), 0, &raw mut length) };
        checked(status, "read a string")?;
        let mut bytes = vec![0u8; length + 1];
        let (target, room) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: `target` has room for the bytes of the string and the zero that Node-API adds.
        let status = unsafe { sys::napi_get_value_string_utf8(self.env, value, target, room, &raw mut length) };
        checked(status, "read a string")?;
        bytes.truncate(length);
        String::from_utf8(bytes).map_err(|_| Failure::argument("a string is not valid UTF-8"))
    }

    /// The bytes of a Uint8Array or Buffer. They may lie in the scratch buffer; both are only read then.
    pub(crate) fn bytes(&self, index: usize) -> Result<&[u8]> {
        let (data, length) = self.buffer(index)?;
        // SAFETY: the array lives as long as the callback runs, and nothing writes to it meanwhile (invariant 3).
        Ok(unsafe { slice::from_raw_parts(data, length) })
    }

    /// Writes to the bytes of a Uint8Array.
    pub(crate) fn write_bytes<T>(&self, index: usize, write: impl FnOnce(&mut [u8]) -> T) -> Result<T> {
        let (data, length) = self.buffer(index)?;
        // SAFETY: the array lives as long as the callback runs, and this is the only slice of it: `Take` reads no other
        // argument and not the scratch buffer.
        Ok(write(unsafe { slice::from_raw_parts_mut(data, length) }))
    }

    /// The words of a Uint32Array.
    pub(crate) fn words(&self, index: usize) -> Result<&[u32]> {
        let (mut kind, mut length, mut data) = (0, 0, ptr::null_mut());
        let (value, unset) = (self.values[index], ptr::null_mut());
        // SAFETY: a handle of the running callback, places for kind, length and data; the last two are not wanted.
        let status = unsafe {
            let (kind, length, data) = (&raw mut kind, &raw mut length, &raw mut data);
            sys::napi_get_typedarray_info(self.env, value, kind, length, data, unset, ptr::null_mut())
        };
        checked(status, "read a Uint32Array")?;
        if kind != sys::TypedarrayType::uint32_array {
            return Err(Failure::argument("expected a Uint32Array"));
        }
        if length == 0 {
            return Ok(&[]);
        }
        // SAFETY: as in `bytes`; a Uint32Array is aligned to its words.
        Ok(unsafe { slice::from_raw_parts(data.cast(), length) })
    }

    /// Never a null pointer, also for an empty or detached array.
    fn buffer(&self, index: usize) -> Result<(*mut u8, usize)> {
        let (mut data, mut length) = (ptr::null_mut(), 0);
        // SAFETY: a handle of the running callback, and places for data and length.
        let status = unsafe { sys::napi_get_buffer_info(self.env, self.values[index], &raw mut data, &raw mut length) };
        checked(status, "read a Uint8Array")?;
        if data.is_null() || length == 0 {
            return Ok((ptr::NonNull::dangling().as_ptr(), 0));
        }
        Ok((data.cast(), length))
    }
}

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
    fn new(env: sys::napi_env) -> Result<(Self, sys::napi_value)> {
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

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the reference keeps the memory alive and JavaScript does not run while a callback does.
        unsafe { slice::from_raw_parts(self.data, SCRATCH_BYTES) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `Get`, the only caller, has no other slice of JavaScript memory.
        unsafe { slice::from_raw_parts_mut(self.data, SCRATCH_BYTES) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: dropped by a finalizer or a callback, both on the thread of `env` while it exists.
        unsafe { sys::napi_delete_reference(self.env, self.reference) };
    }
}

/// An object under construction: the functions of one session.
pub(crate) struct Functions {
    env: sys::napi_env,
    context: Rc<Context>,
    object: sys::napi_value,
}

impl Functions {
    /// An object with the property `scratch`, and the context that `context_of` makes of it.
    pub(crate) fn new(env: &Env, context_of: impl FnOnce(Scratch) -> Context) -> Result<Self> {
        let env = env.raw();
        let (scratch, view) = Scratch::new(env)?;
        let mut object = ptr::null_mut();
        // SAFETY: `env` is the current environment, `object` a place for one handle.
        checked(unsafe { sys::napi_create_object(env, &raw mut object) }, "make the session")?;
        // SAFETY: both handles were just made; the name ends with a zero.
        let status = unsafe { sys::napi_set_named_property(env, object, c"scratch".as_ptr(), view) };
        checked(status, "make the session")?;
        Ok(Self { env, context: Rc::new(context_of(scratch)), object })
    }

    /// Adds one function.
    pub(crate) fn add<C: Call>(self) -> Result<Self> {
        let (name, mut function) = (C::NAME, ptr::null_mut());
        let data = Rc::into_raw(Rc::clone(&self.context)).cast_mut().cast::<c_void>();
        // SAFETY: the name is copied; `data` holds one count of the context, which the finalizer gives back.
        let status = unsafe {
            let (text, length) = (name.as_ptr().cast(), name.len() as isize);
            sys::napi_create_function(self.env, text, length, Some(enter::<C>), data, &raw mut function)
        };
        checked(status, "make a function")?;
        // SAFETY: as above. If this fails the count leaks, which keeps `data` valid for the function.
        let status = unsafe {
            let unset = ptr::null_mut();
            sys::napi_add_finalizer(self.env, function, data, Some(release), unset, ptr::null_mut())
        };
        checked(status, "watch a function")?;
        let key = c_string(name);
        // SAFETY: both handles are alive in the scope of the running callback; the name ends with a zero.
        let status = unsafe { sys::napi_set_named_property(self.env, self.object, key.as_ptr(), function) };
        checked(status, "add a function")?;
        Ok(self)
    }

    /// The object.
    pub(crate) fn finish(self) -> sys::napi_value {
        self.object
    }
}

/// The callback of every function.
// SAFETY: only Node-API calls it, with the arguments of a callback.
unsafe extern "C" fn enter<C: Call>(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let (mut values, mut count, mut data) = ([ptr::null_mut(); ARGUMENTS_MAX], ARGUMENTS_MAX, ptr::null_mut());
    let this = ptr::null_mut();
    // SAFETY: `info` belongs to this callback; `values` has room for `count` handles.
    unsafe { sys::napi_get_cb_info(env, info, &raw mut count, values.as_mut_ptr(), this, &raw mut data) };
    if data.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: invariant 1: the running function holds a count of the context.
    let context = unsafe { &*data.cast::<Context>() };
    let arguments = Arguments { env, values };
    let run = || {
        failpoints::panics("callback");
        C::run(context, &arguments)?.into_raw(env)
    };
    match context.run(run) {
        Ok(value) => value,
        Err(failure) => {
            throw(env, &failure);
            ptr::null_mut()
        }
    }
}

/// Gives back the count of a function that JavaScript let go of.
// SAFETY: only Node-API calls it, with the data pointer given to `napi_add_finalizer`.
unsafe extern "C" fn release(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: invariant 1; Node-API calls a finalizer once.
    let context = unsafe { Rc::from_raw(data.cast::<Context>()) };
    // Nobody is left to hear of a panic; the process must live.
    let _ = guarded(|| {
        failpoints::panics("finalizer");
        drop(context);
        Ok(())
    });
}

fn throw(env: sys::napi_env, failure: &Failure) {
    let (code, message) = (c_string(failure.code), c_string(&failure.message));
    // SAFETY: `env` is the environment of the running callback; both texts end with a zero and are copied. Where an
    // exception is pending already, that one stays.
    unsafe { sys::napi_throw_error(env, code.as_ptr(), message.as_ptr()) };
}

/// The text up to its first zero byte, which only a file name of an attacker could contain.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

fn checked(status: sys::napi_status, task: &str) -> Result<()> {
    if status == sys::Status::napi_ok {
        return Ok(());
    }
    Err(Failure::argument(format!("cannot {task}: Node-API status {status}")))
}

/// What opening and tasks give.
pub(crate) enum Made {
    /// The functions of a session.
    Object(sys::napi_value),
    /// JSON, such as a failure.
    Text(String),
    /// A Uint8Array over these very bytes; a copy where the host keeps its memory to itself.
    Bytes(Vec<u8>),
}

impl TypeName for Made {
    fn type_name() -> &'static str {
        "Made"
    }

    fn value_type() -> ValueType {
        ValueType::Unknown
    }
}

impl ToNapiValue for Made {
    // SAFETY: the caller promises that `env` is the current environment.
    unsafe fn to_napi_value(env: sys::napi_env, made: Self) -> napi::Result<sys::napi_value> {
        match made {
            Self::Object(object) => Ok(object),
            // SAFETY: `env` is the current environment, as the caller promises.
            Self::Text(text) => unsafe { String::to_napi_value(env, text) },
            // SAFETY: as above.
            Self::Bytes(bytes) => unsafe { Uint8Array::to_napi_value(env, bytes.into()) },
        }
    }
}
