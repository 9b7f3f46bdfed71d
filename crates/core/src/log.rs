//! The log of one writer: a start frame, one frame for each commit, and finally a seal. While its writer stores blobs
//! that no commit names yet (`blobs.rs`), the log pins them.
//!
//! ```text
//! start body:  "LOCK" = the writer holds the file's lock while it lives, "NAME" = it has none;
//!              u32 1 = the writer has layers below the cache, 0 = it has none |
//!              u64 id of the log, random | u64 id of the manifest it was begun on
//! seen body:   count x (u32 writer, u64 id, u64 end) synced logs that its commits may rest on, and their lengths
//! commit body: u64 time in ms | u16 count | count x (u16 id, text name, text version) | entries until the end
//! pin body:    nothing; tag 1 = pin: blobs are stored from now on that only later commits will name, 0 = unpin
//! seal body:   nothing
//! ```
//! The tag of a commit frame is its sequence number, the tag of a start frame is the format.

mod new_tables;
mod reader;
mod writer;

/// How other processes detect whether the writer of a log lives.
const LOCK: &[u8; 4] = b"LOCK";
const NAME: &[u8; 4] = b"NAME";

pub(crate) use new_tables::NewTables;
pub(crate) use reader::{LogCommit, LogHead, Stop, read_head, scan};
pub(crate) use writer::{LogWriter, prelude};

use crate::format::bytes::Reader;
use crate::format::frame::HEAD_BYTES;
use crate::platform::vfs::File;
use std::io;

/// The head of the last frame that was read, or written. If it is still in its place, no earlier copy of the log was
/// put over the file: that may be as long because of the zeros at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastFrame {
    offset: u64,
    head: [u8; HEAD_BYTES],
}

impl LastFrame {
    pub(crate) fn read(file: &dyn File, offset: u64) -> io::Result<Self> {
        let mut head = [0; HEAD_BYTES];
        file.read_into(offset, &mut head)?;
        Ok(Self { offset, head })
    }

    pub(crate) fn is_in_place(&self, file: &dyn File) -> io::Result<bool> {
        match Self::read(file, self.offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            found => Ok(found?.head == self.head),
        }
    }
}

/// The start frame of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogStart {
    /// Whether its writer holds the file's lock while it lives.
    pub(crate) locked: bool,
    /// Whether its writer has layers below the cache, so that its deletes may hide entries of them.
    pub(crate) layered: bool,
    /// A random number.
    pub(crate) id: u64,
    /// The id of the manifest on which the log was begun.
    pub(crate) base: u64,
}

impl LogStart {
    fn write(self) -> Vec<u8> {
        let lock: &[u8] = if self.locked { LOCK } else { NAME };
        let layered = u32::from(self.layered).to_le_bytes();
        [lock, &layered, &self.id.to_le_bytes(), &self.base.to_le_bytes()].concat()
    }

    fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let locked = reader.take(LOCK.len())? == LOCK;
        let layered = reader.u32()? != 0;
        let start = Self { locked, layered, id: reader.u64()?, base: reader.u64()? };
        reader.is_empty().then_some(start)
    }
}
