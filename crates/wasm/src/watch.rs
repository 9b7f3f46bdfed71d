//! Progress and cancelling of a long call. The watcher is a JavaScript object and the calls of core want a `Sync`
//! closure; so it waits in a table of this thread while its call runs, and the closure holds nothing.

use std::cell::RefCell;
use std::ops::ControlFlow;
use varve_core::Watch;
use varve_core::failpoints;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const WATCHER_TYPES: &str = r#"
/** Told how far a long call is; false stops it. Must not throw. */
export interface Watcher {
  report(done: number, total: number): boolean
}
"#;

#[wasm_bindgen]
extern "C" {
    /// Told how far a long call is.
    #[wasm_bindgen(typescript_type = "Watcher")]
    pub type Watcher;

    #[wasm_bindgen(method)]
    fn report(this: &Watcher, done: f64, total: f64) -> bool;
}

thread_local! {
    static RUNNING: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Runs a long call under a watcher.
pub(crate) fn watched<T>(watcher: Watcher, call: impl FnOnce(Watch<'_>) -> T) -> T {
    RUNNING.set(Some(watcher));
    let outcome = call(&|done, total| {
        failpoints::panics("watch-call");
        let may_go_on = RUNNING
            .with_borrow(|running| running.as_ref().is_none_or(|watcher| watcher.report(done as f64, total as f64)));
        if may_go_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    RUNNING.set(None);
    outcome
}
