//! Progress and cancelling of a long call. The watcher is a JavaScript object, but core requires a `Sync` closure. So
//! the watcher is kept in a table of this thread during its call, and the closure captures nothing.

use std::cell::RefCell;
use std::ops::ControlFlow;
use varve_core::Watch;
use varve_core::failpoints;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const WATCHER_TYPES: &str = r#"
/** Receives the progress of a long call. Returning false stops the call. Must not throw. */
export interface Watcher {
  report(done: number, total: number): boolean
}
"#;

#[wasm_bindgen]
extern "C" {
    /// Receives the progress of a long call.
    #[wasm_bindgen(typescript_type = "Watcher")]
    pub type Watcher;

    #[wasm_bindgen(method)]
    fn report(this: &Watcher, done: f64, total: f64) -> bool;
}

thread_local! {
    static RUNNING: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Runs a long call with a watcher.
pub(crate) fn watched<T>(watcher: Watcher, call: impl FnOnce(Watch<'_>) -> T) -> T {
    RUNNING.set(Some(watcher));
    let outcome = call(&|done, total| {
        failpoints::panics("watch-call");
        let may_go_on = RUNNING.with_borrow(|running| {
            running.as_ref().is_none_or(|watcher| watcher.report(done as f64, total as f64))
        });
        if may_go_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    RUNNING.set(None);
    outcome
}
