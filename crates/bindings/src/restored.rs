//! The recorded state of restored files, so that the next restore need not read files that have not changed. Both
//! engines write the same text:
//!
//! ```text
//! {"at":"<ns since 1970>","files":[["<path>","<digest>",<executable>,<bytes>,"<modified, ns>","<changed, ns>",
//!  "<number>"],..]}
//! ```
//! `at` is when the restore began. Numbers that JavaScript cannot represent exactly are strings.

use serde::{Deserialize, Serialize};
use varve_core::Digest;

/// The files of one target directory.
#[derive(Debug, Default)]
pub struct Restored {
    /// When the restore began, in nanoseconds since 1970.
    pub at_ns: i64,
    /// The files.
    pub files: Vec<RestoredFile>,
}

/// One file.
#[derive(Debug)]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub struct RestoredFile {
    pub path: String,
    pub digest: Digest,
    pub executable: bool,
    pub bytes: u64,
    /// When its content last changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// When its content or metadata last changed.
    pub changed_ns: i64,
    /// Its number in the file system.
    pub number: u64,
}

#[derive(Default, Deserialize, Serialize)]
struct Text {
    at: String,
    files: Vec<Row>,
}

type Row = (String, String, bool, u64, String, String, String);

impl Restored {
    /// Parses the text; text that is not valid gives an empty record.
    pub fn parse(text: &str) -> Self {
        let Text { at, files } = serde_json::from_str(text).unwrap_or_default();
        Self {
            at_ns: at.parse().unwrap_or(0),
            files: files.into_iter().filter_map(file_of).collect(),
        }
    }

    /// Writes the record as text.
    pub fn to_text(&self) -> String {
        let files = self.files.iter().map(row_of).collect();
        serde_json::to_string(&Text { at: self.at_ns.to_string(), files }).unwrap_or_default()
    }
}

fn file_of(
    (path, digest, executable, bytes, modified, changed, number): Row,
) -> Option<RestoredFile> {
    Some(RestoredFile {
        path,
        digest: Digest::parse(&digest)?,
        executable,
        bytes,
        modified_ns: modified.parse().ok()?,
        changed_ns: changed.parse().ok()?,
        number: number.parse().ok()?,
    })
}

fn row_of(file: &RestoredFile) -> Row {
    (
        file.path.clone(),
        file.digest.to_string(),
        file.executable,
        file.bytes,
        file.modified_ns.to_string(),
        file.changed_ns.to_string(),
        file.number.to_string(),
    )
}
