//! Why an archive is refused.

use std::fmt;

/// What is wrong with an archive or one of its entries. Display is the rest of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub enum ArchiveProblem {
    /// The first bytes are neither tar nor gzip nor zstd.
    NotTar,
    /// The decompressor gave up.
    Compression { message: String },
    /// The end is missing.
    Truncated,
    /// Something follows the end.
    Trailing,
    /// A header does not match its checksum.
    Checksum,
    /// A field of a header is no number, is negative, or is more than 64 bits hold.
    Number { field: &'static str },
    /// A pax header or a long name that is malformed, or that describes nothing.
    Extension { what: &'static str },
    /// A link or folder that claims to have content.
    Content,
    /// More than the options allow.
    TooLarge { option: &'static str, limit: u64 },
    /// Decompressed to more than any real content does.
    Bomb { ratio_max: u64 },
    /// A second name of another file.
    HardLink,
    /// A symbolic link, where the options refuse them.
    SymbolicLink,
    /// A device, character or block.
    Device,
    /// A named pipe.
    Fifo,
    /// A file with holes.
    Sparse,
    /// A type of entry that is none of the above.
    UnknownType { letter: u8 },
    /// The memory of the machine does not hold the entry.
    NoMemory { bytes: u64 },
}

impl fmt::Display for ArchiveProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTar => write!(out, "it is no tar archive, plain or compressed with gzip or zstd"),
            Self::Compression { message } => write!(out, "it cannot be decompressed: {}", message.escape_debug()),
            Self::Truncated => write!(out, "it ends too early"),
            Self::Trailing => write!(out, "there are bytes after its end"),
            Self::Checksum => write!(out, "a header does not match its checksum"),
            Self::Number { field } => write!(out, "the {field} in a header is not a number that can be"),
            Self::Extension { what } => write!(out, "{what}"),
            Self::Content => write!(out, "a link or folder cannot have content"),
            Self::TooLarge { option, limit } => write!(out, "it is over the limit of {limit}; see the option {option}"),
            Self::Bomb { ratio_max } => {
                write!(
                    out,
                    "it decompresses to more than {ratio_max} times its size, as a bomb does; unpack it with another \
                     program and store the directory"
                )
            }
            Self::HardLink => write!(out, "hard links are refused; make the archive with --hard-dereference"),
            Self::SymbolicLink => {
                write!(out, "symbolic links are refused; allow those that stay inside with the option links")
            }
            Self::Device => write!(out, "devices are refused"),
            Self::Fifo => write!(out, "named pipes are refused"),
            Self::Sparse => write!(out, "sparse files are refused; make the archive without --sparse"),
            Self::UnknownType { letter } => {
                write!(out, "entries of type '{}' are refused", char::from(*letter).escape_debug())
            }
            Self::NoMemory { bytes } => write!(out, "there is no memory for its {bytes} bytes"),
        }
    }
}
