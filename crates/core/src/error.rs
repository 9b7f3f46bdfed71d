//! One error for the whole engine. `code()` is stable API; the text names the field, the value and the way out.

mod archive;
mod path;
mod shown;

pub use archive::ArchiveProblem;
pub use path::PathProblem;
pub use shown::Shown;
use std::fmt;
use std::io;
use std::sync::PoisonError;

/// Result of the engine.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. What a damaged file costs is a miss, not an error: see `Store::status`.
#[derive(Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub enum Error {
    /// A file operation failed.
    Io { operation: &'static str, name: String, source: io::Error },
    /// An argument is longer than the format can hold.
    TooLong { field: &'static str, bytes: u64, bytes_max: u64 },
    /// A secret that can be guessed.
    ShortKey { bytes: usize, bytes_min: usize },
    /// A namespace id that this handle never gave out.
    UnknownNamespace { id: u32 },
    /// The folder was written by a newer format.
    NewerFormat { name: String, found: u32, supported: u32 },
    /// Bytes that do not match their checksum; only for callers that ask for damage as an error.
    Damaged { name: String, offset: u64, what: &'static str },
    /// The content of a file of a tree is missing or not what it was.
    FileLost { path: String },
    /// The store was opened with `read_only`.
    ReadOnly,
    /// The store was closed.
    Closed,
    /// A panic left the store in doubt: it is of no use any more, what is in the folder is.
    Broken,
    /// The caller asked to stop.
    Cancelled,
    /// Other participants changed the folder faster than this call could follow.
    Busy { operation: &'static str, attempts: u32 },
    /// The numbers of writers or commits of this folder are used up.
    Exhausted { field: &'static str, limit: u64 },
    /// A path of a manifest, folder or archive that is not safe to write on every system.
    UnsafePath { path: String, problem: PathProblem },
    /// An archive that cannot be read or must not be; `entry` is empty where the fault is in no entry.
    Archive { entry: String, problem: ArchiveProblem },
}

impl Error {
    /// Wraps a failed file operation.
    pub fn io(operation: &'static str, name: &str, source: io::Error) -> Self {
        Self::Io { operation, name: name.to_owned(), source }
    }

    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "PERMISSION",
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => "DISK_FULL",
                _ => "IO",
            },
            Self::TooLong { field: "key", .. } => "KEY_TOO_LONG",
            Self::TooLong { field: "value", .. } => "VALUE_TOO_LONG",
            Self::TooLong { .. } | Self::ShortKey { .. } | Self::UnknownNamespace { .. } => "INVALID_ARGUMENT",
            Self::NewerFormat { .. } => "NEWER_FORMAT",
            Self::Damaged { .. } => "DAMAGED",
            Self::FileLost { .. } => "FILES_DAMAGED",
            Self::ReadOnly => "READ_ONLY",
            Self::Closed => "CLOSED",
            Self::Broken => "INTERNAL",
            Self::Cancelled => "CANCELLED",
            Self::Busy { .. } => "BUSY",
            Self::Exhausted { .. } => "EXHAUSTED",
            Self::UnsafePath { .. } => "UNSAFE_PATH",
            Self::Archive { .. } => "BAD_ARCHIVE",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { operation, name, source } => {
                write!(out, "cannot {operation} '{name}': {source}{}", way_out(source))
            }
            Self::TooLong { field, bytes, bytes_max } => {
                let way_out = match *field {
                    "key" => "hash its long part",
                    "value" => "split it, or store it as files with `cache.files`",
                    _ => "shorten it",
                };
                write!(out, "{field} has {bytes} bytes, the limit is {bytes_max}; {way_out}")
            }
            Self::ShortKey { bytes, bytes_min } => {
                write!(out, "key has {bytes} bytes, the least is {bytes_min} random ones")
            }
            Self::UnknownNamespace { id } => write!(out, "namespace {id} is unknown; ask for it by name first"),
            Self::NewerFormat { name, found, supported } => write!(
                out,
                "'{name}' has format {found}, this version reads up to {supported}; update varve or use another folder"
            ),
            Self::Damaged { name, offset, what } => {
                write!(out, "{what} in '{name}' at byte {offset} does not match its checksum")
            }
            Self::FileLost { path } => {
                write!(out, "the content of {} is missing or damaged; take it as a miss and make it anew", Shown(path))
            }
            Self::ReadOnly => write!(out, "the cache was opened with readOnly: true; open it without to write"),
            Self::Closed => write!(out, "the cache is closed; open it again to go on"),
            Self::Broken => {
                write!(
                    out,
                    "another call met a bug and this cache stops here, the files are safe; open it again to go on"
                )
            }
            Self::Cancelled => write!(out, "stopped on request; nothing committed was changed"),
            Self::Busy { operation, attempts } => {
                write!(
                    out,
                    "cannot {operation}: other processes changed the folder {attempts} times meanwhile; try again"
                )
            }
            Self::Exhausted { field, limit } => {
                write!(out, "the folder has used up its {limit} {field}; remove the folder to start afresh")
            }
            Self::UnsafePath { path, problem } => write!(out, "{} is refused: it {problem}", Shown(path)),
            Self::Archive { entry, problem } if entry.is_empty() => write!(out, "the archive is refused: {problem}"),
            Self::Archive { entry, problem } => {
                write!(out, "the archive is refused at {}: {problem}", Shown(entry))
            }
        }
    }
}

fn way_out(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "; make the folder writable for this user or name another with `dir`",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; name a folder on a writable disk with `dir`, or open with readOnly: true"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space, what was committed before is safe"
        }
        _ => "",
    }
}

/// What a lock guards is in doubt once somebody panicked behind it.
impl<T> From<PoisonError<T>> for Error {
    fn from(_: PoisonError<T>) -> Self {
        Self::Broken
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
