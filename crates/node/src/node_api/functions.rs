//! Synchronous functions for JavaScript, by hand on Node-API: a call takes 20-30 ns instead of the 200 ns and the
//! process-wide mutex of a derived method.
//!
//! One call:
//!
//! 1. `napi_get_cb_info` gives the arguments and the callee, which is the data pointer of the callback. A method of a
//!    class, which takes longer, has the callee from its object (`class.rs`).
//! 2. [`Call::run`] does the work inside [`Callee::guarded`], which catches panics.
//! 3. The answer becomes a JavaScript value, or the failure is thrown as an Error with a `code`.
//!
//! Invariants:
//!
//! 1. The data pointer is an `Rc` of the callee, one count per function; the finalizer of the function gives it back.
//! 2. Everything here runs on the JavaScript thread that made the functions.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::answer::Answer;
use crate::node_api::arguments::{ARGUMENTS_MAX, Arguments};
use crate::node_api::class::{Instance, instance};
use crate::node_api::env::{Env, Value};
use crate::node_api::scratch::{Cells, Scratch};
use crate::node_api::status::checked;
use napi_sys as sys;
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::rc::Rc;
use varve_bindings::{Failure, Result, guarded};
use varve_core::failpoints;

// SAFETY: Node-API is the only caller of both.
type Callback = unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value;
// SAFETY: as above.
type Finalizer = unsafe extern "C" fn(sys::napi_env, *mut c_void, *mut c_void);

/// What the functions of one object share.
pub(crate) trait Callee: 'static {
    /// Runs each call; a panic becomes a failure.
    fn guarded<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T>;
}

/// One function of an object.
pub(crate) trait Call<C> {
    /// Its name in JavaScript.
    const NAME: &'static CStr;
    /// Most arguments that it takes. Node-API takes a few nanoseconds for each, also for a missing one.
    const ARGUMENTS: usize = ARGUMENTS_MAX;

    /// Does the work.
    fn run(callee: &C, arguments: &Arguments) -> Result<Answer>;
}

/// An object under construction, with functions of one callee.
pub(crate) struct Functions<C> {
    env: Env,
    callee: Rc<C>,
    object: Value,
}

impl<C: Callee> Functions<C> {
    /// A new object of the class, and the callee that `callee_of` makes of the memory for calls.
    pub(crate) fn new(env: Env, callee_of: impl FnOnce(Scratch, Cells) -> C) -> Result<Self>
    where
        C: Instance,
    {
        instance(env, callee_of).map(|(object, callee)| Self { env, callee, object })
    }

    /// An object that exists.
    pub(crate) fn of(env: Env, object: Value, callee: C) -> Self {
        Self { env, callee: Rc::new(callee), object }
    }

    /// Adds one function.
    pub(crate) fn add<F: Call<C>>(self) -> Result<Self> {
        self.add_callback(F::NAME, enter::<C, F>)
    }

    /// Adds a function that runs for each entry: its callback takes more code, and a few nanoseconds less.
    pub(crate) fn add_hot<F: Call<C>>(self) -> Result<Self> {
        self.add_callback(F::NAME, enter_hot::<C, F>)
    }

    fn add_callback(self, name: &CStr, callback: Callback) -> Result<Self> {
        let data = Rc::into_raw(Rc::clone(&self.callee)).cast_mut().cast::<c_void>();
        // SAFETY: both handles are those of the running callback; `data` holds one count of the callee, which the
        // finalizer gives back.
        unsafe { add_function(self.env.0, self.object, name, callback, release::<C>, data) }?;
        Ok(self)
    }

    /// The object.
    pub(crate) fn finish(self) -> Value {
        self.object
    }
}

