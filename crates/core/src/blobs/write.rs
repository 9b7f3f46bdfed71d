//! Writes blobs. The caller has pinned them (`Committer::pin`), so no collection removes them before a commit names
//! them.
//!
//! 1. If the content exists, the writer does not write it again. It compares the bytes: after a power failure, or while
//!    a copy arrives, a file may have the right name and length and other bytes.
//! 2. It creates a file under a temporary name, writes it, and syncs it if it must survive a power failure.
//! 3. It links the file to its final name. If another writer was first, that file stays, and stays durable if it was.
//!    Without hard links the file is synced and renamed.
//! 4. It removes the temporary name.
//! 5. For durability it syncs the directories.

use super::Blobs;
use super::shard::{BlobName, path_of};
use crate::error::{Error, Result};
use crate::format::digest::{BlobRef, Digest};
use crate::format::order;
use crate::platform::failpoints;
use crate::platform::pool::Pool;
use crate::platform::sync::Mutex;
use crate::platform::sync::atomic::Ordering;
use crate::platform::vfs::{Access, File, Vfs, is_gone_or_in_use};
use std::io::{self, ErrorKind};
use std::sync::{Arc, PoisonError};

/// How often a write begins again after its temporary file was removed.
const ATTEMPTS: u32 = 16;

/// Bytes that are compared at once.
const COMPARED_BYTES: usize = 64 << 10;

impl Blobs {
    /// Stores one blob. `durable` syncs the file but not yet the directory.
    pub(crate) fn put(&self, writer: u32, content: &[u8], durable: bool) -> Result<BlobRef> {
        failpoints::panics("store-file");
        let file = BlobRef::of(content);
        let shard = self.shard(file.digest.shard())?;
        let name = BlobName::Content(file.digest).to_string();
        let wrap = |source| {
            Error::io(
                "write",
                &path_of(BlobName::Content(file.digest), file.digest.shard()),
                source,
            )
        };
        for attempt in 1.. {
            if self.is_there(shard, &name, &file, content, durable).map_err(wrap)? {
                break;
            }
            let is_last = attempt == ATTEMPTS;
            match self.write(shard, writer, &name, &file, content, durable) {
                Ok(true) => break,
                Ok(false) if is_last => {
                    return Err(
                        Error::Busy { operation: "store a blob", attempts: ATTEMPTS }.boxed()
                    );
                }
                Err(error) if is_last || error.kind() != ErrorKind::NotFound => {
                    return Err(wrap(error));
                }
                // Without a lock, the log of this process may have been claimed, and its temporary files removed.
                Ok(false) | Err(_) => {}
            }
        }
        if !durable {
            self.unsynced().insert(file.digest);
        }
        Ok(file)
    }

