//! Why a path is refused: in a manifest, in a directory, in an archive.

use super::Shown;
use std::fmt;

/// The rule that a path breaks. `Display` completes a sentence that begins with the path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names describe the fields")]
pub enum PathProblem {
    /// The path is empty.
    Empty,
    /// The path is not valid UTF-8.
    NotUtf8,
    /// The whole path is too long.
    TooLong { bytes: usize, bytes_max: usize },
    /// The path has too many nested directories.
    TooManyParts { parts: usize, parts_max: usize },
    /// One name is longer than file systems take.
    PartTooLong { part: String, bytes_max: usize },
    /// `/a`
    Absolute,
    /// `//host/share`, `\\host\share`, `\\?\device`
    NetworkPath,
    /// `C:a`
    Drive,
    /// `a\b`
    Backslash,
    /// NUL, a line break, an escape: any character of Unicode's category Cc.
    Control { character: char },
    /// `a:b`, a second stream of a file on Windows.
    Colon,
    /// `a//b`, `a/`
    EmptyPart,
    /// `a/./b`
    Dot,
    /// `a/../b`
    DotDot,
    /// `aux.js`, a device on Windows in any directory and with any extension.
    Reserved { part: String },
    /// `a.` or `a `, which Windows treats as `a`.
    TrailingDotOrSpace { part: String },
    /// Two names that differ by case only.
    SameButCase { path: String, other: String },
    /// Two names that look the same, one composed (NFC), one decomposed (NFD).
    SameButForm { path: String, other: String },
    /// A file or link that is the directory of another entry.
    FileAndFolder { path: String },
    /// The same path twice.
    Repeated,
    /// A link, a file or a directory that is not empty blocks the path in the target.
    Blocked { part: String },
    /// Not a regular file: a link, a device, a pipe, a socket.
    NotAFile,
    /// A link whose target is not below the root.
    LinkOutside { target: String },
    /// A link whose target itself breaks a rule.
    LinkTarget { target: String, problem: Box<PathProblem> },
}

impl fmt::Display for PathProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(out, "is empty; a path names a file below its root"),
            Self::NotUtf8 => write!(out, "is not UTF-8"),
            Self::TooLong { bytes, bytes_max } => {
                write!(out, "has {bytes} bytes, the limit is {bytes_max}")
            }
            Self::TooManyParts { parts, parts_max } => {
                write!(out, "has {parts} parts, the limit is {parts_max}")
            }
            Self::PartTooLong { part, bytes_max } => {
                write!(
                    out,
                    "has a part of {} bytes, the limit is {bytes_max}: {}",
                    part.len(),
                    Shown(part)
                )
            }
            Self::Absolute => write!(out, "is absolute; paths are relative to their root"),
            Self::NetworkPath => {
                write!(out, "names a host or a device; paths are relative to their root")
            }
            Self::Drive => {
                write!(out, "begins with a drive letter; paths are relative to their root")
            }
            Self::Backslash => write!(out, "has a backslash, which Windows treats as '/'"),
            Self::Control { character } => {
                write!(out, "has the control character U+{:04X}", u32::from(*character))
            }
            Self::Colon => {
                write!(out, "has ':', which Windows treats as a second stream of a file")
            }
            Self::EmptyPart => write!(out, "has an empty part: '//' or '/' at its end"),
            Self::Dot => write!(out, "has the part '.'"),
            Self::DotDot => write!(out, "has the part '..', which leads out of a directory"),
            Self::Reserved { part } => {
                write!(out, "has the part {}, a device on Windows", Shown(part))
            }
            Self::TrailingDotOrSpace { part } => {
                write!(out, "has the part {}: Windows drops a dot or space at the end", Shown(part))
            }
            Self::SameButCase { path, other } => {
                write!(
                    out,
                    "conflicts with another name: {} and {} differ by case only",
                    Shown(path),
                    Shown(other)
                )
            }
            Self::SameButForm { path, other } => {
                let (path, other) = (path.escape_default(), other.escape_default()); // they look the same
                write!(
                    out,
                    "conflicts with another name: '{path}' and '{other}' are one text in two forms of Unicode"
                )
            }
            Self::FileAndFolder { path } => {
                write!(
                    out,
                    "conflicts with another entry: {} is a file or link in one and a directory in the other",
                    Shown(path)
                )
            }
            Self::Repeated => write!(out, "occurs twice"),
            Self::Blocked { part } => {
                write!(
                    out,
                    "is blocked by {} in the target, which is not replaced; remove it",
                    Shown(part)
                )
            }
            Self::NotAFile => {
                write!(out, "is not a regular file but a link, a device, a pipe or a socket")
            }
            Self::LinkOutside { target } => {
                write!(out, "is a link to {}, which is not below its root", Shown(target))
            }
            Self::LinkTarget { target, problem } => {
                write!(out, "is a link to {}, which {problem}", Shown(target))
            }
        }
    }
}
