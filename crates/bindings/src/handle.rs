//! One open cache as one thread of the host holds it.
//!
//! Hot calls find the key at the start of the door's scratch buffer and leave the value there. An answer that does not
//! fit is held here until the next call that answers with bytes, and fetched by `take`.
//!
//! A commit has two steps, so that later puts belong to the next one while it runs on another thread: `begin_commit`
//! takes what is buffered, `next_commit` hands out the oldest that was begun. Commits run in the order begun.

use crate::failure::{Failure, Result};
use crate::packed::{Page, Values, length_of, reserve};
use crate::transfer::Transfers;
use std::collections::VecDeque;
use std::sync::Arc;
use varve_core::failpoints;
use varve_core::{Digest, Durability, Error, FileRef, Handle, Hold, PendingCommit, PendingReads, Store};

/// A buffer that grew beyond this for one large answer is given back.
const HELD_BYTES_KEPT: usize = 1 << 20;

/// Bytes of a file that an entry needs, as JavaScript packs it.
const FILE_REF_BYTES: usize = 40;

/// What a miss looks like to JavaScript.
const MISS: i32 = -1;

/// The same where damage was met since the last look: the store's status names it.
const MISS_AND_DAMAGE: i32 = -3;

/// One user of a store: its handle, the answer it holds and the commits it has begun.
#[derive(Debug)]
pub struct Session {
    /// None once closed.
    handle: Option<Handle>,
    begun: VecDeque<PendingCommit>,
    /// The answer that `take` fetches.
    pub(crate) held: Vec<u8>,
    /// Exports and imports under way.
    pub(crate) transfers: Transfers,
    /// Places of damage that were told of by `get`.
    damage_told: u32,
    /// The key of the running call, moved out of the scratch buffer because the value will overwrite it.
    key: Vec<u8>,
}

impl Session {
    /// A new user of `store`.
    pub fn new(store: &Arc<Store>) -> Self {
        Self {
            handle: Some(store.handle()),
            begun: VecDeque::new(),
            held: Vec::new(),
            transfers: Transfers::default(),
            damage_told: 0,
            key: Vec::new(),
        }
    }

    /// A number for a namespace.
    pub fn namespace(&mut self, name: &str, version: &str) -> Result<u32> {
        Ok(self.handle_mut()?.namespace(name, version)?)
    }

