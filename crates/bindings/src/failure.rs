//! An error for JavaScript. Both sides use this JSON:
//!
//! ```text
//! {"ok": <report>}                            the call succeeded
//! {"code": "DISK_FULL", "message": "..."}     it failed
//! ```

use serde::Serialize;
use std::fmt;

/// The result of a call from JavaScript. A failure is a pointer, as in core.
pub type Result<T> = std::result::Result<T, Box<Failure>>;

/// Why a call from JavaScript failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// A stable word for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
}

impl Failure {
    /// An argument that does not fit the call: a bug on the TypeScript side, never a mistake of a user.
    pub fn argument(message: impl Into<String>) -> Box<Self> {
        Self::boxed("INVALID_ARGUMENT", message.into())
    }

    /// A bug in the engine: it panicked.
    pub fn internal(text: &str) -> Box<Self> {
        let way_out = "The cache is closed, its files are intact. Reopen it to continue, and please report this text";
        Self::boxed("INTERNAL", format!("internal error: {text}. {way_out}"))
    }

    /// The failure of a result.
    #[cold]
    #[inline(never)]
    pub(crate) fn boxed(code: &'static str, message: String) -> Box<Self> {
        Box::new(Self { code, message })
    }
}

impl From<varve_core::Error> for Box<Failure> {
    #[cold]
    #[inline(never)]
    fn from(error: varve_core::Error) -> Self {
        Failure::boxed(error.code(), error.to_string())
    }
}

impl From<Box<varve_core::Error>> for Box<Failure> {
    fn from(error: Box<varve_core::Error>) -> Self {
        Self::from(*error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Failure {}

/// The JSON of a result.
pub fn answer<T: Serialize>(outcome: Result<T>) -> String {
    let failure = match outcome {
        Ok(report) => match serde_json::to_string(&report) {
            Ok(json) => return format!("{{\"ok\":{json}}}"),
            Err(error) => {
                Failure::internal(&format!("a report cannot be written as JSON: {error}"))
            }
        },
        Err(failure) => failure,
    };
    serde_json::to_string(&failure).unwrap_or_default() // two texts are always JSON
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_valid_json_with_any_text() {
        assert_eq!(answer(Ok(())), r#"{"ok":null}"#);
        assert_eq!(answer(Ok(7)), r#"{"ok":7}"#);
        let failure = Failure { code: "IO", message: "cannot open 'a\"\n'".to_owned() };
        assert_eq!(
            answer::<()>(Err(Box::new(failure))),
            r#"{"code":"IO","message":"cannot open 'a\"\n'"}"#
        );
    }

    #[test]
    fn a_failure_keeps_the_code_of_the_engine() {
        assert_eq!(Box::<Failure>::from(varve_core::Error::Closed).code, "CLOSED");
    }
}
