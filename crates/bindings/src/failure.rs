//! An error on its way to JavaScript. Both sides of the border agree on this JSON:
//!
//! ```text
//! {"ok": <report>}                            the call succeeded
//! {"code": "DISK_FULL", "message": "..."}     it failed
//! ```

use serde::Serialize;
use std::fmt;

/// Result of a call from JavaScript.
pub type Result<T> = std::result::Result<T, Failure>;

/// Why a call from JavaScript failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A stable word for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
}

impl Failure {
    /// An argument that does not fit the call; a mistake of the TypeScript side, never of a user.
    pub fn argument(message: impl Into<String>) -> Self {
        Self { code: "INVALID_ARGUMENT", message: message.into() }
    }

    /// A defect of the engine: something panicked.
    pub fn internal(text: &str) -> Self {
        let way_out = "this cache stops here, the files are safe; open it again and please report the text";
        Self { code: "INTERNAL", message: format!("the engine failed: {text}; {way_out}") }
    }
}

impl From<varve_core::Error> for Failure {
    fn from(error: varve_core::Error) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Failure {}

/// The JSON of an outcome.
pub fn answer<T: Serialize>(outcome: Result<T>) -> String {
    let failure = match outcome {
        Ok(report) => match serde_json::to_string(&report) {
            Ok(json) => return format!("{{\"ok\":{json}}}"),
            Err(error) => Failure::internal(&format!("a report is no JSON: {error}")),
        },
        Err(failure) => failure,
    };
    serde_json::json!({ "code": failure.code, "message": failure.message }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_json_whatever_the_text() {
        assert_eq!(answer(Ok(())), r#"{"ok":null}"#);
        assert_eq!(answer(Ok(7)), r#"{"ok":7}"#);
        let failure = Failure { code: "IO", message: "cannot open 'a\"\n'".to_owned() };
        assert_eq!(answer::<()>(Err(failure)), r#"{"code":"IO","message":"cannot open 'a\"\n'"}"#);
    }

    #[test]
    fn the_code_of_the_engine_is_kept() {
        assert_eq!(Failure::from(varve_core::Error::Closed).code, "CLOSED");
    }
}
