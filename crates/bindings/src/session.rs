//! One open cache of one thread of the host.
//!
//! Hot calls read the key from the start of the scratch buffer and write the value to it. A result that does not fit is
//! kept here until the next call that returns bytes, and `take` fetches it.
//!
//! A commit has two steps, so that later puts belong to the next commit while it runs on another thread: `begin_commit`
//! takes the batch, and `next_commit` returns the oldest commit that has begun. Commits run in the order in which they
//! begin.

use crate::failure::{Failure, Result};
use crate::packed::{Page, Values, length_of, reserve};
use crate::transfer::Transfers;
use std::collections::VecDeque;
use std::sync::Arc;
use varve_core::failpoints;
use varve_core::{BlobRef, Digest, Durability, Error, Handle, PendingCommit, PendingReads, Pin, Store};

/// A buffer that grew beyond this for one large result is released.
const HELD_BYTES_KEPT: usize = 1 << 20;

/// The bytes of a blob reference of an entry, as JavaScript packs it.
const FILE_REF_BYTES: usize = 40;

/// The result of a miss for JavaScript.
const MISS: i32 = -1;

/// The result of a miss if new damage was detected. The status of the store names it.
const MISS_AND_DAMAGE: i32 = -3;

/// One user of a store: its handle, its kept result and the commits that have begun.
#[derive(Debug)]
pub struct Session {
    /// `None` once closed.
    handle: Option<Handle>,
    begun: VecDeque<PendingCommit>,
    /// The result that `take` fetches.
    pub(crate) held: Vec<u8>,
    /// Exports and imports in progress.
    pub(crate) transfers: Transfers,
    /// The number of damaged places at the last report by `get`.
    damage_reported: u32,
    /// The key of the current call, moved out of the scratch buffer because the value will overwrite it.
    key: Vec<u8>,
}

impl Session {
    /// Creates a new user of `store`.
    pub fn new(store: &Arc<Store>) -> Self {
        Self {
            handle: Some(store.handle()),
            begun: VecDeque::new(),
            held: Vec::new(),
            transfers: Transfers::default(),
            damage_reported: 0,
            key: Vec::new(),
        }
    }

    /// Returns a number for a namespace.
    pub fn namespace(&mut self, name: &str, version: &str) -> Result<u32> {
        Ok(self.handle_mut()?.namespace(name, version)?)
    }

    /// Looks up the key in `scratch[..key_bytes]`. Returns the length of the value, -1 for a miss, or -3 for a miss
    /// with new damage. The value is in `scratch` if it fits, else it is kept.
    pub fn get(&mut self, namespace: u32, scratch: &mut [u8], key_bytes: usize) -> Result<i32> {
        failpoints::panics("session-get");
        let Self { handle: Some(handle), held, key, damage_reported, .. } = self else {
            return Err(Error::Closed.into());
        };
        key.clear();
        key.extend_from_slice(key_in(scratch, key_bytes)?);
        held.clear();
        let found = handle.get(namespace, key, |value| {
            match scratch.get_mut(..value.len()) {
                Some(_) if failpoints::bug("reused-buffer") => {}
                Some(target) => target.copy_from_slice(value),
                None => {
                    reserve(held, value.len())?;
                    held.extend_from_slice(value);
                }
            }
            length_of(value.len())
        })?;
        found.unwrap_or_else(|| {
            let known = std::mem::replace(damage_reported, handle.store().damage_count());
            Ok(if known == *damage_reported { MISS } else { MISS_AND_DAMAGE })
        })
    }

    /// Copies the kept result to `target`, which must have its length, and releases it.
    pub fn take(&mut self, target: &mut [u8]) -> Result<()> {
        failpoints::panics("session-take");
        if target.len() != self.held.len() {
            let (found, expected) = (target.len(), self.held.len());
            return Err(Failure::argument(format!(
                "take() received a buffer of {found} bytes for a result of {expected} bytes"
            )));
        }
        target.copy_from_slice(&self.held);
        self.held.clear();
        if self.held.capacity() > HELD_BYTES_KEPT {
            self.held = Vec::new();
        }
        Ok(())
    }

    /// Returns whether the key in `scratch[..key_bytes]` has an entry.
    pub fn has(&self, namespace: u32, scratch: &[u8], key_bytes: usize) -> Result<bool> {
        Ok(self.handle_ref()?.has(namespace, key_in(scratch, key_bytes)?)?)
    }

