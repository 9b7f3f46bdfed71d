//! The recorded state of restored files, so that the next restore need not read files that have not changed. Both
//! engines write the same text:
//!
//! ```text
//! {"at":"<ns since 1970>","files":[["<path>","<digest>",<executable>,<bytes>,"<modified, ns>","<changed, ns>",
//!  "<number>"],..]}
//! ```
//! `at` is when the restore began. Numbers that JavaScript cannot represent exactly are strings.

use serde::{Deserialize, Serialize};

/// One file: path, digest, executable, bytes, when its content last changed, when its content or metadata last changed,
/// and its number in the file system.
pub type RestoredFile = (String, String, bool, u64, String, String, String);

/// The files of one target directory.
#[derive(Debug, Default, Deserialize, Serialize)]
#[expect(missing_docs, reason = "documented in the module")]
pub struct Restored {
    pub at: String,
    pub files: Vec<RestoredFile>,
}

impl Restored {
    /// Parses the text; text that is not valid gives an empty record.
    pub fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Writes the record as text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
