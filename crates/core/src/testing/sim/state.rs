//! A simulated directory as running processes see it, and the journal of its changes.

use super::content::Content;
use super::fault::{Faults, LostPages};
use super::journal::{Image, InodeId, Names, Operation};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// The abilities of the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) links: bool,
    pub(super) locks: bool,
    pub(super) windows: bool,
    pub(super) read_only: bool,
    /// Durable appends are padded with zeros.
    pub(super) pads: bool,
    /// Processes that drop a handle are killed, and do not cut off zeros.
    pub(super) kills: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            links: true,
            locks: true,
            windows: false,
            read_only: false,
            pads: false,
            kills: false,
        }
    }
}

/// A file, independent of its names. Never freed, because a history is short.
#[derive(Debug, Default)]
pub(super) struct Inode {
    pub(super) content: Content,
    /// How often it was damaged.
    pub(super) damages: u64,
    /// Length that survives a failed sync.
    pub(super) synced: u64,
    pub(super) handles: usize,
    /// Number of handles that append.
    pub(super) writers: usize,
    /// Syncs that failed and lost bytes.
    pub(super) losses: u32,
    pub(super) locked_by: Option<u64>,
}

/// The complete state of a directory.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) options: Options,
    pub(super) names: Names,
    inodes: Vec<Inode>,
    /// The directory before the first entry of the journal; all of it is durable.
    pub(super) start: Image,
    pub(super) journal: Vec<Operation>,
    pub(super) faults: Faults,
    handles_given: u64,
    /// On Windows: names that go once the last handle of the file is closed.
    going: BTreeSet<Arc<str>>,
    /// On Windows: another program has this file open, and its name cannot be changed.
    pub(super) watched: Option<Arc<str>>,
}

impl State {
    pub(super) fn new(options: Options, start: Image) -> Self {
        let mut state = Self { options, ..Self::default() };
        let synced = |content: &Content| Inode {
            content: content.clone(),
            synced: content.len(),
            ..Inode::default()
        };
        state.inodes = start.contents.iter().map(synced).collect();
        state.names = start.names.clone();
        state.start = start;
        state
    }

    /// The directory as it is now.
    pub(super) fn image(&self) -> Image {
        let contents = self.inodes.iter().map(|inode| inode.content.clone()).collect();
        Image { names: self.names.clone(), contents }
    }

