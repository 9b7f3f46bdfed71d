//! The history of a simulated directory, and the directory at its start.

use super::content::Content;
use super::fault::LostPages;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Number of a file, independent of its names.
pub(super) type InodeId = usize;

/// The file of each name.
pub(super) type Names = BTreeMap<Arc<str>, InodeId>;

/// A directory without pending operations.
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
        /// How many of these bytes are zeros that the next append overwrites.
        padding: usize,
    },
    /// Cuts off the content from `length` on.
    Cut {
        inode: InodeId,
        length: u64,
    },
    Sync {
        inode: InodeId,
    },
    /// A write that returned once its own bytes were on the disk. It makes only the newest append durable.
    SyncNewest {
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
    /// The prefix of the names in the directory.
    SyncFolder {
        folder: Arc<str>,
    },
    /// A failed sync, after which the machine has dropped what it had not written.
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
            Self::Create { inode, .. } | Self::Link { inode, .. } | Self::Rename { inode, .. } => {
                Some(*inode)
            }
            _ => None,
        }
    }

    pub(super) fn changes_names(&self) -> bool {
        self.names().is_some() || matches!(self, Self::Remove { .. })
    }

    /// Whether this changes a name in the directory itself, not in one below it.
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

    /// Whether this is the sync that POSIX requires to make `other` durable.
    pub(super) fn makes_durable(&self, other: &Self) -> bool {
        match self {
            Self::Sync { inode } => other.changes() == Some(*inode),
            Self::SyncFolder { folder } => other.changes_names_in(folder),
            _ => false,
        }
    }

    /// Applies a change of names to the directory on disk, which may lack earlier changes.
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
            | Self::SyncNewest { .. }
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
                write!(
                    out,
                    "append #{inode} {offset}+{} and {padding} zeros",
                    bytes.len() - padding
                )
            }
            Self::Cut { inode, length } => write!(out, "cut the zeros of #{inode} at {length}"),
            Self::Sync { inode } => write!(out, "sync #{inode}"),
            Self::SyncNewest { inode } => write!(out, "sync the newest append of #{inode}"),
            Self::Link { target, inode } => write!(out, "link #{inode} as {target}"),
            Self::Rename { source, target, .. } => write!(out, "rename {source} to {target}"),
            Self::Remove { name } => write!(out, "remove {name}"),
            Self::SyncFolder { folder } => write!(out, "sync folder {folder}"),
            Self::Lose { inode, pages } => {
                write!(out, "lose unsynced bytes of #{inode} ({pages:?})")
            }
        }
    }
}
