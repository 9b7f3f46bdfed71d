//! One log as one process has read it.

use crate::error::{Error, Result};
use crate::format::checksum::Checksum;
use crate::format::file_names::FileName;
use crate::log::{LastFrame, LogHead, LogStart, Stop, read_head};
use crate::manifest::KnownLog;
use crate::platform::vfs::{File, Vfs};
use std::io::ErrorKind;
use std::sync::Arc;

/// A log, and how far it was read.
#[derive(Clone, Debug)]
pub(crate) struct LogView {
    pub(crate) writer: u32,
    pub(crate) name: FileName,
    pub(crate) file: Arc<dyn File>,
    /// Which file has the name (`Stat::file`), found before `file` was opened.
    pub(crate) file_id: u64,
    pub(crate) end: u64,
    /// The frame before `end`.
    pub(crate) last: Option<LastFrame>,
    /// How many bytes are known to survive a power failure.
    pub(crate) synced: u64,
    pub(crate) stop: Stop,
    pub(crate) head: LogHead,
    /// The log does not belong to the manifest (`lineage.rs`), and none of it was read.
    pub(crate) is_foreign: bool,
    pub(crate) commits: u64,
    /// Whether the log pins blobs.
    pub(crate) pins: bool,
}

impl LogView {
    /// A log that was not read yet.
    pub(crate) fn new(writer: u32, name: FileName, file: Arc<dyn File>, file_id: u64) -> Self {
        let (end, last, synced, commits, pins, is_foreign) = (0, None, 0, 0, false, false);
        let (stop, head) = (Stop::End, LogHead::default());
        Self {
            writer,
            name,
            file,
            file_id,
            end,
            last,
            synced,
            stop,
            head,
            is_foreign,
            commits,
            pins,
        }
    }

    /// Marks the log as not read.
    pub(crate) fn forget(&mut self) {
        (self.end, self.last, self.synced, self.commits, self.stop) = (0, None, 0, 0, Stop::End);
    }

    /// Whether the name still has the file that was read, and the file its start, its length and its last frame.
    /// Another copy of the cache may have been put over the directory, with another log of this number, or an earlier
    /// copy of this one.
    pub(crate) fn is_in_place(&self, vfs: &dyn Vfs, checksum: &Checksum) -> Result<bool> {
        let name = self.name.to_string();
        let found = vfs.stat(&name).map_err(|source| Error::io("check", &name, source))?;
        let is_same_file =
            found.is_some_and(|found| found.file == self.file_id && found.bytes >= self.end);
        if !is_same_file || self.start().is_none() {
            return Ok(is_same_file);
        }
        let is_last_same = self.last.map_or(Ok(true), |last| last.is_in_place(&*self.file));
        let is_last_same = is_last_same.map_err(|source| Error::io("read", &name, source))?;
        Ok(is_last_same && read_head(&*self.file, checksum, self.writer)?.start == self.start())
    }

    /// The start of the log; `None` = it is not whole.
    pub(crate) fn start(&self) -> Option<LogStart> {
        self.head.start
    }

    /// Whether this is the log that another file refers to.
    pub(crate) fn is(&self, known: &KnownLog) -> bool {
        self.writer == known.writer && self.start().is_some_and(|start| start.id == known.id)
    }

    /// Whether no commit can follow, or the writer would notice that the log was claimed.
    pub(crate) fn is_done(&self) -> Result<bool> {
        if self.stop == Stop::Sealed || self.start().is_some_and(|start| !start.locked) {
            return Ok(true);
        }
        match self.file.try_lock() {
            Ok(free) => Ok(free),
            // This process cannot detect whether the writer lives.
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(false),
            Err(source) => Err(Error::io("lock", &self.name.to_string(), source)),
        }
    }

    /// Whether this process can detect if the log's lock is held.
    pub(crate) fn is_lock_testable(&self) -> bool {
        !self.file.try_lock().is_err_and(|error| error.kind() == ErrorKind::Unsupported)
    }
}