    /// Declares everything durable and clears the journal.
    pub(super) fn settle(&mut self) {
        self.inodes.iter_mut().for_each(|inode| inode.synced = inode.content.len());
        self.start = self.image();
        self.journal.clear();
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "only this state gives out the numbers of its files"
    )]
    pub(super) fn inode(&mut self, inode: InodeId) -> &mut Inode {
        &mut self.inodes[inode]
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "only this state gives out the numbers of its files"
    )]
    pub(super) fn inode_ref(&self, inode: InodeId) -> &Inode {
        &self.inodes[inode]
    }

    pub(super) fn find(&self, name: &str) -> io::Result<InodeId> {
        let found = self.names.get(name).filter(|_| !self.going.contains(name));
        found.copied().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// A new file without a name and without an entry in the journal.
    pub(super) fn add_inode(&mut self) -> InodeId {
        self.inodes.push(Inode::default());
        self.inodes.len() - 1
    }

    pub(super) fn create_new(&mut self, name: &str) -> io::Result<InodeId> {
        self.check_free(name)?;
        self.check_writable()?;
        let inode = self.add_inode();
        self.change_names(Operation::Create { name: name.into(), inode });
        Ok(inode)
    }

    pub(super) fn link(&mut self, source: &str, target: &str) -> io::Result<()> {
        let inode = self.find(source)?;
        self.check_free(target)?;
        self.check_writable()?;
        if !self.options.links {
            return Err(ErrorKind::Unsupported.into());
        }
        self.change_names(Operation::Link { target: target.into(), inode });
        Ok(())
    }

    pub(super) fn rename(&mut self, source: &str, target: &str) -> io::Result<()> {
        let inode = self.find(source)?;
        self.check_writable()?;
        self.check_unwatched(source)?;
        self.check_unwatched(target)?;
        self.check_replaceable(target)?;
        // POSIX: if both names are of the same file already, nothing happens and both stay.
        if self.names.get(target) != Some(&inode) {
            self.change_names(Operation::Rename {
                source: source.into(),
                target: target.into(),
                inode,
            });
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        let inode = self.find(name)?;
        self.check_writable()?;
        self.check_unwatched(name)?;
        if self.options.windows && self.inode_ref(inode).handles > 0 {
            self.going.insert(name.into());
        } else {
            self.change_names(Operation::Remove { name: name.into() });
        }
        Ok(())
    }

    /// Closes a handle.
    pub(super) fn close(&mut self, inode: InodeId, handle: u64) {
        let file = self.inode(inode);
        file.handles -= 1;
        if file.locked_by == Some(handle) {
            file.locked_by = None;
        }
        if file.handles == 0 && !self.going.is_empty() {
            let leads_here = |name: &&Arc<str>| self.names.get(&**name) == Some(&inode);
            let gone: Vec<Arc<str>> = self.going.iter().filter(leads_here).cloned().collect();
            for name in gone {
                self.going.remove(&name);
                self.change_names(Operation::Remove { name });
            }
        }
    }

    pub(super) fn sync_folder(&mut self, folder: &str) -> io::Result<()> {
        // Windows has no such call: the disk's own journal keeps the names in order.
        if !self.options.windows {
            self.journal.push(Operation::SyncFolder { folder: folder.into() });
        }
        Ok(())
    }

    pub(super) fn append(&mut self, inode: InodeId, bytes: &Arc<[u8]>) -> io::Result<()> {
        self.check_writable()?;
        if bytes.is_empty() {
            return Ok(());
        }
        let offset = self.inode_ref(inode).content.len();
        self.write(inode, offset, bytes, 0);
        Ok(())
    }

    /// Writes bytes at `offset` that end with this many zeros of padding.
    pub(super) fn write(&mut self, inode: InodeId, offset: u64, bytes: &Arc<[u8]>, padding: usize) {
        self.inode(inode).content.write(offset, bytes, 0..bytes.len());
        self.journal.push(Operation::Append { inode, offset, bytes: bytes.clone(), padding });
    }

    /// Cuts off the content from `length` on.
    pub(super) fn cut(&mut self, inode: InodeId, length: u64) {
        let content = &mut self.inode(inode).content;
        if content.len() > length {
            content.truncate(length);
            self.journal.push(Operation::Cut { inode, length });
        }
    }

    pub(super) fn sync(&mut self, inode: InodeId) -> io::Result<()> {
        let file = self.inode(inode);
        file.synced = file.content.len();
        self.journal.push(Operation::Sync { inode });
        Ok(())
    }

    /// Applies a failed sync to the bytes that it should have written. They never become durable. A file to which
    /// another handle appends does not shrink.
    pub(super) fn lose(&mut self, inode: InodeId, pages: LostPages, by_writer: bool) {
        let file = self.inode(inode);
        file.losses += 1;
        let others_write = file.writers > usize::from(by_writer);
        let pages =
            if others_write && pages == LostPages::Gone { LostPages::Zeroed } else { pages };
        let length = file.content.len();
        match pages {
            LostPages::Cached => {}
            LostPages::Gone => file.content.truncate(file.synced),
            LostPages::Zeroed => {
                file.content.truncate(file.synced);
                file.content.pad(length);
            }
        }
        self.journal.push(Operation::Lose { inode, pages });
    }

    pub(super) fn next_handle(&mut self) -> u64 {
        self.handles_given += 1;
        self.handles_given
    }

    fn change_names(&mut self, operation: Operation) {
        operation.apply_to(&mut self.names);
        self.journal.push(operation);
    }

    fn check_free(&self, name: &str) -> io::Result<()> {
        if self.names.contains_key(name) { Err(ErrorKind::AlreadyExists.into()) } else { Ok(()) }
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.options.read_only { Err(ErrorKind::ReadOnlyFilesystem.into()) } else { Ok(()) }
    }

    /// On Windows an open file cannot be replaced.
    fn check_replaceable(&self, name: &str) -> io::Result<()> {
        let is_open = self.names.get(name).is_some_and(|&inode| self.inode_ref(inode).handles > 0);
        if self.options.windows && is_open {
            Err(ErrorKind::PermissionDenied.into())
        } else {
            Ok(())
        }
    }

    fn check_unwatched(&self, name: &str) -> io::Result<()> {
        if self.watched.as_deref() == Some(name) {
            Err(ErrorKind::ResourceBusy.into())
        } else {
            Ok(())
        }
    }
}
