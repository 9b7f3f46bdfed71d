//! Keeps the process of the addon alive: a panic in a call becomes an error with code `INTERNAL`. Node aborts if a
//! panic leaves a callback or a task, so each of them runs in [`guarded`].
//!
//! The error has the text of the panic and its place. They are not printed, because a build tool owns its output.

use crate::failure::{Failure, Result};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::sync::{Arc, Once, OnceLock};

static HOOK: Once = Once::new();

thread_local! {
    /// File and line of the last panic on this thread.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs one call from JavaScript. After a panic the caller gives up the store, whose state cannot be trusted.
pub fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    HOOK.call_once(|| set_hook(Box::new(keep_place)));
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(failure_of(payload.as_ref())))
}

/// Guards the calls of one store, on any thread: after a panic every call answers with its failure, because the state
/// that the call was changing cannot be trusted.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    broken: Arc<OnceLock<Box<Failure>>>,
}

impl Guard {
    /// Runs one call.
    pub fn run<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        if let Some(failure) = self.broken.get() {
            return Err(failure.clone());
        }
        guarded(call).map_err(|failure| {
            let is_panic = failure.code == "INTERNAL";
            if is_panic { self.broken.get_or_init(|| failure).clone() } else { failure }
        })
    }
}

fn keep_place(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(|location| format!("{}:{}", location.file(), location.line()));
    // A thread that is ending has no thread-locals left; then the error has the text only.
    let _ = PLACE.try_with(|kept| kept.try_borrow_mut().map(|mut kept| *kept = place));
}

fn failure_of(payload: &(dyn Any + Send)) -> Box<Failure> {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "panic",
    };
    let place = PLACE.try_with(|kept| kept.try_borrow_mut().ok().and_then(|mut kept| kept.take()));
    match place.ok().flatten() {
        Some(place) => Failure::internal(&format!("{text} ({place})")),
        None => Failure::internal(text), // the panic came from another thread of the pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_failure_with_its_text_and_place() {
        let outcome = guarded::<()>(|| panic!("planted {}", 7));
        let failure = outcome.err().unwrap_or_else(|| Failure::argument("it did not fail"));
        assert_eq!(failure.code, "INTERNAL");
        assert!(failure.message.contains("planted 7 (crates/bindings/src/guard.rs:"), "{failure}");
    }

    #[test]
    fn after_a_panic_every_call_fails_with_the_first_one() {
        let guard = Guard::default();
        let failed = guard.run::<()>(|| Err(Failure::argument("not a panic")));
        assert!(failed.is_err_and(|failure| failure.code == "INVALID_ARGUMENT"));
        assert_eq!(guard.run(|| Ok(7)), Ok(7));
        let first = guard.run::<()>(|| panic!("the first"));
        assert_eq!(guard.clone().run(|| Ok(())), first);
    }

    #[test]
    fn a_panic_of_another_thread_keeps_its_text() {
        let outcome = guarded(|| {
            let thread = std::thread::spawn(|| panic!("planted elsewhere"));
            thread.join().map_err(|payload| std::panic::resume_unwind(payload))
        });
        let text =
            outcome.map_err(|failure: Box<Failure>| failure.message).err().unwrap_or_default();
        assert!(text.contains("planted elsewhere"), "{text}");
    }
}
