//! A simulated folder as the running processes see it, and the journal of how it came about.

use super::content::Content;
use super::fault::{Faults, LostPages};
use super::journal::{Image, InodeId, Names, Operation};
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// What the machine can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) links: bool,
    pub(super) locks: bool,
    pub(super) windows: bool,
    pub(super) read_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { links: true, locks: true, windows: false, read_only: false }
    }
}

/// A file, whatever its names are. Never freed: a history is short.
#[derive(Debug, Default)]
pub(super) struct Inode {
    pub(super) content: Content,
    /// Length that survives a failed sync.
    pub(super) synced: u64,
    pub(super) handles: usize,
    pub(super) locked_by: Option<u64>,
}

/// All there is to a folder.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) options: Options,
    pub(super) names: Names,
    inodes: Vec<Inode>,
    /// The folder before the first entry of the journal; all of it durable.
    pub(super) start: Image,
    pub(super) journal: Vec<Operation>,
    pub(super) faults: Faults,
    handles_given: u64,
}

impl State {
    pub(super) fn new(options: Options, start: Image) -> Self {
        let mut state = Self { options, ..Self::default() };
        let synced = |content: &Content| Inode { content: content.clone(), synced: content.len(), ..Inode::default() };
        state.inodes = start.contents.iter().map(synced).collect();
        state.names = start.names.clone();
        state.start = start;
        state
    }

    /// The folder as it is now.
    pub(super) fn image(&self) -> Image {
        let contents = self.inodes.iter().map(|inode| inode.content.clone()).collect();
        Image { names: self.names.clone(), contents }
    }

    /// Forgets how the folder came about: all of it is durable.
    pub(super) fn settle(&mut self) {
        self.inodes.iter_mut().for_each(|inode| inode.synced = inode.content.len());
        self.start = self.image();
        self.journal.clear();
    }

    #[expect(clippy::indexing_slicing, reason = "only this state gives out the numbers of its files")]
    pub(super) fn inode(&mut self, inode: InodeId) -> &mut Inode {
        &mut self.inodes[inode]
    }

    #[expect(clippy::indexing_slicing, reason = "only this state gives out the numbers of its files")]
    pub(super) fn inode_ref(&self, inode: InodeId) -> &Inode {
        &self.inodes[inode]
    }

    pub(super) fn find(&self, name: &str) -> io::Result<InodeId> {
        self.names.get(name).copied().ok_or_else(|| ErrorKind::NotFound.into())
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
        self.check_untouched(source)?;
        self.check_untouched(target)?;
        // POSIX: where both names lead to the same file already, nothing happens and both stay.
        if self.names.get(target) != Some(&inode) {
            self.change_names(Operation::Rename { source: source.into(), target: target.into(), inode });
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        self.find(name)?;
        self.check_writable()?;
        self.check_untouched(name)?;
        self.change_names(Operation::Remove { name: name.into() });
        Ok(())
    }

    pub(super) fn sync_folder(&mut self, folder: &str) -> io::Result<()> {
        self.journal.push(Operation::SyncFolder { folder: folder.into() });
        Ok(())
    }

    pub(super) fn append(&mut self, inode: InodeId, bytes: &Arc<[u8]>) -> io::Result<()> {
        self.check_writable()?;
        if bytes.is_empty() {
            return Ok(());
        }
        let file = self.inode(inode);
        let offset = file.content.len();
        file.content.push(bytes, 0..bytes.len());
        self.journal.push(Operation::Append { inode, offset, bytes: bytes.clone() });
        Ok(())
    }

    pub(super) fn sync(&mut self, inode: InodeId) -> io::Result<()> {
        let file = self.inode(inode);
        file.synced = file.content.len();
        self.journal.push(Operation::Sync { inode });
        Ok(())
    }

    /// What a failed sync leaves of the bytes it should have written. They never become durable.
    pub(super) fn lose(&mut self, inode: InodeId, pages: LostPages) {
        let file = self.inode(inode);
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

    /// On Windows the name of an open file cannot be changed.
    fn check_untouched(&self, name: &str) -> io::Result<()> {
        let open = self.names.get(name).is_some_and(|&inode| self.inode_ref(inode).handles > 0);
        if self.options.windows && open { Err(ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }
}
