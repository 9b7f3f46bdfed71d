//! Plants the faults that the environment of the host names, since a module has no environment. Only with the feature
//! `planted`.

use varve_core::failpoints;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    type Environment;

    #[wasm_bindgen(thread_local_v2, js_namespace = process, js_name = env)]
    static ENVIRONMENT: Environment;

    #[wasm_bindgen(method, getter, js_name = VARVE_PLANTED)]
    fn planted(this: &Environment) -> Option<String>;
}

/// Reads the variable again, because the host may set it while it runs.
pub(crate) fn arm() {
    failpoints::choose(&ENVIRONMENT.with(Environment::planted).unwrap_or_default());
}