    /// Adds an entry with the key in `scratch[..key_bytes]` to the batch.
    pub fn put(&mut self, namespace: u32, scratch: &[u8], key_bytes: usize, value: &[u8]) -> Result<()> {
        failpoints::panics("session-put");
        Ok(self.handle_mut()?.put(namespace, key_in(scratch, key_bytes)?, value)?)
    }

    /// Adds an entry that needs blobs to the batch. `filed` is `u32 count | count x (32 bytes digest, u64 bytes) |
    /// value`.
    pub fn put_with_blobs(&mut self, namespace: u32, scratch: &[u8], key_bytes: usize, filed: &[u8]) -> Result<()> {
        let (files, value) =
            split_filed(filed).ok_or_else(|| Failure::argument("the blob references of an entry are truncated"))?;
        Ok(self.handle_mut()?.put_with_blobs(namespace, key_in(scratch, key_bytes)?, value, &files)?)
    }

    /// Reads the content of a blob. The result is kept; returns its length, or -1 if the blob is missing or damaged.
    pub fn read_file(&mut self, file: &BlobRef) -> Result<i32> {
        let Some(content) = self.store()?.read_blob(file)? else { return Ok(MISS) };
        self.held = content;
        length_of(self.held.len())
    }

    /// Pins stored blobs until the next commit that this session begins.
    pub fn keep(&mut self, hold: Pin) -> Result<()> {
        self.handle_mut()?.keep(hold);
        Ok(())
    }

    /// Adds the removal of the key in `scratch[..key_bytes]` to the batch.
    pub fn delete(&mut self, namespace: u32, scratch: &[u8], key_bytes: usize) -> Result<()> {
        Ok(self.handle_mut()?.delete(namespace, key_in(scratch, key_bytes)?)?)
    }

    /// Looks up many keys, packed one after another; `key_ends` has the end of each. The result is kept; returns its
    /// length.
    pub fn get_many(&mut self, namespace: u32, keys: &[u8], key_ends: &[u32]) -> Result<i32> {
        let Self { handle: Some(handle), held, .. } = self else { return Err(Error::Closed.into()) };
        let mut values = Values::new(held, key_ends.len());
        let parts = parts_of(keys, key_ends)?;
        let mut added = Ok(());
        handle.get_many(namespace, parts.into_iter(), |value| {
            if added.is_ok() {
                added = values.add(value);
            }
        })?;
        added?;
        length_of(held.len())
    }

    /// Begins the same lookups for another thread.
    pub fn begin_reads(&self, namespace: u32, keys: &[u8], key_ends: &[u32]) -> Result<Reads> {
        let parts = parts_of(keys, key_ends)?;
        Ok(Reads(self.handle_ref()?.begin_reads(namespace, parts.into_iter())?))
    }

    /// Reads a page of entries from `cursor` on, of about `bytes_max` bytes. The result is kept; returns its length.
    pub fn scan(&mut self, namespace: u32, cursor: u64, bytes_max: u64) -> Result<i32> {
        let Self { handle: Some(handle), held, .. } = self else { return Err(Error::Closed.into()) };
        let (mut page, mut added) = (Page::default(), Ok(()));
        let next = handle.scan(namespace, cursor, bytes_max, &mut |key, value| {
            if added.is_ok() {
                added = page.add(key, value);
            }
        })?;
        added?;
        page.finish(next, held)?;
        length_of(held.len())
    }

    /// The bytes of the batch.
    pub fn pending_bytes(&self) -> Result<u64> {
        Ok(self.handle_ref()?.pending_bytes())
    }

    /// The puts and deletes of the batch.
    pub fn pending_entries(&self) -> Result<u64> {
        Ok(self.handle_ref()?.pending_entries())
    }

    /// Begins a commit of the batch. Returns `false` if it is empty.
    pub fn begin_commit(&mut self) -> Result<bool> {
        failpoints::panics("session-begin");
        let begun = self.handle_mut()?.begin_commit();
        let found = begun.is_some();
        self.begun.extend(begun);
        Ok(found)
    }

    /// Returns the oldest commit that has begun and not run.
    pub fn next_commit(&mut self) -> Result<PendingCommit> {
        self.begun.pop_front().ok_or_else(|| Failure::argument("no commit has begun"))
    }