    /// Whether the blob exists; a file with other bytes is quarantined.
    fn is_there(
        &self,
        shard: &dyn Vfs,
        name: &str,
        file: &BlobRef,
        content: &[u8],
        durable: bool,
    ) -> io::Result<bool> {
        match shard.open(name, Access::Stream) {
            Ok(open) if has_content(&*open, content)? => {
                if durable {
                    open.sync()?;
                }
                Ok(true)
            }
            Ok(_) => self.quarantine(shard, &file.digest).map(|()| false),
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                self.quarantine(shard, &file.digest).map(|()| false)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// `false` = another writer's file was there first, and is gone by now or not whole.
    fn write(
        &self,
        shard: &dyn Vfs,
        writer: u32,
        name: &str,
        file: &BlobRef,
        content: &[u8],
        durable: bool,
    ) -> io::Result<bool> {
        let (temporary, open) = self.create_temporary(shard, writer)?;
        let written =
            open.append(&[content]).and_then(|()| if durable { open.sync() } else { Ok(()) });
        drop(open);
        let placed = written.and_then(|()| place(shard, &temporary, name, durable));
        match shard.remove(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return placed.and(Err(error)),
            _ => {}
        }
        // The file that was there first may have lost its end in a power failure.
        Ok(placed? == Placed::Ours || self.is_there(shard, name, file, content, durable)?)
    }

    fn create_temporary(
        &self,
        shard: &dyn Vfs,
        writer: u32,
    ) -> io::Result<(String, Arc<dyn File>)> {
        loop {
            let index = self.temporaries.fetch_add(1, Ordering::Relaxed);
            let name = BlobName::Temporary { writer, index }.to_string();
            match shard.create_new(&name) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                file => return Ok((name, file?)),
            }
        }
    }

    pub(super) fn quarantine(&self, shard: &dyn Vfs, digest: &Digest) -> io::Result<()> {
        let bad = BlobName::Bad(*digest).to_string();
        match shard.rename(&BlobName::Content(*digest).to_string(), &bad) {
            // Another process was faster, or has one of the files open on a system that locks open files.
            Err(error) if !is_gone_or_in_use(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Syncs all blobs stored here so far, so that they survive a power failure.
    pub(crate) fn sync(&self, pool: &dyn Pool) -> Result<()> {
        let mut unsynced: Vec<Digest> = std::mem::take(&mut *self.unsynced()).into_iter().collect();
        order::sort_by(&mut unsynced, Ord::cmp);
        let synced = self.sync_these(pool, &unsynced);
        if synced.is_err() {
            self.unsynced().extend(unsynced);
        }
        synced
    }

    /// Syncs these blobs and their names.
    pub(crate) fn sync_these(&self, pool: &dyn Pool, digests: &[Digest]) -> Result<()> {
        each_in_parallel(pool, digests, |digest| self.sync_one(digest))?;
        self.sync_folders(digests.iter().copied())
    }

    fn sync_one(&self, digest: &Digest) -> Result<()> {
        let name = BlobName::Content(*digest);
        match self
            .shard(digest.shard())?
            .open(&name.to_string(), Access::Stream)
            .and_then(|file| file.sync())
        {
            // Collected since, because no entry named it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            outcome => {
                outcome.map_err(|source| Error::io("sync", &path_of(name, digest.shard()), source))
            }
        }
    }

    /// Syncs the directories of these blobs.
    pub(crate) fn sync_folders(&self, digests: impl Iterator<Item = Digest>) -> Result<()> {
        let mut shards: Vec<u8> = digests.map(|digest| digest.shard()).collect();
        order::sort_by(&mut shards, Ord::cmp);
        shards.dedup();
        for shard in shards {
            let synced = self.shard(shard)?.sync_folder();
            synced.map_err(|source| Error::io("sync", &format!("files/{shard:02x}"), source))?;
        }
        Ok(())
    }
}

/// Whether the file has these bytes.
fn has_content(file: &dyn File, content: &[u8]) -> io::Result<bool> {
    if file.len()? != content.len() as u64 {
        return Ok(false);
    }
    let (mut found, mut offset) = (vec![0; content.len().min(COMPARED_BYTES)], 0);
    for expected in content.chunks(COMPARED_BYTES) {
        let Some(found) = found.get_mut(..expected.len()) else { return Ok(false) };
        match file.read_into(offset, found) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if found != expected {
            return Ok(false);
        }
        offset += expected.len() as u64;
    }
    Ok(true)
}

/// Which writer's file has the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placed {
    Ours,
    Theirs,
}

/// Gives a written file its final name, unless that exists.
fn place(shard: &dyn Vfs, temporary: &str, name: &str, is_synced: bool) -> io::Result<Placed> {
    match shard.link(temporary, name) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Placed::Theirs),
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            // A rename may replace a durable file, so this one must be durable, too.
            if !is_synced {
                shard.open(temporary, Access::Stream)?.sync()?;
            }
            shard.rename(temporary, name).map(|()| Placed::Ours)
        }
        outcome => outcome.map(|()| Placed::Ours),
    }
}

/// Results in order, or the first error.
pub(crate) fn each_in_parallel<T: Sync, R: Send>(
    pool: &dyn Pool,
    all: &[T],
    job: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    if all.len() < 2 || pool.threads() < 2 {
        return all.iter().map(job).collect();
    }
    let answers: Vec<Mutex<Option<Result<R>>>> = all.iter().map(|_| Mutex::new(None)).collect();
    pool.run(all.len(), &|index| {
        if let (Some(one), Some(answer)) = (all.get(index), answers.get(index)) {
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(job(one));
        }
    });
    answers
        .into_iter()
        .filter_map(|answer| answer.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}