/// Adds a function to an object.
// SAFETY: the caller promises that `env` is the current environment, `object` a handle of it, and that `data` is valid
// for `callback` until `finalizer` ran with it.
unsafe fn add_function(
    env: sys::napi_env,
    object: sys::napi_value,
    name: &CStr,
    callback: Callback,
    finalizer: Finalizer,
    data: *mut c_void,
) -> Result<()> {
    let mut function = ptr::null_mut();
    // SAFETY: the name is copied; the caller promises the rest.
    let status = unsafe {
        let (text, length) = (name.as_ptr(), name.count_bytes() as isize);
        sys::napi_create_function(env, text, length, Some(callback), data, &raw mut function)
    };
    checked(status, "make a function")?;
    // SAFETY: as above. If this fails the count leaks, which keeps `data` valid for the function.
    let status = unsafe {
        sys::napi_add_finalizer(
            env,
            function,
            data,
            Some(finalizer),
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    checked(status, "watch a function")?;
    // SAFETY: the caller promises it; `function` was just made.
    unsafe { define(env, object, name, function) }
}

/// Adds a property by definition: an assignment would call a setter that the program added to `Object.prototype`.
// SAFETY: the caller promises that `env` is the current environment, and both handles those of the running callback.
pub(super) unsafe fn define(
    env: sys::napi_env,
    object: sys::napi_value,
    name: &CStr,
    value: sys::napi_value,
) -> Result<()> {
    use sys::PropertyAttributes::{configurable, enumerable, writable};
    let property = sys::napi_property_descriptor {
        utf8name: name.as_ptr(),
        name: ptr::null_mut(),
        method: None,
        getter: None,
        setter: None,
        value,
        attributes: writable | enumerable | configurable,
        data: ptr::null_mut(),
    };
    // SAFETY: the caller promises the handles; the descriptor is read before this returns.
    checked(
        unsafe { sys::napi_define_properties(env, object, 1, &raw const property) },
        "add a property",
    )
}

/// The callback of a function. All share the code around the call.
// SAFETY: only Node-API calls it, with the arguments of a callback.
unsafe extern "C" fn enter<C: Callee, F: Call<C>>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    // SAFETY: as above.
    unsafe { call_pointer(env, info, F::run) }
}

/// The callback of a hot function, whose call is inlined.
// SAFETY: only Node-API calls it, with the arguments of a callback.
unsafe extern "C" fn enter_hot<C: Callee, F: Call<C>>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    // SAFETY: as above.
    unsafe { call(env, info, F::ARGUMENTS, F::run) }
}

// SAFETY: the caller promises that Node-API called it with both.
#[inline(never)]
unsafe fn call_pointer<C: Callee>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    run: fn(&C, &Arguments) -> Result<Answer>,
) -> sys::napi_value {
    // SAFETY: the caller promises it.
    unsafe { call(env, info, ARGUMENTS_MAX, run) }
}

/// All steps.
// SAFETY: the caller promises that Node-API called it with both.
#[inline(always)]
unsafe fn call<C: Callee>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    arguments_max: usize,
    run: impl FnOnce(&C, &Arguments) -> Result<Answer>,
) -> sys::napi_value {
    let (mut values, mut count, mut data) =
        ([ptr::null_mut(); ARGUMENTS_MAX], arguments_max, ptr::null_mut());
    let this = ptr::null_mut();
    // SAFETY: `info` belongs to this callback; `values` has room for `count` handles.
    unsafe {
        sys::napi_get_cb_info(env, info, &raw mut count, values.as_mut_ptr(), this, &raw mut data)
    };
    if data.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: invariant 1: the running function holds a count of the callee.
    let callee = unsafe { &*data.cast::<C>() };
    answer(env, callee, &Arguments::new(env, values), run)
}

/// Steps 2 and 3.
#[inline(always)]
pub(super) fn answer<C: Callee>(
    env: sys::napi_env,
    callee: &C,
    arguments: &Arguments,
    run: impl FnOnce(&C, &Arguments) -> Result<Answer>,
) -> sys::napi_value {
    let answered = || {
        failpoints::panics("callback");
        run(callee, arguments)?.into_value(Env(env))
    };
    match callee.guarded(answered) {
        Ok(value) => value,
        Err(failure) => {
            throw(env, &failure);
            ptr::null_mut()
        }
    }
}

/// Gives back the count of a function or an object that the garbage collector has freed.
// SAFETY: only Node-API calls it, with the data pointer given to `napi_add_finalizer` or `napi_wrap`.
pub(super) unsafe extern "C" fn release<C: Callee>(
    _env: sys::napi_env,
    data: *mut c_void,
    _hint: *mut c_void,
) {
    // SAFETY: invariant 1; Node-API calls a finalizer once.
    let callee = unsafe { Rc::from_raw(data.cast::<C>()) };
    // No caller is left to receive a panic; the process must live.
    let _ = guarded(|| {
        failpoints::panics("finalizer");
        drop(callee);
        Ok(())
    });
}

pub(super) fn throw(env: sys::napi_env, failure: &Failure) {
    let (code, message) = (c_string(failure.code), c_string(&failure.message));
    // SAFETY: `env` is the environment of the running callback; both texts end with a zero and are copied. If an
    // exception is pending already, it stays.
    unsafe { sys::napi_throw_error(env, code.as_ptr(), message.as_ptr()) };
}

/// The text up to its first zero byte, which only a file name that an attacker chose could contain.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}
