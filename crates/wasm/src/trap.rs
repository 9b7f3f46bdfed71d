//! A panic cannot be caught here: it traps, and the instance must not be called again. Before the trap, this module
//! passes the text to JavaScript, and afterwards it allows a fresh instance.

use std::cell::RefCell;
use std::panic::{PanicHookInfo, set_hook};
use wasm_bindgen::handler::schedule_reinit;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const LISTENER_TYPES: &str = r#"
/** Receives the text of a panic before the instance traps. Must not throw. */
export interface PanicListener {
  panicked(text: string): void
}
"#;

#[wasm_bindgen]
extern "C" {
    /// Receives the text of a panic.
    #[wasm_bindgen(typescript_type = "PanicListener")]
    pub type PanicListener;

    #[wasm_bindgen(method)]
    fn panicked(this: &PanicListener, text: &str);
}

thread_local! {
    static LISTENER: RefCell<Option<PanicListener>> = const { RefCell::new(None) };
}

/// Sets the listener for panics in this instance.
#[wasm_bindgen(js_name = watchPanics)]
pub fn watch_panics(listener: PanicListener) {
    LISTENER.set(Some(listener));
    set_hook(Box::new(report));
}

/// Discards this instance: the next call of any function runs in a fresh one. Objects of the old one are invalid.
#[wasm_bindgen]
pub fn reset() {
    schedule_reinit();
}

fn report(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(payload.downcast_ref::<&str>().copied());
    let place =
        panic.location().map(|location| format!(" ({}:{})", location.file(), location.line()));
    LISTENER.with_borrow(|listener| {
        if let Some(listener) = listener {
            listener.panicked(&format!("{}{}", text.unwrap_or("panic"), place.unwrap_or_default()));
        }
    });
}
