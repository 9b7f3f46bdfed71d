//! Changes of files that were recorded as system calls. Changes of names are calls of the `Vfs`. A file has a number:
//! first the files at the start, in the order in which they were set, then those created.

use super::SimVfs;
use super::journal::{InodeId, Operation};

impl SimVfs {
    /// Writes bytes at any place of a file.
    pub fn write_at(&self, file: InodeId, offset: u64, bytes: Vec<u8>) {
        let mut state = self.state();
        state.inode(file).content.pad(offset);
        state.write(file, offset, &bytes.into(), 0);
    }

    /// Cuts a file off at this length.
    pub fn cut(&self, file: InodeId, length: u64) {
        self.state().cut(file, length);
    }

    /// Syncs a file.
    pub fn sync_file(&self, file: InodeId) {
        self.state().journal.push(Operation::Sync { inode: file });
    }

    /// Syncs only the newest write of a file, as a handle opened with `O_DSYNC` does.
    pub fn sync_newest(&self, file: InodeId) {
        self.state().journal.push(Operation::SyncNewest { inode: file });
    }
}
