//! What all open stores of an environment share: the class of their objects, and memory for calls. Both are made once,
//! since V8 takes some 7 us for each function (to make it, to watch it, and to free it), and some 20 for the memory.
//!
//! Invariants:
//!
//! 1. An object with the tag of a callee type wraps an `Rc` of such a callee, one count; the finalizer gives it back.
//! 2. The instance data of the environment is a [`Class`], or nothing.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::answer::Answer;
use crate::node_api::arguments::{ARGUMENTS_MAX, Arguments};
use crate::node_api::env::{Env, Value};
use crate::node_api::functions::{Call, Callee, answer, define, release, throw};
use crate::node_api::scratch::{Cells, Reference, Scratch};
use crate::node_api::status::checked;
use napi_sys as sys;
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::rc::Rc;
use varve_bindings::{Failure, Result, guarded};

/// A callee whose objects are of a class. An environment has one class.
pub(crate) trait Instance: Callee {
    /// The name of the class.
    const CLASS: &'static CStr;
    /// 16 random bytes, which no other class of this addon or of another one has.
    const TAG: (u64, u64);
}

/// A class under construction: the methods of a callee type.
pub(crate) struct Methods<C> {
    all: Vec<sys::napi_property_descriptor>,
    callee: PhantomData<C>,
}

impl<C: Instance> Methods<C> {
    pub(crate) fn new() -> Self {
        Self { all: Vec::new(), callee: PhantomData }
    }

    /// Adds one method.
    pub(crate) fn add<F: Call<C>>(mut self) -> Self {
        self.all.push(sys::napi_property_descriptor {
            utf8name: F::NAME.as_ptr(),
            name: ptr::null_mut(),
            method: Some(enter_method::<C, F>),
            getter: None,
            setter: None,
            value: ptr::null_mut(),
            attributes: sys::PropertyAttributes::default,
            data: ptr::null_mut(),
        });
        self
    }

    /// Makes the class of this environment, and the properties `scratch` and `cells` of its exports.
    pub(crate) fn define(&self, env: Env, exports: Value) -> Result<()> {
        let ((scratch, scratch_view), (cells, cells_view)) =
            (Scratch::new(env.0)?, Cells::new(env.0)?);
        let mut class = ptr::null_mut();
        // SAFETY: `env` is the current environment, `exports` a handle of it; names and descriptors are copied; `class`
        // is a place for the result. Invariant 2: the instance data is the box, which the finalizer drops.
        unsafe {
            define(env.0, exports, c"scratch", scratch_view)?;
            define(env.0, exports, c"cells", cells_view)?;
            let (name, length) = (C::CLASS.as_ptr(), C::CLASS.count_bytes() as isize);
            let (count, methods, data) = (self.all.len(), self.all.as_ptr(), ptr::null_mut());
            let status = sys::napi_define_class(
                env.0,
                name,
                length,
                Some(construct),
                data,
                count,
                methods,
                &raw mut class,
            );
            checked(status, "make a class")?;
            let shared = Class { constructor: Reference::new(env.0, class)?, scratch, cells };
            let data = Box::into_raw(Box::new(shared)).cast();
            checked(
                sys::napi_set_instance_data(env.0, data, Some(forget), ptr::null_mut()),
                "keep a class",
            )
        }
    }
}

/// The class of an environment, and the memory for calls.
struct Class {
    constructor: Reference,
    scratch: Scratch,
    cells: Cells,
}

/// A new object of the class, whose methods run on the callee. The object keeps the callee.
pub(super) fn instance<C: Instance>(
    env: Env,
    callee_of: impl FnOnce(Scratch, Cells) -> C,
) -> Result<(Value, Rc<C>)> {
    let (mut data, mut object) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: `env` is the current environment, the others are places for the results; invariant 2.
    let callee = unsafe {
        checked(sys::napi_get_instance_data(env.0, &raw mut data), "find a class")?;
        let Some(class) = data.cast::<Class>().as_ref() else {
            return Err(Failure::internal("no class"));
        };
        let constructor = class.constructor.value()?;
        checked(
            sys::napi_new_instance(env.0, constructor, 0, ptr::null(), &raw mut object),
            "make an object",
        )?;
        Rc::new(callee_of(class.scratch.clone(), class.cells.clone()))
    };
    let (data, tag) = (Rc::into_raw(Rc::clone(&callee)).cast_mut().cast::<c_void>(), tag_of::<C>());
    // SAFETY: `object` was just made. Invariant 1: the finalizer gives the count back. If the first call fails, the
    // count leaks; without a tag no method uses the object.
    unsafe {
        let status = sys::napi_wrap(
            env.0,
            object,
            data,
            Some(release::<C>),
            ptr::null_mut(),
            ptr::null_mut(),
        );
        checked(status, "wrap an object")?;
        checked(sys::napi_type_tag_object(env.0, object, &raw const tag), "mark an object")?;
    }
    Ok((object, callee))
}

fn tag_of<C: Instance>() -> sys::napi_type_tag {
    sys::napi_type_tag { lower: C::TAG.0, upper: C::TAG.1 }
}

/// The callback of a method.
// SAFETY: only Node-API calls it, with the arguments of a callback.
unsafe extern "C" fn enter_method<C: Instance, F: Call<C>>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    // SAFETY: as above.
    unsafe { call_method(env, info, F::run) }
}

// SAFETY: the caller promises that Node-API called it with both.
unsafe fn call_method<C: Instance>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    run: fn(&C, &Arguments) -> Result<Answer>,
) -> sys::napi_value {
    let (mut values, mut count, mut this) =
        ([ptr::null_mut(); ARGUMENTS_MAX], ARGUMENTS_MAX, ptr::null_mut());
    // SAFETY: `info` belongs to this callback; `values` has room for `count` handles.
    unsafe {
        sys::napi_get_cb_info(
            env,
            info,
            &raw mut count,
            values.as_mut_ptr(),
            &raw mut this,
            ptr::null_mut(),
        );
    }
    // SAFETY: `this` is a handle of this callback.
    match unsafe { callee_of::<C>(env, this) } {
        Ok(callee) => answer(env, callee, &Arguments::new(env, values), run),
        Err(failure) => {
            throw(env, &failure);
            ptr::null_mut()
        }
    }
}

// SAFETY: the caller promises that `object` is a handle of the running callback, which keeps it alive.
unsafe fn callee_of<'callback, C: Instance>(
    env: sys::napi_env,
    object: Value,
) -> Result<&'callback C> {
    let (mut is_ours, mut data, tag) = (false, ptr::null_mut(), tag_of::<C>());
    // SAFETY: the caller promises it; both are places for the results.
    unsafe {
        let status = sys::napi_check_object_type_tag(env, object, &raw const tag, &raw mut is_ours);
        checked(status, "read the mark of an object")?;
        if !is_ours {
            return Err(Failure::argument("this is not an open store"));
        }
        checked(sys::napi_unwrap(env, object, &raw mut data), "unwrap an object")?;
        // Invariant 1.
        Ok(&*data.cast::<C>())
    }
}

// SAFETY: only Node-API calls it. `instance` wraps what it returns: the new object.
unsafe extern "C" fn construct(
    _env: sys::napi_env,
    _info: sys::napi_callback_info,
) -> sys::napi_value {
    ptr::null_mut()
}

// SAFETY: only Node-API calls it, with the instance data, when the environment ends.
unsafe extern "C" fn forget(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: invariant 2.
    let class = unsafe { Box::from_raw(data.cast::<Class>()) };
    let _ = guarded(|| {
        drop(class);
        Ok(())
    });
}
