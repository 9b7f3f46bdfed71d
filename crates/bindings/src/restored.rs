//! What is remembered of a restore, so that the next one need not read what is still there. Both engines write it
//! alike:
//!
//! ```text
//! {"at":"<ns since 1970>","files":[["<path>","<digest>",<executable>,<bytes>,"<modified, ns>","<changed, ns>",
//!  "<number>"],..]}
//! ```
//! `at` is when that restore began. Numbers that JavaScript cannot hold exactly are texts.

use serde::{Deserialize, Serialize};

/// One file: path, digest, executable, bytes, when its content and when anything of it changed, its number in the file
/// system.
pub type RestoredFile = (String, String, bool, u64, String, String, String);

/// The files of one target.
#[derive(Debug, Default, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the module says it")]
pub struct Restored {
    pub at: String,
    pub files: Vec<RestoredFile>,
}

impl Restored {
    /// Nothing is known where the text is not what it should be.
    pub fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// As text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