    /// The number of damaged places detected so far.
    pub fn damage_count(&self) -> Result<u32> {
        Ok(self.handle_ref()?.store().damage_count())
    }

    /// The shared store.
    pub fn store(&self) -> Result<&Arc<Store>> {
        Ok(self.handle_ref()?.store())
    }

    /// Ends the session: later calls fail with `CLOSED`, and commits that did not run are discarded. The store stays
    /// open.
    pub fn close(&mut self) -> Option<Arc<Store>> {
        self.begun.clear();
        self.held = Vec::new();
        self.transfers = Transfers::default();
        self.handle.take().map(|handle| Arc::clone(handle.store()))
    }

    fn handle_ref(&self) -> Result<&Handle> {
        self.handle.as_ref().ok_or_else(|| Error::Closed.into())
    }

    fn handle_mut(&mut self) -> Result<&mut Handle> {
        self.handle.as_mut().ok_or_else(|| Error::Closed.into())
    }
}

/// Lookups of many keys, for any thread.
#[derive(Debug)]
pub struct Reads(PendingReads);

impl Reads {
    /// The result of `get_many`.
    pub fn run(self) -> Result<Vec<u8>> {
        failpoints::panics("reads-run");
        let mut held = Vec::new();
        let mut values = Values::new(&mut held, self.0.count());
        let mut added = Ok(());
        self.0.run(|value| {
            if added.is_ok() {
                added = values.add(value);
            }
        })?;
        added?;
        Ok(held)
    }
}

fn parts_of<'k>(keys: &'k [u8], key_ends: &[u32]) -> Result<Vec<&'k [u8]>> {
    let mut start = 0;
    let mut parts = Vec::with_capacity(key_ends.len());
    for &end in key_ends {
        parts.push(key_at(keys, start, end as usize)?);
        start = end as usize;
    }
    Ok(parts)
}

fn key_at(keys: &[u8], start: usize, end: usize) -> Result<&[u8]> {
    keys.get(start..end).ok_or_else(|| Failure::argument("the ends of the keys are not in ascending order"))
}

/// An entry that is committed separately.
#[derive(Clone, Debug, serde::Deserialize)]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub struct Alone {
    pub namespace: String,
    pub version: String,
    pub key: String,
    pub value: String,
}

/// Commits one entry separately. The batches of sessions stay as they are.
pub fn commit_alone(store: &Arc<Store>, entry: &Alone, now_ms: u64) -> Result<()> {
    let mut handle = store.handle();
    let namespace = handle.namespace(&entry.namespace, &entry.version)?;
    handle.put(namespace, entry.key.as_bytes(), entry.value.as_bytes())?;
    if let Some(commit) = handle.begin_commit() {
        commit.run(Some(Durability::Relaxed), now_ms)?;
    }
    Ok(())
}

fn split_filed(filed: &[u8]) -> Option<(Vec<BlobRef>, &[u8])> {
    let (count, rest) = filed.split_first_chunk::<4>()?;
    let bytes = (u32::from_le_bytes(*count) as usize).checked_mul(FILE_REF_BYTES)?;
    let (refs, value) = rest.split_at_checked(bytes)?;
    let file = |packed: &[u8]| {
        let (digest, bytes) = packed.split_first_chunk::<32>()?;
        Some(BlobRef { digest: Digest(*digest), bytes: u64::from_le_bytes(*bytes.first_chunk::<8>()?) })
    };
    Some((refs.chunks_exact(FILE_REF_BYTES).map(file).collect::<Option<_>>()?, value))
}

fn key_in(scratch: &[u8], key_bytes: usize) -> Result<&[u8]> {
    scratch.get(..key_bytes).ok_or_else(|| {
        let (field, bytes_max) = ("key", scratch.len() as u64);
        Error::TooLong { field, bytes: key_bytes as u64, bytes_max }.into()
    })
}

/// Parses the durability that JavaScript names; `''` is the default of the cache.
pub fn durability_of(word: &str) -> Result<Option<Durability>> {
    match word {
        "" => Ok(None),
        "relaxed" => Ok(Some(Durability::Relaxed)),
        "durable" => Ok(Some(Durability::Durable)),
        _ => Err(Failure::argument(format!("invalid durability '{word}': expected 'relaxed' or 'durable'"))),
    }
}
