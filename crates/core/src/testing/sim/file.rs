//! A handle on a simulated file. Dropping it releases its lock, as the death of a process does.

use super::SimVfs;
use super::fault::{Call, Effect};
use super::journal::InodeId;
use super::state::State;
use crate::platform::vfs::File;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) struct SimFile {
    vfs: SimVfs,
    inode: InodeId,
    writable: bool,
    handle: u64,
    padded: Mutex<Padded>,
    /// Failed syncs of the file that this handle has reported.
    losses: AtomicU32,
}

/// A file written past the page cache, as `varve-disk` does. The last block is filled with zeros, which the next append
/// overwrites. The number of zeros written ahead grows with the bytes appended.
#[derive(Default)]
struct Padded {
    /// The end of the appended bytes. `None` = the file has no padding.
    end: Option<u64>,
    /// The length of the file then.
    reserved: u64,
    appended: usize,
}

const BLOCK_BYTES: u64 = 4096;

/// From this many bytes on, zeros are written ahead, as many as were appended.
const AHEAD_BYTES_MIN: usize = 2 << 10;

impl SimFile {
    pub(super) fn new(vfs: SimVfs, inode: InodeId, writable: bool) -> Self {
        let mut state = vfs.state();
        let file = state.inode(inode);
        file.handles += 1;
        file.writers += usize::from(writable);
        let losses = AtomicU32::new(file.losses);
        let handle = state.next_handle();
        drop(state);
        Self { vfs, inode, writable, handle, padded: Mutex::default(), losses }
    }

    fn padded(&self) -> MutexGuard<'_, Padded> {
        self.padded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts the zeros off, unless another file was written over this one.
    fn leave(&self, state: &mut State) {
        let mut padded = self.padded();
        if let Some(end) = padded.end.take()
            && state.inode_ref(self.inode).content.len() == padded.reserved
        {
            state.cut(self.inode, end);
        }
    }

    /// One write of whole blocks.
    fn append_padded(&self, state: &mut State, bytes: &[u8]) {
        let mut padded = self.padded();
        let length = state.inode_ref(self.inode).content.len();
        let offset = padded.end.unwrap_or(length);
        let end = offset + bytes.len() as u64;
        let mut reserved = end.next_multiple_of(BLOCK_BYTES);
        if reserved > length && padded.appended >= AHEAD_BYTES_MIN {
            reserved += (padded.appended as u64).next_multiple_of(BLOCK_BYTES);
        }
        let mut all = bytes.to_vec();
        all.resize((reserved - offset) as usize, 0);
        state.write(self.inode, offset, &all.into(), (reserved - end) as usize);
        padded.end = Some(end);
        padded.reserved = length.max(reserved);
        padded.appended += bytes.len();
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut state = self.vfs.state();
        if !state.options.kills {
            self.leave(&mut state);
        }
        state.inode(self.inode).writers -= usize::from(self.writable);
        state.close(self.inode, self.handle);
    }
}

impl File for SimFile {
    fn len(&self) -> io::Result<u64> {
        self.vfs.call(Call::Len, |state| Ok(state.inode_ref(self.inode).content.len()))
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        self.vfs.call(Call::Read, |state| {
            let bytes = state.inode_ref(self.inode).content.read(offset, length);
            bytes.map(Cow::Owned).ok_or_else(|| ErrorKind::UnexpectedEof.into())
        })
    }

    fn append(&self, parts: &[&[u8]]) -> io::Result<()> {
        if !self.writable {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let bytes: Arc<[u8]> = parts.concat().into();
        let mut state = self.vfs.state();
        self.leave(&mut state);
        match state.faults.strike(Call::Append) {
            None => state.append(self.inode, &bytes),
            Some(Effect::After(error)) => state.append(self.inode, &bytes).and(Err(error.into())),
            Some(Effect::Short { bytes: written, error }) => {
                let prefix = bytes.get(..written.min(bytes.len())).unwrap_or_default();
                state.append(self.inode, &prefix.into()).and(Err(error.into()))
            }
            Some(effect) => Err(effect.error()),
        }
    }

    fn append_durable(&self, parts: &[&[u8]]) -> io::Result<()> {
        let mut state = self.vfs.state();
        let is_padded =
            state.options.pads && state.inode(self.inode).locked_by == Some(self.handle);
        let bytes = parts.concat();
        if is_padded && self.writable && !bytes.is_empty() {
            if let Some(effect) = state.faults.strike(Call::Append) {
                return Err(effect.error());
            }
            self.append_padded(&mut state, &bytes);
            drop(state);
            self.vfs.sync_newest(self.inode);
            return Ok(());
        }
        drop(state);
        self.append(parts)?;
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.vfs.state();
        let strike = state.faults.strike(Call::Sync);
        if let Some(Effect::Lose { pages, .. }) = strike {
            state.lose(self.inode, pages, self.writable);
        }
        // As Linux does since 4.13: a sync that failed for one handle fails once for every other open handle.
        let losses = state.inode(self.inode).losses;
        let is_news = self.losses.swap(losses, Ordering::Relaxed) < losses;
        match strike {
            None if is_news => Err(ErrorKind::Other.into()),
            None => state.sync(self.inode),
            Some(Effect::After(error)) => state.sync(self.inode).and(Err(error.into())),
            Some(effect) => Err(effect.error()),
        }
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.vfs.call(Call::TryLock, |state| {
            if !state.options.locks || self.vfs.is_lockless {
                return Err(ErrorKind::Unsupported.into());
            }
            Ok(*state.inode(self.inode).locked_by.get_or_insert(self.handle) == self.handle)
        })
    }
}

impl fmt::Debug for SimFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SimFile(#{}, handle {})", self.inode, self.handle)
    }
}
