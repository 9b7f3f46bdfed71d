//! Files by their content: values from 1 MiB on, and whatever the outputs of tasks are made of.
//!
//! ```text
//! files/<2 hex>/<64 hex>        the content; its BLAKE3 digest is the name, the digest's first byte the folder
//! files/<2 hex>/<64 hex>.gone   about to be removed, unless somebody turns out to need it
//! files/<2 hex>/<64 hex>.bad    damaged, set aside
//! files/<2 hex>/<w>-<k>.tmp     being written by writer w
//! ```
//! 1. **Hold**: whoever stores files says so in its log first. What it stores is kept until its next commit names it.
//! 2. **Write** (`write.rs`): under a temporary name, then linked to the final one, which fails where the same content
//!    is already there. So content is stored once, and a reader never sees a part of it.
//! 3. **Name**: a commit puts entries that name files (`format/blob_refs.rs`); of large values it writes the files
//!    itself (`commit/values.rs`). Tables list the files that their entries name.
//! 4. **Read** (`read.rs`): the digest is verified each time. Damage is a miss, and the file is set aside.
//! 5. **Collect** (`compact/collect_blobs.rs`): files that no table and no log names are renamed to `.gone`; then the
//!    logs are read once more, and what is needed after all gets its name back.
//!
//! Trees of files: `path.rs` has the rules for their names, `tar.rs` reads and writes archives.

mod read;
mod shard;
mod write;

pub(crate) use read::Content;
pub(crate) use shard::Name;
pub(crate) use write::each_in_parallel;

use crate::error::{Error, Result};
use crate::format::digest::{Digest, FileRef};
use crate::platform::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::platform::sync::{Mutex, MutexGuard};
use crate::platform::vfs::{MemVfs, Vfs};
use crate::report::damage_list::DamageList;
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, OnceLock, PoisonError};

/// The files of one cache.
pub(crate) struct Files {
    vfs: Arc<dyn Vfs>,
    damage: Arc<DamageList>,
    /// By the first byte of the digest.
    shards: Box<[OnceLock<Arc<dyn Vfs>>]>,
    /// Written or met here and not known to survive the loss of power.
    unsynced: Mutex<BTreeSet<Digest>>,
    /// Met, and not what they should have been, or not there.
    lost: Mutex<BTreeSet<FileRef>>,
    /// Numbers for temporary names.
    temporaries: AtomicU32,
    /// How many [`Hold`]s there are.
    holds: Arc<AtomicU32>,
    /// Whether something may have become unneeded.
    collect_due: AtomicBool,
    may_write: bool,
}

/// Keeps what was stored from being collected, until a commit names it.
#[derive(Debug)]
pub struct Hold {
    holds: Arc<AtomicU32>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.holds.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Files {
    pub(crate) fn new(vfs: Arc<dyn Vfs>, damage: Arc<DamageList>, may_write: bool) -> Self {
        Self {
            vfs,
            damage,
            shards: (0..256).map(|_| OnceLock::new()).collect(),
            unsynced: Mutex::default(),
            lost: Mutex::default(),
            temporaries: AtomicU32::new(0),
            holds: Arc::default(),
            collect_due: AtomicBool::new(false),
            may_write,
        }
    }

    /// Counts a hold; the log has to say so before a file is written.
    pub(crate) fn hold(&self) -> Hold {
        self.holds.fetch_add(1, Ordering::AcqRel);
        Hold { holds: Arc::clone(&self.holds) }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.holds.load(Ordering::Acquire) > 0
    }

    /// Whether the next compaction looks for files that nobody needs.
    pub(crate) fn set_collect_due(&self, is_due: bool) {
        self.collect_due.store(is_due, Ordering::Release);
    }

    pub(crate) fn is_collect_due(&self) -> bool {
        self.collect_due.load(Ordering::Acquire)
    }

    /// One of the folders that files are in.
    pub(crate) fn shard(&self, index: u8) -> Result<&dyn Vfs> {
        let Some(slot) = self.shards.get(usize::from(index)) else { unreachable!("one for every byte") };
        if let Some(shard) = slot.get() {
            return Ok(&**shard);
        }
        let name = format!("{index:02x}");
        let open = || self.vfs.folder("files")?.folder(&name);
        let shard = match open() {
            Err(error) if error.kind() == ErrorKind::NotADirectory => self.make_room(&name).and_then(|()| open()),
            shard => shard,
        };
        let shard = match shard {
            // Nothing is in it, and nothing will be.
            Err(error) if error.kind() == ErrorKind::NotADirectory && !self.may_write => Arc::new(MemVfs::default()),
            shard => shard.map_err(|source| Error::io("open", &format!("files/{name}"), source))?,
        };
        Ok(&**slot.get_or_init(|| shard))
    }

    /// Whatever has a name of ours in the folders, each with the number of its folder.
    pub(crate) fn names(&self) -> Result<Vec<(u8, Name)>> {
        let folders = match self.vfs.folder("files").and_then(|files| files.folders()) {
            // Something else has its place.
            Err(error) if error.kind() == ErrorKind::NotADirectory => Vec::new(),
            folders => folders.map_err(|source| Error::io("list", "files", source))?,
        };
        let mut names = Vec::new();
        for index in folders.iter().filter_map(|folder| shard::index_of(folder)) {
            let listed = self.shard(index)?.list();
            let listed = listed.map_err(|source| Error::io("list", &format!("files/{index:02x}"), source))?;
            names.extend(listed.iter().filter_map(|name| Some((index, Name::parse(name)?))));
        }
        Ok(names)
    }

    /// Sets aside what stands in the place of a folder and is none: a link, a FIFO, a file.
    fn make_room(&self, shard: &str) -> io::Result<()> {
        if !self.may_write {
            return Ok(());
        }
        match self.vfs.folder("files") {
            Err(error) if error.kind() == ErrorKind::NotADirectory => self.vfs.rename("files", "files.bad"),
            files => files?.rename(shard, &format!("{shard}.bad")),
        }
    }

    fn unsynced(&self) -> MutexGuard<'_, BTreeSet<Digest>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Files").field("holds", &self.holds).finish_non_exhaustive()
    }
}
