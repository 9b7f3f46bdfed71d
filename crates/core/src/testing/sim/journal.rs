//! What happened in a simulated folder, in order, and the folder it happened to.

use super::content::Content;
use super::fault::LostPages;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Number of a file, whatever its names are.
pub(super) type InodeId = usize;

/// Which name leads to which file.
pub(super) type Names = BTreeMap<Arc<str>, InodeId>;

/// A folder at rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    pub(super) names: Names,
    pub(super) contents: Vec<Content>,
}

/// One entry of the journal.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Create {
        name: Arc<str>,
        inode: InodeId,
    },
    Append {
        inode: InodeId,
        offset: u64,
        bytes: Arc<[u8]>,
        /// How many of them are zeros that the next append goes over.
        padding: usize,
    },
    /// What is beyond `length` is cut off.
    Cut {
        inode: InodeId,
        length: u64,
    },
    Sync {
        inode: InodeId,
    },
    Link {
        target: Arc<str>,
        inode: InodeId,
    },
    Rename {
        source: Arc<str>,
        target: Arc<str>,
        inode: InodeId,
    },
    Remove {
        name: Arc<str>,
    },
    /// Of the folder whose files have this in front of their names.
    SyncFolder {
        folder: Arc<str>,
    },
    /// A sync failed and the machine forgot what it had not written.
    Lose {
        inode: InodeId,
        pages: LostPages,
    },
}

impl Operation {
    /// The file whose bytes this changes.
    pub(super) fn appends_to(&self) -> Option<InodeId> {
        match self {
            Self::Append { inode, .. } => Some(*inode),
            _ => None,
        }
    }

    /// The file whose bytes or length this changes.
    pub(super) fn changes(&self) -> Option<InodeId> {
        match self {
            Self::Append { inode, .. } | Self::Cut { inode, .. } => Some(*inode),
            _ => None,
        }
    }

    /// The file to which this gives a name.
    pub(super) fn names(&self) -> Option<InodeId> {
        match self {
            Self::Create { inode, .. } | Self::Link { inode, .. } | Self::Rename { inode, .. } => Some(*inode),
            _ => None,
        }
    }

    pub(super) fn changes_names(&self) -> bool {
        self.names().is_some() || matches!(self, Self::Remove { .. })
    }

    /// Whether this changes a name in the folder, and not in one below it.
    pub(super) fn changes_names_in(&self, folder: &str) -> bool {
        let (Self::Create { name, .. }
        | Self::Link { target: name, .. }
        | Self::Rename { target: name, .. }
        | Self::Remove { name }) = self
        else {
            return false;
        };
        name.strip_prefix(folder).is_some_and(|rest| !rest.contains('/'))
    }

    /// Whether this, which is a sync, is what POSIX asks for to make `other` durable.
    pub(super) fn makes_durable(&self, other: &Self) -> bool {
        match self {
            Self::Sync { inode } => other.changes() == Some(*inode),
            Self::SyncFolder { folder } => other.changes_names_in(folder),
            _ => false,
        }
    }

    /// What a change of names does to the entries of the folder on the disk, where others may not have happened.
    pub(super) fn apply_to(&self, names: &mut Names) {
        match self {
            Self::Create { name: target, inode } | Self::Link { target, inode } => {
                names.insert(target.clone(), *inode);
            }
            Self::Rename { source, target, inode } => {
                names.remove(source);
                names.insert(target.clone(), *inode);
            }
            Self::Remove { name } => {
                names.remove(name);
            }
            Self::Append { .. }
            | Self::Cut { .. }
            | Self::Sync { .. }
            | Self::SyncFolder { .. }
            | Self::Lose { .. } => {}
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create { name, inode } => write!(out, "create {name} (#{inode})"),
            Self::Append { inode, offset, bytes, padding: 0 } => {
                write!(out, "append #{inode} {offset}+{}", bytes.len())
            }
            Self::Append { inode, offset, bytes, padding } => {
                write!(out, "append #{inode} {offset}+{} and {padding} zeros", bytes.len() - padding)
            }
            Self::Cut { inode, length } => write!(out, "cut the zeros of #{inode} at {length}"),
            Self::Sync { inode } => write!(out, "sync #{inode}"),
            Self::Link { target, inode } => write!(out, "link #{inode} as {target}"),
            Self::Rename { source, target, .. } => write!(out, "rename {source} to {target}"),
            Self::Remove { name } => write!(out, "remove {name}"),
            Self::SyncFolder { folder } => write!(out, "sync folder {folder}"),
            Self::Lose { inode, pages } => write!(out, "lose unsynced bytes of #{inode} ({pages:?})"),
        }
    }
}
