//! Synchronous functions for JavaScript, by hand on Node-API: a call takes 20-30 ns instead of the 200 ns and the
//! process-wide mutex of a derived method.
//!
//! One call:
//!
//! 1. `napi_get_cb_info` gives the arguments and the callee, which is the data pointer of the callback.
//! 2. [`Call::run`] does the work inside the [`Guard`] of the callee, which catches panics.
//! 3. The answer becomes a JavaScript value, or the failure is thrown as an Error with a `code`.
//!
//! Invariants:
//!
//! 1. The data pointer is an `Rc` of the callee, one count per function; the finalizer of the function gives it back.
//! 2. Everything here runs on the JavaScript thread that made the functions.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::answer::Answer;
use crate::node_api::arguments::{ARGUMENTS_MAX, Arguments};
use crate::node_api::scratch::Scratch;
use crate::node_api::status::checked;
use napi::{Env, sys};
use std::ffi::{CString, c_void};
use std::ptr;
use std::rc::Rc;
use varve_bindings::{Failure, Guard, Result, guarded};
use varve_core::failpoints;

/// What the functions of one object share.
pub(crate) trait Callee: 'static {
    /// Runs each call; a panic becomes a failure.
    fn guard(&self) -> &Guard;
}

/// One function of an object.
pub(crate) trait Call<C> {
    /// Its name in JavaScript.
    const NAME: &'static str;

    /// Does the work.
    fn run(callee: &C, arguments: &Arguments) -> Result<Answer>;
}

/// An object under construction: the functions of one callee.
pub(crate) struct Functions<C> {
    env: sys::napi_env,
    callee: Rc<C>,
    object: sys::napi_value,
}

impl<C: Callee> Functions<C> {
    /// An object with the property `scratch`, and the callee that `callee_of` makes of it.
    pub(crate) fn new(env: &Env, callee_of: impl FnOnce(Scratch) -> C) -> Result<Self> {
        let env = env.raw();
        let (scratch, view) = Scratch::new(env)?;
        let mut object = ptr::null_mut();
        // SAFETY: `env` is the current environment, `object` a place for one handle.
        checked(unsafe { sys::napi_create_object(env, &raw mut object) }, "make an object")?;
        // SAFETY: both handles were just made; the name ends with a zero.
        let status = unsafe { sys::napi_set_named_property(env, object, c"scratch".as_ptr(), view) };
        checked(status, "make an object")?;
        Ok(Self { env, callee: Rc::new(callee_of(scratch)), object })
    }

    /// Adds one function.
    pub(crate) fn add<F: Call<C>>(self) -> Result<Self> {
        let (name, mut function) = (F::NAME, ptr::null_mut());
        let data = Rc::into_raw(Rc::clone(&self.callee)).cast_mut().cast::<c_void>();
        // SAFETY: the name is copied; `data` holds one count of the callee, which the finalizer gives back.
        let status = unsafe {
            let (text, length) = (name.as_ptr().cast(), name.len() as isize);
            sys::napi_create_function(self.env, text, length, Some(enter::<C, F>), data, &raw mut function)
        };
        checked(status, "make a function")?;
        // SAFETY: as above. If this fails the count leaks, which keeps `data` valid for the function.
        let status = unsafe {
            let unset = ptr::null_mut();
            sys::napi_add_finalizer(self.env, function, data, Some(release::<C>), unset, ptr::null_mut())
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
unsafe extern "C" fn enter<C: Callee, F: Call<C>>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    let (mut values, mut count, mut data) = ([ptr::null_mut(); ARGUMENTS_MAX], ARGUMENTS_MAX, ptr::null_mut());
    let this = ptr::null_mut();
    // SAFETY: `info` belongs to this callback; `values` has room for `count` handles.
    unsafe { sys::napi_get_cb_info(env, info, &raw mut count, values.as_mut_ptr(), this, &raw mut data) };
    if data.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: invariant 1: the running function holds a count of the callee.
    let callee = unsafe { &*data.cast::<C>() };
    let arguments = Arguments::new(env, values);
    let run = || {
        failpoints::panics("callback");
        F::run(callee, &arguments)?.into_raw(env)
    };
    match callee.guard().run(run) {
        Ok(value) => value,
        Err(failure) => {
            throw(env, &failure);
            ptr::null_mut()
        }
    }
}

/// Gives back the count of a function that the garbage collector has freed.
// SAFETY: only Node-API calls it, with the data pointer given to `napi_add_finalizer`.
unsafe extern "C" fn release<C: Callee>(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: invariant 1; Node-API calls a finalizer once.
    let callee = unsafe { Rc::from_raw(data.cast::<C>()) };
    // No caller is left to receive a panic; the process must live.
    let _ = guarded(|| {
        failpoints::panics("finalizer");
        drop(callee);
        Ok(())
    });
}

fn throw(env: sys::napi_env, failure: &Failure) {
    let (code, message) = (c_string(failure.code), c_string(&failure.message));
    // SAFETY: `env` is the environment of the running callback; both texts end with a zero and are copied. If an
    // exception is pending already, it stays.
    unsafe { sys::napi_throw_error(env, code.as_ptr(), message.as_ptr()) };
}

/// The text up to its first zero byte, which only a file name that an attacker chose could contain.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}
