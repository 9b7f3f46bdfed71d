//! One open cache as one thread of the host uses it.
//!
//! Frequent calls find the key at the start of the scratch buffer, or write it themselves. A value is copied once, to
//! where the caller needs it; one in a block of its own is decompressed there. If the room is too small, the caller
//! learns the length, and `read` looks the key up again. Other answers are held here until the next call that answers
//! with bytes; `take` copies them.
//!
//! [`JsHandle::begin_commit`] takes what is buffered, so that later puts belong to the next commit. Commits run in the
//! order in which they began: one that begins while an older one runs waits for [`JsHandle::next_commit`].

use crate::commit::{Begun, Commit, Committed};
use crate::export::{ExportOptions, ExportProgress};
use crate::failure::{Failure, Result};
use crate::folders::{Folders, Sums};
use crate::import::ImportProgress;
use crate::packed::{Page, Values, length_of, reserve};
use crate::reads::{PackedKeys, PagePlace, Reads};
use crate::transfer::Transfers;
use std::sync::Arc;
use varve_core::failpoints;
use varve_core::{BlobRef, Digest, Durability, Error, Handle, PendingCommit, Pin, Store};

/// A buffer that grew beyond this many bytes for one large answer is released.
const HELD_BYTES_KEPT: usize = 1 << 20;

/// Bytes of a file that an entry names, as JavaScript packs it.
const FILE_REF_BYTES: usize = 40;

/// Values of `get_many` begin at multiples of it, so that JavaScript may lay any typed array over them.
const VALUE_ALIGNMENT: usize = 8;

/// The UTF-8 of U+FFFD, which stands for what has no UTF-8.
const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

/// The length that stands for a miss.
const MISS: i32 = -1;

/// The same if damage was found since the last such answer: the status of the store names it.
const MISS_AND_DAMAGE: i32 = -3;

