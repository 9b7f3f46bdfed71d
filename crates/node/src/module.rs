//! What Node calls when it loads the addon: the functions of `open.rs` become its exports.
#![expect(unsafe_code, reason = "Node-API is a C interface; every block states what it relies on")]

use crate::node_api::Env;
use crate::open;
use napi_sys as sys;
use std::sync::Once;
use varve_bindings::guarded;

static FUNCTIONS: Once = Once::new();

/// Node calls it once for each thread of JavaScript.
// SAFETY: only Node calls it, with the current environment and the object of the exports. It looks this name up, which
// no other symbol has.
#[unsafe(no_mangle)]
unsafe extern "C" fn napi_register_module_v1(
    env: sys::napi_env,
    exports: sys::napi_value,
) -> sys::napi_value {
    // A module without exports is what the loader reports if this fails.
    let _ = guarded(|| {
        // SAFETY: it looks up the functions of Node-API in this process, which stays loaded.
        FUNCTIONS.call_once(|| std::mem::forget(unsafe { sys::setup() }));
        // SAFETY: as above: the current environment.
        open::add(unsafe { Env::current(env) }, exports)
    });
    exports
}
