//! Blobs, files named by their content: values from 1 MiB on, and the outputs of tasks.
//!
//! ```text
//! files/<2 hex>/<64 hex>                the content, named by its BLAKE3 digest, in the directory of its first byte
//! files/<2 hex>/<64 hex>.<16 hex>.gone  about to be removed by the collection of that number
//! files/<2 hex>/<64 hex>.bad            damaged, quarantined
//! files/<2 hex>/<w>-<k>.tmp             being written by writer w
//! ```
//! 1. **Pin**: a writer first appends to its log that it stores blobs. They are kept until its next commit names them.
//! 2. **Write** (`write.rs`): the writer writes the content under a temporary name and links that to the final name,
//!    which fails if the same content exists. So content is stored once, and a reader never sees a part of it.
//! 3. **Name**: a commit puts entries that name blobs (`format/blob_refs.rs`). For large values it writes the blobs
//!    itself (`commit/values.rs`). Tables list the blobs that their entries name.
//! 4. **Read** (`read.rs`): a reader verifies the digest each time. Damage is a miss, and the file is quarantined.
//! 5. **Collect** (`compact/collect_blobs.rs`): the collector renames blobs that no table and no log names to `.gone`,
//!    loads the state again, and gives what is needed after all its name back.

mod read;
mod shard;
mod write;

pub(crate) use read::Content;
pub(crate) use shard::BlobName;
pub(crate) use write::each_in_parallel;

use self::shard::path_of;
use crate::error::{Error, Result};
use crate::format::digest::{BlobRef, Digest};
use crate::platform::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::platform::sync::{Mutex, MutexGuard};
use crate::platform::vfs::{MemVfs, Vfs, is_gone_or_in_use};
use crate::report::damage_list::DamageList;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, OnceLock, PoisonError};

/// The blobs of one cache.
pub(crate) struct Blobs {
    vfs: Arc<dyn Vfs>,
    damage: Arc<DamageList>,
    /// The directory of the layer that has them; empty for the cache.
    layer: Arc<str>,
    /// The blobs of the layers below. They are named by content, so those of any layer serve.
    below: Vec<Self>,
    /// Their 256 directories, by the first byte of the digest.
    shards: Box<[OnceLock<Arc<dyn Vfs>>]>,
    /// Blobs written or found here that may not survive a power failure.
    unsynced: Mutex<HashSet<Digest>>,
    /// Blobs found damaged or missing.
    missing: Mutex<BTreeSet<BlobRef>>,
    /// Numbers for temporary names.
    temporaries: AtomicU32,
    /// Number of [`Pin`]s.
    pins: Arc<AtomicU32>,
    /// Whether blobs may have become obsolete.
    collect_due: AtomicBool,
    may_write: bool,
}

/// Keeps stored blobs from being collected until a commit names them.
#[derive(Debug)]
pub struct Pin {
    pins: Arc<AtomicU32>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Blobs {
    pub(crate) fn new(vfs: Arc<dyn Vfs>, damage: Arc<DamageList>, may_write: bool) -> Self {
        Self {
            vfs,
            damage,
            layer: "".into(),
            below: Vec::new(),
            shards: (0..256).map(|_| OnceLock::new()).collect(),
            unsynced: Mutex::default(),
            missing: Mutex::default(),
            temporaries: AtomicU32::new(0),
            pins: Arc::default(),
            collect_due: AtomicBool::new(false),
            may_write,
        }
    }

    /// Adds a layer below, in which blobs are looked up that are missing here.
    pub(crate) fn add_layer(&mut self, name: Arc<str>, vfs: Arc<dyn Vfs>) {
        self.below.push(Self { layer: name, ..Self::new(vfs, Arc::clone(&self.damage), false) });
    }

    /// Counts a pin. The caller appends it to the log before it writes a blob.
    pub(crate) fn pin(&self) -> Pin {
        self.pins.fetch_add(1, Ordering::AcqRel);
        Pin { pins: Arc::clone(&self.pins) }
    }

    pub(crate) fn is_pinned(&self) -> bool {
        self.pins.load(Ordering::Acquire) > 0
    }

    /// Sets whether the next compaction collects blobs.
    pub(crate) fn set_collect_due(&self, is_due: bool) {
        self.collect_due.store(is_due, Ordering::Release);
    }

    pub(crate) fn is_collect_due(&self) -> bool {
        self.collect_due.load(Ordering::Acquire)
    }

    /// One of the directories of blobs.
    pub(crate) fn shard(&self, index: u8) -> Result<&dyn Vfs> {
        let Some(slot) = self.shards.get(usize::from(index)) else {
            unreachable!("one for every byte")
        };
        if let Some(shard) = slot.get() {
            return Ok(&**shard);
        }
        let name = format!("{index:02x}");
        let open = || self.vfs.folder("files")?.folder(&name);
        let shard = match open() {
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                self.clear_path(&name).and_then(|()| open())
            }
            shard => shard,
        };
        let shard = match shard {
            // The process cannot write: treat the directory as empty.
            Err(error) if error.kind() == ErrorKind::NotADirectory && !self.may_write => {
                Arc::new(MemVfs::default())
            }
            shard => shard.map_err(|source| Error::io("open", &format!("files/{name}"), source))?,
        };
        Ok(&**slot.get_or_init(|| shard))
    }

    /// All valid names in the directories, each with the number of its directory.
    pub(crate) fn names(&self) -> Result<Vec<(u8, BlobName)>> {
        let folders = match self.vfs.folder("files").and_then(|files| files.folders()) {
            // `files` is not a directory.
            Err(error) if error.kind() == ErrorKind::NotADirectory => Vec::new(),
            folders => folders.map_err(|source| Error::io("list", "files", source))?,
        };
        let mut names = Vec::new();
        for index in folders.iter().filter_map(|folder| shard::index_of(folder)) {
            let listed = self.shard(index)?.list();
            let listed = listed
                .map_err(|source| Error::io("list", &format!("files/{index:02x}"), source))?;
            names.extend(listed.iter().filter_map(|name| Some((index, BlobName::parse(name)?))));
        }
        Ok(names)
    }

    /// Removes a file. No start shows who wrote it, so the caller has read a manifest of this cache, which is created
    /// only where no other files have such names (`writer/foreign.rs`).
    /// `false` = another process was faster, or has the file open on a system that locks open files.
    pub(crate) fn remove(&self, shard: u8, name: BlobName) -> Result<bool> {
        match self.shard(shard)?.remove(&name.to_string()) {
            Ok(()) => Ok(true),
            Err(error) if is_gone_or_in_use(&error) => Ok(false),
            Err(source) => Err(Error::io("remove", &path_of(name, shard), source)),
        }
    }

    /// Quarantines what blocks the name of a directory: a link, a FIFO, a file.
    fn clear_path(&self, shard: &str) -> io::Result<()> {
        if !self.may_write {
            return Ok(());
        }
        match self.vfs.folder("files") {
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                self.vfs.rename("files", "files.bad")
            }
            files => files?.rename(shard, &format!("{shard}.bad")),
        }
    }

    fn unsynced(&self) -> MutexGuard<'_, HashSet<Digest>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Blobs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Blobs").field("pins", &self.pins).finish_non_exhaustive()
    }
}
