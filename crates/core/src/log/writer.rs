//! Appends to a log. One append is one commit. After an error the writer leaves the log under its name.

use super::{LastFrame, LogStart, NewTables};
use crate::format::FORMAT;
use crate::format::bytes::put_text;
use crate::format::checksum::{Checksum, FramePlace};
use crate::format::file_names::FileName;
use crate::format::frame::{FrameKind, Label, seal_parts};
use crate::manifest::KnownLog;
use crate::platform::vfs::{File, Stat, Vfs};
use std::io;
use std::sync::Arc;

/// The log that this process appends to.
#[derive(Debug)]
pub(crate) struct LogWriter {
    file: Arc<dyn File>,
    /// The file as it was created, and as this writer left it last.
    created: Stat,
    left: Option<Stat>,
    checksum: Checksum,
    pub(crate) writer: u32,
    /// Its name in the directory.
    pub(crate) name: String,
    pub(crate) start: LogStart,
    /// The logs that its commits may rest on.
    pub(crate) seen: Vec<KnownLog>,
    end: u64,
    last: Option<LastFrame>,
    /// Number of commits appended.
    pub(crate) commits: u64,
    /// The tables under its number.
    pub(crate) tables: NewTables,
    /// Whether the log pins blobs.
    pub(crate) pins: bool,
    /// Whether bytes wait for a sync, and whether the directory was synced since the log was created.
    unsynced: bool,
    named: bool,
    /// Whether zeros may follow the last append.
    padded: bool,
    /// Another log was written over the file.
    overwritten: bool,
}

impl LogWriter {
    /// Begins a log in a new file, whose `stat` is `created`.
    pub(crate) fn start(
        file: Arc<dyn File>,
        created: Stat,
        checksum: Checksum,
        writer: u32,
        start: LogStart,
    ) -> io::Result<Self> {
        let mut log = Self {
            file,
            created,
            left: None,
            checksum,
            writer,
            name: FileName::Log(writer).to_string(),
            start,
            seen: Vec::new(),
            end: 0,
            last: None,
            commits: 0,
            tables: NewTables::new(writer),
            pins: false,
            unsynced: true,
            named: false,
            padded: false,
            overwritten: false,
        };
        log.append(FrameKind::LogStart, u64::from(FORMAT), &[&start.write()], false)?;
        Ok(log)
    }

    /// Records the logs that later commits may rest on, and how many bytes they have. Without those logs, the commits
    /// do not count.
    pub(crate) fn see(&mut self, seen: Vec<KnownLog>) -> io::Result<()> {
        if seen.is_empty() {
            return Ok(());
        }
        let mut body = Vec::new();
        seen.iter().for_each(|log| log.write(&mut body));
        self.seen = seen;
        self.append(FrameKind::Seen, 0, &[&body], false)
    }

    /// Appends a commit in one vectored write. A `durable` commit is synced in the same call if nothing else waits for
    /// a sync.
    pub(crate) fn commit(
        &mut self,
        sequence: u64,
        prelude: &[u8],
        entries: &[u8],
        durable: bool,
    ) -> io::Result<u64> {
        let before = self.end;
        let is_synced = durable && self.named && !self.unsynced;
        self.append(FrameKind::Commit, sequence, &[prelude, entries], is_synced)?;
        self.commits += 1;
        Ok(self.end - before)
    }

    /// Pins blobs for later commits, or ends the pin.
    pub(crate) fn pin(&mut self, pins: bool) -> io::Result<()> {
        self.append(FrameKind::Pin, u64::from(pins), &[], false)?;
        self.pins = pins;
        Ok(())
    }

    /// Ends the log: no frame follows.
    pub(crate) fn seal(&mut self) -> io::Result<()> {
        self.append(FrameKind::Seal, 0, &[], false)
    }

    /// Appends a frame. With `is_synced`, it is durable when this returns, and zeros may follow it in the file.
    ///
    /// If another log was written over the file, a frame in the wrong place would damage that. So the file is left as
    /// it is, and `is_in_place` is false from then on.
    fn append(
        &mut self,
        kind: FrameKind,
        tag: u64,
        parts: &[&[u8]],
        is_synced: bool,
    ) -> io::Result<()> {
        self.overwritten |= !self.is_whole(self.file.len()?);
        if self.overwritten {
            return Ok(());
        }
        let place = FramePlace { file_number: u64::from(self.writer), offset: self.end };
        let label = Label { kind, tag, after_sync: !self.unsynced };
        let (head, padding) = seal_parts(&self.checksum, label, place, parts);
        let mut all: Vec<&[u8]> = Vec::with_capacity(parts.len() + 2);
        all.push(&head);
        all.extend_from_slice(parts);
        all.push(padding);
        self.padded = is_synced;
        if is_synced {
            self.file.append_durable(&all)?
        } else {
            self.file.append(&all)?
        }
        self.unsynced |= !is_synced;
        self.last = Some(LastFrame { offset: self.end, head });
        self.end += all.iter().map(|part| part.len() as u64).sum::<u64>();
        Ok(())
    }

    /// Whether bytes wait for a sync.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.unsynced
    }

    /// Whether the name survives a power failure.
    pub(crate) fn is_named(&self) -> bool {
        self.named
    }

    /// Syncs the bytes. The caller then syncs the directory and calls `synced`.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    pub(crate) fn synced(&mut self) {
        self.unsynced = false;
        self.named = true;
    }

    /// Whether the log still has its name and all its bytes: it was not claimed, removed, replaced or cut.
    pub(crate) fn is_in_place(&mut self, vfs: &dyn Vfs) -> io::Result<bool> {
        let found = vfs.stat(&self.name)?.filter(|_| !self.overwritten);
        self.left = found;
        Ok(found.is_some_and(|found| found.file == self.created.file && self.is_whole(found.bytes)))
    }

    /// Whether the file of a padded log is as this writer left it; to be called before an append. Another file that was
    /// copied over it may have any length, so only the time of its last change distinguishes the two.
    pub(crate) fn is_untouched(&mut self, vfs: &dyn Vfs) -> io::Result<bool> {
        let is_known = self.left.is_some() && self.padded;
        self.overwritten |= is_known && vfs.stat(&self.name)? != self.left;
        Ok(!self.overwritten)
    }

    /// Whether a file of that length has all bytes of the log and none of another one.
    fn is_whole(&self, bytes: u64) -> bool {
        bytes == self.end || self.padded && bytes > self.end
    }

    /// The file, for reading.
    pub(crate) fn file(&self) -> Arc<dyn File> {
        Arc::clone(&self.file)
    }

    /// Which file it is (`Stat::file`).
    pub(crate) fn file_id(&self) -> u64 {
        self.created.file
    }

    /// The last frame, for `LogView`.
    pub(crate) fn last(&self) -> Option<LastFrame> {
        self.last
    }

    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.end
    }
}

/// The bytes before the entries of a commit.
pub(crate) fn prelude(time_ms: u64, namespaces: &[(u16, &str, &str)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    out.extend_from_slice(&time_ms.to_le_bytes());
    out.extend_from_slice(&(namespaces.len() as u16).to_le_bytes());
    for (id, name, version) in namespaces {
        out.extend_from_slice(&id.to_le_bytes());
        put_text(&mut out, name);
        put_text(&mut out, version);
    }
    out
}
