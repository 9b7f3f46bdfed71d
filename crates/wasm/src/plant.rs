//! Plants what the environment of the host names: a module has none of its own. Only with the feature `planted`.

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

/// Asks anew: the host may begin to plant while it runs.
pub(crate) fn arm() {
    failpoints::choose(&ENVIRONMENT.with(Environment::planted).unwrap_or_default());
}
