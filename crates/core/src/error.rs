//! The one error of the engine. `code()` is stable API; the text names what failed, the value, and what to do.

mod archive;
mod path;
mod shown;

pub use archive::ArchiveProblem;
pub use path::PathProblem;
pub use shown::Shown;
use std::fmt;
use std::io;
use std::sync::PoisonError;

/// The result of a call to the engine. An error is a pointer, because each function that returns a result copies it.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// Why a call failed. A damaged file is not an error: its entries are misses, see `Store::status`.
#[derive(Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names describe the fields")]
pub enum Error {
    /// A file operation failed.
    Io { operation: &'static str, name: String, source: io::Error },
    /// An argument is longer than the format can hold.
    TooLong { field: &'static str, bytes: u64, bytes_max: u64 },
    /// A file of a tree that is too long to be stored.
    LongFile { path: String, bytes: u64, bytes_max: u64 },
    /// A secret short enough to be guessed.
    ShortSecret { bytes: usize, bytes_min: usize },
    /// A namespace id that this handle has not issued.
    UnknownNamespace { id: u32 },
    /// The cache was written in a newer format.
    NewerFormat { name: String, found: u32, supported: u32 },
    /// Bytes that do not match their checksum; only for callers that ask for damage as an error.
    Damaged { name: String, offset: u64, what: &'static str },
    /// A file of a tree is missing or damaged in the cache.
    FileLost { path: String },
    /// The store was opened with `read_only`.
    ReadOnly,
    /// The directory has files with names of the format, and none that Varve wrote.
    Foreign { name: String },
    /// The directory of a new layer has a cache or a layer.
    Occupied { name: String },
    /// A base of a delta that cannot be opened.
    NoLayer { name: String },
    /// The store was closed.
    Closed,
    /// A panic left a lock poisoned. This store cannot be used any more; its files are intact.
    Broken,
    /// The caller asked to stop.
    Cancelled,
    /// Other processes changed the cache faster than this call could follow.
    Busy { operation: &'static str, attempts: u32 },
    /// All numbers of writers or commits are used, the cache has too many namespaces, or a commit is too large.
    Exhausted { field: &'static str, limit: u64 },
    /// A path of a manifest, directory or archive that is not safe to write on every system.
    UnsafePath { path: String, problem: PathProblem },
    /// An archive that is invalid or not allowed; `entry` is empty if the problem is not in one entry.
    Archive { entry: String, problem: ArchiveProblem },
}

impl Error {
    /// The error of a result.
    #[cold]
    #[inline(never)]
    pub fn boxed(self) -> Box<Self> {
        Box::new(self)
    }

    /// Wraps a failed file operation.
    #[cold]
    #[inline(never)]
    pub fn io(operation: &'static str, name: &str, source: io::Error) -> Box<Self> {
        Self::Io { operation, name: name.to_owned(), source }.boxed()
    }

    /// Refuses a path.
    #[cold]
    #[inline(never)]
    pub fn unsafe_path(path: &str, problem: PathProblem) -> Box<Self> {
        Self::UnsafePath { path: path.to_owned(), problem }.boxed()
    }

    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "PERMISSION",
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge => "DISK_FULL",
                _ => "IO",
            },
            Self::TooLong { field: "key", .. } => "KEY_TOO_LONG",
            Self::TooLong { field: "value", .. } | Self::LongFile { .. } => "VALUE_TOO_LONG",
            Self::TooLong { .. }
            | Self::ShortSecret { .. }
            | Self::UnknownNamespace { .. }
            | Self::Occupied { .. }
            | Self::NoLayer { .. } => "INVALID_ARGUMENT",
            Self::NewerFormat { .. } => "NEWER_FORMAT",
            Self::Foreign { .. } => "NOT_A_CACHE",
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

const LONG_FILE: &str = "the limit of a stored file is";
const SPLIT: &str = "leave it out or split it";
const FOREIGN: &str = "so the directory is not used as a cache and its files stay as they are; choose another \
     directory with `dir`";
const NAMESPACES: &str = "which is the limit, because each has files of its own; put the names into the keys of one \
     namespace, or remove the cache directory";

impl Error {
    /// The text for files and archives that are refused.
    fn fmt_refusal(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LongFile { path, bytes, bytes_max } => {
                write!(out, "{} has {bytes} bytes, {LONG_FILE} {bytes_max}; {SPLIT}", Shown(path))
            }
            Self::UnsafePath { path, problem } => {
                write!(out, "{} is refused: it {problem}", Shown(path))
            }
            Self::Archive { entry, problem } if entry.is_empty() => {
                write!(out, "the archive is refused: {problem}")
            }
            Self::Archive { entry, problem } => {
                write!(out, "the archive is refused at {}: {problem}", Shown(entry))
            }
            other => write!(out, "{}", other.code()),
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
            Self::ShortSecret { bytes, bytes_min } => {
                write!(out, "secret has {bytes} bytes, but needs at least {bytes_min} random bytes")
            }
            Self::UnknownNamespace { id } => {
                write!(out, "namespace {id} is unknown to this handle; open it by name first")
            }
            Self::NewerFormat { name, found, supported } => write!(
                out,
                "'{name}' has format {found}, this version reads up to {supported}; update varve or choose another \
                 directory"
            ),
            Self::Damaged { name, offset, what } => {
                write!(out, "{what} in '{name}' at byte {offset} does not match its checksum")
            }
            Self::FileLost { path } => {
                write!(
                    out,
                    "the content of {} is missing or damaged; treat it as a miss and create it again",
                    Shown(path)
                )
            }
            Self::ReadOnly => {
                write!(
                    out,
                    "the cache was opened with readOnly: true, or is a sealed layer; open a writable one"
                )
            }
            Self::Foreign { name } => write!(out, "Varve did not write '{name}', {FOREIGN}"),
            Self::Occupied { name } => {
                write!(
                    out,
                    "the directory of the layer already has '{name}'; choose a directory without a cache"
                )
            }
            Self::NoLayer { name } => {
                write!(
                    out,
                    "{} is not a readable layer; name a directory that seal made",
                    Shown(name)
                )
            }
            Self::Closed => write!(out, "the cache is closed; open it again to continue"),
            Self::Broken => {
                write!(
                    out,
                    "internal error in an earlier call: the cache is closed, its files are intact; open it again"
                )
            }
            Self::Cancelled => write!(out, "stopped on request; no committed entry was changed"),
            Self::Busy { operation, attempts } => {
                write!(
                    out,
                    "cannot {operation}: other processes changed the cache {attempts} times meanwhile; try again"
                )
            }
            Self::Exhausted { field: "namespaces", limit } => {
                write!(out, "the cache has {limit} namespaces, {NAMESPACES}")
            }
            Self::Exhausted { field, limit } => {
                write!(
                    out,
                    "the cache has used all of its {limit} {field}; remove its directory to start again"
                )
            }
            Self::UnsafePath { .. } | Self::Archive { .. } | Self::LongFile { .. } => {
                self.fmt_refusal(out)
            }
        }
    }
}

fn way_out(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            "; make the directory writable for this user or choose another with `dir`"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "; choose a directory on a writable disk with `dir`, or open with readOnly: true"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space; earlier commits are intact"
        }
        _ => "",
    }
}

/// A lock is poisoned once a thread has panicked while holding it.
impl<T> From<PoisonError<T>> for Box<Error> {
    fn from(_: PoisonError<T>) -> Self {
        Error::Broken.boxed()
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
