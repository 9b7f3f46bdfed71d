//! A handle on a simulated file. Dropping it releases its lock, as the death of a process does.

use super::SimVfs;
use super::fault::{Call, Effect};
use super::journal::InodeId;
use crate::vfs::File;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

pub(super) struct SimFile {
    vfs: SimVfs,
    inode: InodeId,
    writable: bool,
    handle: u64,
}

impl SimFile {
    pub(super) fn new(vfs: SimVfs, inode: InodeId, writable: bool) -> Self {
        let mut state = vfs.state();
        state.inode(inode).handles += 1;
        let handle = state.next_handle();
        drop(state);
        Self { vfs, inode, writable, handle }
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut state = self.vfs.state();
        let file = state.inode(self.inode);
        file.handles -= 1;
        if file.locked_by == Some(self.handle) {
            file.locked_by = None;
        }
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

    fn sync(&self) -> io::Result<()> {
        let mut state = self.vfs.state();
        match state.faults.strike(Call::Sync) {
            None => state.sync(self.inode),
            Some(Effect::After(error)) => state.sync(self.inode).and(Err(error.into())),
            Some(Effect::Lose { pages, error }) => {
                state.lose(self.inode, pages);
                Err(error.into())
            }
            Some(effect) => Err(effect.error()),
        }
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.vfs.call(Call::TryLock, |state| {
            if !state.options.locks {
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