    /// Looks up the key in `scratch[..key_bytes]`. Returns the value's length, -1 for a miss, -3 for a miss
    /// with news of damage; the value is in `scratch` where it fits, else held.
    pub fn get(&mut self, namespace: u32, scratch: &mut [u8], key_bytes: usize) -> Result<i32> {
        failpoints::panics("session-get");
        let Self { handle: Some(handle), held, key, damage_told, .. } = self else { return Err(Error::Closed.into()) };
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
            let known = std::mem::replace(damage_told, handle.store().damage_count());
            Ok(if known == *damage_told { MISS } else { MISS_AND_DAMAGE })
        })
    }

    /// Copies the held answer to `target`, which has its length, and lets go of it.
    pub fn take(&mut self, target: &mut [u8]) -> Result<()> {
        failpoints::panics("session-take");
        if target.len() != self.held.len() {
            let (found, expected) = (target.len(), self.held.len());
            return Err(Failure::argument(format!("take() got room for {found} bytes, the answer has {expected}")));
        }
        target.copy_from_slice(&self.held);
        self.held.clear();
        if self.held.capacity() > HELD_BYTES_KEPT {
            self.held = Vec::new();
        }
        Ok(())
    }

    /// Whether the key in `scratch[..key_bytes]` has an entry.
    pub fn has(&self, namespace: u32, scratch: &[u8], key_bytes: usize) -> Result<bool> {
        Ok(self.handle_ref()?.has(namespace, key_in(scratch, key_bytes)?)?)
    }

    /// Buffers an entry under the key in `scratch[..key_bytes]`.
    pub fn put(&mut self, namespace: u32, scratch: &[u8], key_bytes: usize, value: &[u8]) -> Result<()> {
        failpoints::panics("session-put");
        Ok(self.handle_mut()?.put(namespace, key_in(scratch, key_bytes)?, value)?)
    }

    /// Buffers an entry that needs files. `filed` is `u32 count | count x (32 bytes digest, u64 bytes) | value`.
    pub fn put_filed(&mut self, namespace: u32, scratch: &[u8], key_bytes: usize, filed: &[u8]) -> Result<()> {
        let (files, value) =
            split_filed(filed).ok_or_else(|| Failure::argument("the files of an entry are cut off"))?;
        Ok(self.handle_mut()?.put_filed(namespace, key_in(scratch, key_bytes)?, value, &files)?)
    }

    /// Reads the content of a file. The answer is held; returns its length, -1 where it is lost.
    pub fn read_file(&mut self, file: &FileRef) -> Result<i32> {
        let Some(content) = self.store()?.read_file(file)? else { return Ok(MISS) };
        self.held = content;
        length_of(self.held.len())
    }

    /// Keeps files that were stored until the next commit that this session begins.
    pub fn keep(&mut self, hold: Hold) -> Result<()> {
        self.handle_mut()?.keep(hold);
        Ok(())
    }

    /// Buffers the removal of the key in `scratch[..key_bytes]`.
    pub fn delete(&mut self, namespace: u32, scratch: &[u8], key_bytes: usize) -> Result<()> {
        Ok(self.handle_mut()?.delete(namespace, key_in(scratch, key_bytes)?)?)
    }

    /// Looks up many keys, packed one after another; `key_ends` gives the end of each. The answer is held; returns its
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

    /// A page of entries from `cursor` on, about `bytes_max` bytes. The answer is held; returns its length.
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

    /// Bytes buffered and not committed.
    pub fn pending_bytes(&self) -> Result<u64> {
        Ok(self.handle_ref()?.pending_bytes())
    }

    /// Puts and deletes buffered and not committed.
    pub fn pending_entries(&self) -> Result<u64> {
        Ok(self.handle_ref()?.pending_entries())
    }

    /// Takes what is buffered for a commit. `false` where nothing is.
    pub fn begin_commit(&mut self) -> Result<bool> {
        failpoints::panics("session-begin");
        let begun = self.handle_mut()?.begin_commit();
        let found = begun.is_some();
        self.begun.extend(begun);
        Ok(found)
    }

    /// The oldest commit that was begun and did not run.
    pub fn next_commit(&mut self) -> Result<PendingCommit> {
        self.begun.pop_front().ok_or_else(|| Failure::argument("no commit was begun"))
    }

    /// How many places of damage were met so far.
    pub fn damage_count(&self) -> Result<u32> {
        Ok(self.handle_ref()?.store().damage_count())
    }

    /// The shared store.
    pub fn store(&self) -> Result<&Arc<Store>> {
        Ok(self.handle_ref()?.store())
    }

    /// Ends the session: every later call answers `CLOSED`, commits that did not run are dropped. The store stays open.
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
    /// The answer of `get_many`.
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
    keys.get(start..end).ok_or_else(|| Failure::argument("the ends of the keys are out of order"))
}

/// An entry that is committed by itself.
#[derive(Clone, Debug, serde::Deserialize)]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub struct Alone {
    pub namespace: String,
    pub version: String,
    pub key: String,
    pub value: String,
}

/// Commits one entry by itself; what sessions have buffered stays buffered.
pub fn commit_alone(store: &Arc<Store>, entry: &Alone, now_ms: u64) -> Result<()> {
    let mut handle = store.handle();
    let namespace = handle.namespace(&entry.namespace, &entry.version)?;
    handle.put(namespace, entry.key.as_bytes(), entry.value.as_bytes())?;
    if let Some(commit) = handle.begin_commit() {
        commit.run(Some(Durability::Relaxed), now_ms)?;
    }
    Ok(())
}

fn split_filed(filed: &[u8]) -> Option<(Vec<FileRef>, &[u8])> {
    let (count, rest) = filed.split_first_chunk::<4>()?;
    let bytes = (u32::from_le_bytes(*count) as usize).checked_mul(FILE_REF_BYTES)?;
    let (refs, value) = rest.split_at_checked(bytes)?;
    let file = |packed: &[u8]| {
        let (digest, bytes) = packed.split_first_chunk::<32>()?;
        Some(FileRef { digest: Digest(*digest), bytes: u64::from_le_bytes(*bytes.first_chunk::<8>()?) })
    };
    Some((refs.chunks_exact(FILE_REF_BYTES).map(file).collect::<Option<_>>()?, value))
}

fn key_in(scratch: &[u8], key_bytes: usize) -> Result<&[u8]> {
    scratch.get(..key_bytes).ok_or_else(|| {
        let (field, bytes_max) = ("key", scratch.len() as u64);
        Error::TooLong { field, bytes: key_bytes as u64, bytes_max }.into()
    })
}

/// The durability that JavaScript names; `''` is the cache's default.
pub fn durability_of(word: &str) -> Result<Option<Durability>> {
    match word {
        "" => Ok(None),
        "relaxed" => Ok(Some(Durability::Relaxed)),
        "durable" => Ok(Some(Durability::Durable)),
        _ => Err(Failure::argument(format!("durability is 'relaxed' or 'durable', not '{word}'"))),
    }
}