/// One user of a store, with the scratch buffer `S` that it shares with JavaScript.
#[derive(Debug)]
pub struct JsHandle<S> {
    /// None once closed.
    handle: Option<Handle>,
    scratch: S,
    /// The answer that `take` copies.
    held: Vec<u8>,
    transfers: Transfers,
    /// Places of damage that `get` has reported.
    damage_reported: u32,
    /// The namespace and the key of the last lookup.
    namespace: u32,
    key: Vec<u8>,
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> JsHandle<S> {
    /// A new user of `store`.
    pub fn new(store: &Arc<Store>, scratch: S) -> Self {
        let (handle, held, key) = (Some(store.handle()), Vec::new(), Vec::new());
        Self {
            handle,
            scratch,
            held,
            transfers: Transfers::default(),
            damage_reported: 0,
            namespace: 0,
            key,
        }
    }

    /// The scratch buffer.
    pub fn scratch(&self) -> &[u8] {
        self.scratch.as_ref()
    }

    /// A number for a namespace.
    pub fn namespace(&mut self, name: &str, version: &str) -> Result<u32> {
        Ok(self.open_mut()?.namespace(name, version)?)
    }

    /// Chooses the key in `scratch[..key_bytes]` for the next `read`.
    pub fn choose(&mut self, namespace: u32, key_bytes: usize) -> Result<()> {
        failpoints::panics("handle-get");
        self.namespace = namespace;
        self.key.clear();
        self.key.extend_from_slice(key_in(self.scratch.as_ref(), key_bytes)?);
        Ok(())
    }

    /// Chooses the key that `write` writes, the UTF-8 of a string. False = `choose` has to be called: `write` had no
    /// room for it, or wrote U+FFFD, perhaps for a lone surrogate.
    #[inline(always)]
    pub fn choose_text(
        &mut self,
        namespace: u32,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool>,
    ) -> Result<bool> {
        failpoints::panics("handle-get");
        self.namespace = namespace;
        Ok(write(&mut self.key)? && (self.key.is_ascii() || !has_replacement(&self.key)))
    }

    /// Looks up the chosen key. Returns the value's length, -1 for a miss, -3 for a miss after which damage is to be
    /// reported. The value is at the start of `target` if it fits there.
    pub fn read(&mut self, target: &mut [u8]) -> Result<i32> {
        let Self { handle: Some(handle), key, damage_reported, .. } = self else {
            return Err(Error::Closed.into());
        };
        read(handle, (self.namespace, key), damage_reported, target)
    }

    /// The same with the scratch buffer as target.
    pub fn read_to_scratch(&mut self) -> Result<i32> {
        let Self { handle: Some(handle), key, damage_reported, scratch, .. } = self else {
            return Err(Error::Closed.into());
        };
        read(handle, (self.namespace, key), damage_reported, scratch.as_mut())
    }

    /// The same for a long value, which is held if it is still as long.
    pub fn read_to_hold(&mut self, bytes: usize) -> Result<i32> {
        let mut held = Vec::new();
        reserve(&mut held, bytes)?;
        held.resize(bytes, 0);
        let found = self.read(&mut held);
        self.held = held;
        found
    }

    /// Holds an answer, and returns its length.
    pub fn hold(&mut self, answer: Vec<u8>) -> Result<i32> {
        self.held = answer;
        length_of(self.held.len())
    }

    /// The held answer.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Releases the held answer.
    pub fn release(&mut self) {
        failpoints::panics("handle-take");
        self.held.clear();
        if self.held.capacity() > HELD_BYTES_KEPT {
            self.held = Vec::new();
        }
    }

    /// Copies the held answer to `target`, which has its length, and releases it.
    pub fn take(&mut self, target: &mut [u8]) -> Result<()> {
        if target.len() != self.held.len() {
            let (found, expected) = (target.len(), self.held.len());
            return Err(Failure::argument(format!(
                "take() got room for {found} bytes, the answer has {expected}"
            )));
        }
        target.copy_from_slice(&self.held);
        self.release();
        Ok(())
    }

    /// Whether the key in `scratch[..key_bytes]` has an entry.
    pub fn has(&self, namespace: u32, key_bytes: usize) -> Result<bool> {
        Ok(self.open()?.has(namespace, key_in(self.scratch(), key_bytes)?)?)
    }

    /// Buffers an entry under the key in `scratch[..key_bytes]`.
    pub fn put(&mut self, namespace: u32, key_bytes: usize, value: &[u8]) -> Result<()> {
        failpoints::panics("handle-put");
        self.with_key(key_bytes, |handle, key| handle.put(namespace, key, value))
    }

    /// Buffers an entry that names files. `packed` is `u32 count | count x (32 bytes digest, u64 bytes) | value`.
    pub fn put_with_blobs(
        &mut self,
        namespace: u32,
        key_bytes: usize,
        packed: &[u8],
    ) -> Result<()> {
        let (files, value) = split_blobs(packed)
            .ok_or_else(|| Failure::argument("the files of an entry are cut off"))?;
        self.with_key(key_bytes, |handle, key| handle.put_with_blobs(namespace, key, value, &files))
    }

    /// Buffers the removal of the key in `scratch[..key_bytes]`.
    pub fn delete(&mut self, namespace: u32, key_bytes: usize) -> Result<()> {
        self.with_key(key_bytes, |handle, key| handle.delete(namespace, key))
    }

    /// Looks up the keys from number `first` on, all in one state, until a value is a blob or has no room in the rest
    /// of `target`. Values begin at multiples of eight. Returns how many keys have their answer in `lengths`: -1 for a
    /// miss. The next one, if any, has the length of its value there, and is chosen for `read`.
    pub fn get_many(
        &mut self,
        namespace: u32,
        keys: PackedKeys<'_>,
        first: usize,
        target: &mut [u8],
        lengths: &mut [i32],
    ) -> Result<usize> {
        let Self { handle: Some(handle), key: chosen, .. } = self else {
            return Err(Error::Closed.into());
        };
        let lookups = handle.lookups(namespace)?;
        let (mut used, mut answered) = (0, first);
        for (index, place) in lengths.iter_mut().enumerate().take(keys.ends.len()).skip(first) {
            let key = keys.get(index)?;
            let found = lookups.get_into(key, target.get_mut(used..).unwrap_or_default());
            *place = found.map_or(Ok(MISS), |found| length_of(found.bytes))?;
            if found.is_some_and(|found| !found.is_whole) {
                self.namespace = namespace;
                chosen.clear();
                chosen.extend_from_slice(key);
                break;
            }
            used = (used + found.map_or(0, |found| found.bytes)).next_multiple_of(VALUE_ALIGNMENT);
            answered = index + 1;
        }
        lookups.finish()?;
        Ok(answered)
    }

    /// The values of all keys in one state, packed. The answer is held; returns its length.
    pub fn get_many_at_once(&mut self, namespace: u32, keys: PackedKeys<'_>) -> Result<i32> {
        let (parts, handle) = (keys.all()?, self.open()?);
        let values = Values::collect(parts.len(), |each| {
            handle.get_many(namespace, parts.into_iter(), each)
        })?;
        self.hold(values)
    }

    /// A number that changes whenever another commit becomes visible.
    pub fn revision(&self) -> Result<u64> {
        Ok(self.store()?.revision()?)
    }

    /// The same with the first `room` bytes of the scratch buffer as target.
    pub fn get_many_to_scratch(
        &mut self,
        namespace: u32,
        keys: PackedKeys<'_>,
        first: usize,
        room: usize,
        lengths: &mut [i32],
    ) -> Result<usize>
    where
        S: Default,
    {
        let mut scratch = std::mem::take(&mut self.scratch);
        let target = scratch.as_mut().get_mut(..room).unwrap_or_default();
        let answered = self.get_many(namespace, keys, first, target, lengths);
        self.scratch = scratch;
        answered
    }

    /// Begins the same lookups for another thread.
    pub fn begin_reads(&self, namespace: u32, keys: PackedKeys<'_>) -> Result<Reads> {
        let parts = keys.all()?;
        Ok(Reads::new(self.open()?.begin_reads(namespace, parts.into_iter())?))
    }

    /// A page of entries, those in `folders`; if there are none, all. The answer is held; returns its length.
    pub fn scan(
        &mut self,
        (namespace, cursor, bytes_max): PagePlace,
        folders: PackedKeys<'_>,
    ) -> Result<i32> {
        let folders = Folders::new(folders)?;
        let (mut page, mut added) = (Page::default(), Ok(()));
        let next = self.open()?.scan(namespace, cursor, bytes_max, &mut |key, value| {
            if added.is_ok() && folders.have(key) {
                added = page.add(key, value);
            }
        })?;
        added?;
        page.finish(next, &mut self.held)
    }

    /// The same with keys and the lengths of values, which are not read.
    pub fn scan_keys(
        &mut self,
        (namespace, cursor, bytes_max): PagePlace,
        folders: PackedKeys<'_>,
    ) -> Result<i32> {
        let folders = Folders::new(folders)?;
        let (mut page, mut added) = (Page::default(), Ok(()));
        let next =
            self.open()?.scan_keys(namespace, cursor, bytes_max, &mut |key, value_bytes| {
                if added.is_ok() && folders.have(key) {
                    added = page.add_key(key, value_bytes);
                }
            })?;
        added?;
        page.finish(next, &mut self.held)
    }

    /// The folders of the keys of such a page, each with its number of entries and their bytes.
    pub fn scan_folders(&mut self, (namespace, cursor, bytes_max): PagePlace) -> Result<i32> {
        let mut sums = Sums::default();
        let next = self
            .open()?
            .scan_keys(namespace, cursor, bytes_max, &mut |key, bytes| sums.add(key, bytes))?;
        sums.page()?.finish(next, &mut self.held)
    }

    /// Reads the content of a file. The answer is held; returns its length, -1 if the file is missing or damaged.
    pub fn read_file(&mut self, file: &BlobRef) -> Result<i32> {
        let Some(content) = self.store()?.read_blob(file)? else { return Ok(MISS) };
        self.hold(content)
    }

    /// Keeps files that were stored until the next commit that begins here.
    pub fn keep(&mut self, pin: Pin) -> Result<()> {
        self.open_mut()?.keep(pin);
        Ok(())
    }

    /// Bytes buffered and not committed.
    pub fn pending_bytes(&self) -> Result<u64> {
        Ok(self.open()?.pending_bytes())
    }

    /// Puts and deletes buffered and not committed.
    pub fn pending_entries(&self) -> Result<u64> {
        Ok(self.open()?.pending_entries())
    }

    /// Begins a commit of what is buffered.
    pub fn begin_commit(&mut self, durability: Durability) -> Result<Begun> {
        failpoints::panics("handle-begin");
        let handle = self.open_mut()?;
        Ok(match handle.begin_commit() {
            None => Begun::Empty,
            Some(pending) if pending.is_first() => {
                Begun::Ready(Commit::new(Arc::clone(handle.store()), pending, durability))
            }
            Some(pending) => {
                pending.wait();
                Begun::Waits
            }
        })
    }

    /// The oldest commit that waits. The caller runs it after the one before it has ended.
    pub fn next_commit(&mut self, durability: Durability) -> Result<Commit> {
        let handle = self.open_mut()?;
        let pending = handle.next_commit().ok_or_else(|| Failure::argument("no commit waits"))?;
        Ok(Commit::new(Arc::clone(handle.store()), pending, durability))
    }

    /// Leaves the report of a commit, packed, at the start of the scratch buffer.
    pub fn report(&mut self, committed: &Committed) {
        let packed = committed.pack();
        if let Some(target) = self.scratch.as_mut().get_mut(..packed.len()) {
            target.copy_from_slice(&packed);
        }
    }

    /// The report of a commit of nothing.
    pub fn report_empty(&mut self) -> Result<()> {
        let damage_count = self.damage_count()?;
        self.report(&Committed { damage_count, ..Committed::default() });
        Ok(())
    }

    /// How many places of damage were found so far.
    pub fn damage_count(&self) -> Result<u32> {
        Ok(self.store()?.damage_count())
    }

    /// Begins an export of what is committed now; `options` is JSON. Returns its number.
    pub fn begin_export(&mut self, options: &str) -> Result<u32> {
        let store = Arc::clone(self.store()?);
        self.transfers.begin_export(&store, ExportOptions::read(options)?)
    }

    /// The next chunk of an export, which is held. One without bytes is the end.
    pub fn export_chunk(&mut self, number: u32) -> Result<ExportProgress> {
        self.store()?;
        Ok(self.transfers.export(number)?.fill(&mut self.held))
    }

    /// Begins an import. Returns its number.
    pub fn begin_import(&mut self, may_replace: bool) -> Result<u32> {
        let store = Arc::clone(self.store()?);
        Ok(self.transfers.begin_import(&store, may_replace))
    }

    /// Takes the next piece of an import.
    pub fn feed_import(&mut self, number: u32, piece: &[u8]) -> Result<ImportProgress> {
        self.store()?;
        self.transfers.import(number)?.feed(piece)
    }

    /// Whether the input of an import may end here.
    pub fn finish_import(&mut self, number: u32) -> Result<()> {
        self.store()?;
        self.transfers.import(number)?.finish()
    }

    /// Takes what an import has for a commit; `None` if it has nothing.
    pub fn commit_import(&mut self, number: u32) -> Result<Option<PendingCommit>> {
        self.store()?;
        Ok(self.transfers.import(number)?.begin_commit())
    }

    /// Ends an export or an import; what an import did not commit is dropped.
    pub fn end_transfer(&mut self, number: u32) {
        self.transfers.end(number);
    }

    /// The shared store.
    pub fn store(&self) -> Result<&Arc<Store>> {
        Ok(self.open()?.store())
    }

    /// Makes every later call answer `CLOSED`, and drops the commits that wait. The store stays open.
    pub fn close(&mut self) {
        self.held = Vec::new();
        self.transfers = Transfers::default();
        self.handle = None;
    }

    fn open(&self) -> Result<&Handle> {
        self.handle.as_ref().ok_or_else(|| Error::Closed.into())
    }

    fn open_mut(&mut self) -> Result<&mut Handle> {
        self.handle.as_mut().ok_or_else(|| Error::Closed.into())
    }

    fn with_key(
        &mut self,
        key_bytes: usize,
        call: impl FnOnce(&mut Handle, &[u8]) -> varve_core::Result<()>,
    ) -> Result<()> {
        let Self { handle: Some(handle), scratch, .. } = self else {
            return Err(Error::Closed.into());
        };
        Ok(call(handle, key_in((*scratch).as_ref(), key_bytes)?)?)
    }
}

/// Looks up a key: see [`JsHandle::read`].
#[inline]
fn read(
    handle: &Handle,
    (namespace, key): (u32, &[u8]),
    damage_reported: &mut u32,
    target: &mut [u8],
) -> Result<i32> {
    handle.get_into(namespace, key, target)?.map_or_else(
        || {
            let known = std::mem::replace(damage_reported, handle.store().damage_count());
            Ok(if known == *damage_reported { MISS } else { MISS_AND_DAMAGE })
        },
        length_of,
    )
}

fn split_blobs(packed: &[u8]) -> Option<(Vec<BlobRef>, &[u8])> {
    let (count, rest) = packed.split_first_chunk::<4>()?;
    let bytes = (u32::from_le_bytes(*count) as usize).checked_mul(FILE_REF_BYTES)?;
    let (refs, value) = rest.split_at_checked(bytes)?;
    let file = |packed: &[u8]| {
        let (digest, bytes) = packed.split_first_chunk::<32>()?;
        Some(BlobRef {
            digest: Digest(*digest),
            bytes: u64::from_le_bytes(*bytes.first_chunk::<8>()?),
        })
    };
    Some((refs.chunks_exact(FILE_REF_BYTES).map(file).collect::<Option<_>>()?, value))
}

/// Whether a text has U+FFFD.
#[cold]
fn has_replacement(text: &[u8]) -> bool {
    text.windows(REPLACEMENT.len()).any(|window| window == REPLACEMENT)
}

fn key_in(scratch: &[u8], key_bytes: usize) -> Result<&[u8]> {
    scratch.get(..key_bytes).ok_or_else(|| {
        let (field, bytes_max) = ("key", scratch.len() as u64);
        Error::TooLong { field, bytes: key_bytes as u64, bytes_max }.into()
    })
}

#[cfg(test)]
mod tests;
