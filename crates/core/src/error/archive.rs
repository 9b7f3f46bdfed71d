//! Why an archive is refused.

use std::fmt;

/// What is wrong with an archive or one of its entries. `Display` completes a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names describe the fields")]
pub enum ArchiveProblem {
    /// The first bytes are not those of tar, gzip or zstd.
    NotTar,
    /// The decompressor failed.
    Compression { message: String },
    /// The end is missing.
    Truncated,
    /// Bytes follow the end.
    Trailing,
    /// A header does not match its checksum.
    Checksum,
    /// A numeric field of a header is invalid, negative, or longer than 64 bits.
    Number { field: &'static str },
    /// A pax header or a long name is malformed, or belongs to no entry.
    Extension { what: &'static str },
    /// A link or directory has content.
    Content,
    /// The archive is over a limit of the options.
    TooLarge { option: &'static str, limit: u64 },
    /// The archive decompresses to more bytes than real content does.
    Bomb { ratio_max: u64 },
    /// A second name of another file.
    HardLink,
    /// A symbolic link, which the options refuse.
    SymbolicLink,
    /// A character or block device.
    Device,
    /// A named pipe.
    Fifo,
    /// A file with holes.
    Sparse,
    /// A type of entry that is not supported.
    UnknownType { letter: u8 },
    /// The entry does not fit into the memory of the machine.
    NoMemory { bytes: u64 },
}

impl fmt::Display for ArchiveProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTar => {
                write!(out, "it is not a tar archive, plain or compressed with gzip or zstd")
            }
            Self::Compression { message } => {
                write!(out, "it cannot be decompressed: {}", message.escape_debug())
            }
            Self::Truncated => write!(out, "it ends too early"),
            Self::Trailing => write!(out, "there are bytes after its end"),
            Self::Checksum => write!(out, "a header does not match its checksum"),
            Self::Number { field } => {
                write!(out, "the {field} in a header is not a number or out of range")
            }
            Self::Extension { what } => write!(out, "{what}"),
            Self::Content => write!(out, "a link or directory cannot have content"),
            Self::TooLarge { option, limit } => {
                write!(out, "it is over the limit of {limit}; see the option {option}")
            }
            Self::Bomb { ratio_max } => {
                write!(
                    out,
                    "it decompresses to more than {ratio_max} times its size, as a bomb does; unpack it with another \
                     program and store the directory"
                )
            }
            Self::HardLink => {
                write!(out, "hard links are refused; make the archive with --hard-dereference")
            }
            Self::SymbolicLink => {
                write!(
                    out,
                    "symbolic links are refused; allow those that stay inside with the option links"
                )
            }
            Self::Device => write!(out, "devices are refused"),
            Self::Fifo => write!(out, "named pipes are refused"),
            Self::Sparse => {
                write!(out, "sparse files are refused; make the archive without --sparse")
            }
            Self::UnknownType { letter } => {
                write!(out, "entries of type '{}' are refused", char::from(*letter).escape_debug())
            }
            Self::NoMemory { bytes } => write!(out, "its {bytes} bytes do not fit into memory"),
        }
    }
}
