//! What one thread of the host uses: its buffered puts in front of the store that all threads of the process share.

use crate::batch::Batch;
use crate::blobs::Pin;
use crate::error::{Error, Result};
use crate::format::blob_refs::{BLOB_REF_BYTES, BlobRefs, Form};
use crate::format::digest::BlobRef;
use crate::format::entry::{Entry, Kind};
use crate::format::hash::key_hash;
use crate::format::namespace_ids::NamespaceId;
use crate::format::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::options::Durability;
use crate::platform::sync::atomic::{AtomicU64, Ordering};
use crate::platform::sync::{Mutex, MutexGuard};
use crate::read::entries::Source;
use crate::read::lookup::copy_fitting;
use crate::report::CommitReport;
use crate::store::Store;
use crate::store::pending_reads::{PendingRead, PendingReads};
use crate::store::reads::EachEntry;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

/// One user of a store. Puts are buffered here, visible here at once, and committed by [`Handle::begin_commit`].
#[derive(Debug)]
pub struct Handle {
    store: Arc<Store>,
    /// Namespaces by the ids of this handle.
    namespaces: Vec<Arc<NamespaceId>>,
    /// Ids of this handle, by the number of the namespace in the store.
    numbers: HashMap<u32, u32>,
    pending: Batch,
    in_flight: Arc<InFlight>,
}

/// Batches that left the buffer and are not committed yet, oldest first.
#[derive(Debug, Default)]
struct InFlight {
    batches: Mutex<Vec<SentBatch>>,
    /// Total bytes, which can be read without the lock.
    bytes: AtomicU64,
}

#[derive(Debug, Clone)]
struct SentBatch {
    batch: Arc<Batch>,
    step: Step,
}

/// How far the commit of a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// [`Handle::next_commit`] hands it out.
    Waiting,
    /// A [`PendingCommit`] has it.
    HandedOut,
    /// It becomes part of the next commit that begins.
    Failed,
}

impl Handle {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        let (namespaces, numbers) = (Vec::new(), HashMap::new());
        Self { store, namespaces, numbers, pending: Batch::default(), in_flight: Arc::default() }
    }

    /// The id of a namespace in this handle; the same for the same name and version.
    pub fn namespace(&mut self, name: &str, version: &str) -> Result<u32> {
        let id = self.store.open_context()?.namespace_ids.id(name, version)?;
        let Self { namespaces, numbers, .. } = self;
        Ok(*numbers.entry(id.number).or_insert_with(|| {
            namespaces.push(id);
            namespaces.len() as u32 - 1
        }))
    }

    /// Calls `use_value` with the value, which is valid during the call only. `None` is a miss.
    pub fn get<R>(
        &self,
        namespace: u32,
        key: &[u8],
        use_value: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let id = self.known(namespace)?;
        let hash = key_hash(key);
        if let Some(entry) = self.pending.get(id.number, hash, key) {
            return Ok(entry.buffered_value().map(use_value));
        }
        if self.in_flight.bytes() > 0 {
            let batches = self.in_flight.lock();
            if let Some(entry) =
                batches.iter().rev().find_map(|sent| sent.batch.get(id.number, hash, key))
            {
                return Ok(entry.buffered_value().map(use_value));
            }
        }
        self.store.get(id.number, hash, key, use_value)
    }

    /// Copies the value to the start of `target` if it fits there, and returns its length. `None` is a miss.
    pub fn get_into(&self, namespace: u32, key: &[u8], target: &mut [u8]) -> Result<Option<usize>> {
        let id = self.known(namespace)?;
        let hash = key_hash(key);
        let copied =
            |entry: Entry<'_>| entry.buffered_value().map(|value| copy_fitting(value, target));
        match self.buffered(id, hash, key, copied) {
            Some(answer) => Ok(answer),
            None => self.store.get_into(id.number, hash, key, target),
        }
    }

    /// Like `get` for each of `keys`, all from one committed state.
    pub fn get_many<'k>(
        &self,
        namespace: u32,
        keys: impl Iterator<Item = &'k [u8]>,
        each: impl FnMut(Option<&[u8]>),
    ) -> Result<()> {
        let id = self.known(namespace)?;
        let mut lookups = self.store.multi_get(id.number, each)?;
        for key in keys {
            let hash = key_hash(key);
            if self.buffered(id, hash, key, |entry| lookups.add(entry.buffered_value())).is_none() {
                lookups.look_up(hash, key);
            }
        }
        lookups.finish()
    }

    /// Prepares lookups of these keys for another thread.
    pub fn begin_reads<'k>(
        &self,
        namespace: u32,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<PendingReads> {
        let id = self.known(namespace)?;
        let copied = |entry: Entry<'_>| entry.buffered_value().map(<[u8]>::to_vec);
        let reads = keys.map(|key| match self.buffered(id, key_hash(key), key, copied) {
            Some(value) => PendingRead::Buffered(value),
            None => PendingRead::Key(key.to_vec()),
        });
        Ok(PendingReads {
            store: Arc::clone(&self.store),
            namespace: Arc::clone(id),
            reads: reads.collect(),
        })
    }

    /// Whether the entry exists. The value is not read.
    pub fn has(&self, namespace: u32, key: &[u8]) -> Result<bool> {
        let id = self.known(namespace)?;
        let hash = key_hash(key);
        match self.buffered(id, hash, key, |entry| entry.live_value().is_some()) {
            Some(is_put) => Ok(is_put),
            None => self.store.has(id.number, hash, key),
        }
    }

    /// Calls `answer` with the buffered entry of a key.
    pub(super) fn buffered<R>(
        &self,
        id: &NamespaceId,
        hash: u64,
        key: &[u8],
        answer: impl FnOnce(Entry<'_>) -> R,
    ) -> Option<R> {
        if let Some(entry) = self.pending.get(id.number, hash, key) {
            return Some(answer(entry));
        }
        if self.in_flight.bytes() == 0 {
            return None;
        }
        self.in_flight
            .lock()
            .iter()
            .rev()
            .find_map(|sent| sent.batch.get(id.number, hash, key))
            .map(answer)
    }

    /// Buffers a put.
    pub fn put(&mut self, namespace: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(namespace, Kind::Put, key, value)
    }

    /// Buffers an entry that needs `files`, which stay as long as the entry does. They were stored by a
    /// [`BlobWriter`](crate::BlobWriter), or an existing entry names them.
    pub fn put_with_blobs(
        &mut self,
        namespace: u32,
        key: &[u8],
        value: &[u8],
        files: &[BlobRef],
    ) -> Result<()> {
        let mut refs = Vec::with_capacity(value.len() + files.len() * BLOB_REF_BYTES + 8);
        BlobRefs::write(files, Form::Beside(value), &mut refs);
        self.add(namespace, Kind::PutWithBlobs, key, &refs)
    }

    /// Keeps blobs pinned until the entries that are buffered now, or buffered next, are committed.
    pub fn keep(&mut self, pin: Pin) {
        self.pending.keep([pin]);
    }

    /// Buffers the removal of an entry.
    pub fn delete(&mut self, namespace: u32, key: &[u8]) -> Result<()> {
        self.add(namespace, Kind::Delete, key, &[])
    }

    fn add(&mut self, namespace: u32, kind: Kind, key: &[u8], value: &[u8]) -> Result<()> {
        self.known(namespace)?;
        for (field, bytes, bytes_max) in
            [("key", key.len(), KEY_BYTES_MAX), ("value", value.len(), VALUE_BYTES_MAX)]
        {
            if bytes > bytes_max {
                return Err(Error::TooLong {
                    field,
                    bytes: bytes as u64,
                    bytes_max: bytes_max as u64,
                }
                .boxed());
            }
        }
        let Self { namespaces, pending, store, .. } = self;
        let id =
            namespaces.get(namespace as usize).ok_or(Error::UnknownNamespace { id: namespace })?;
        pending.add_if(id, kind, key, value, |batch| store.check_room(id, batch))
    }

    #[inline]
    pub(super) fn known(&self, namespace: u32) -> Result<&Arc<NamespaceId>> {
        self.store.open_context()?;
        self.namespaces
            .get(namespace as usize)
            .ok_or_else(|| Error::UnknownNamespace { id: namespace }.boxed())
    }

    /// Visits entries in order of their key's hash from `cursor` on (0 = the first), until about `bytes_max` bytes of
    /// keys and values were visited. Returns the next cursor, `None` at the end. Buffered entries are included.
    pub fn scan(
        &self,
        namespace: u32,
        cursor: u64,
        bytes_max: u64,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Option<u64>> {
        self.pages(namespace, (cursor, bytes_max), true, &mut |key, value, _| each(key, value))
    }

    /// The same with the length of each value, without reading values: only keys and lengths count as bytes.
    pub fn scan_keys(
        &self,
        namespace: u32,
        cursor: u64,
        bytes_max: u64,
        each: &mut dyn FnMut(&[u8], usize),
    ) -> Result<Option<u64>> {
        self.pages(namespace, (cursor, bytes_max), false, &mut |key, _, bytes| each(key, bytes))
    }

    fn pages(
        &self,
        namespace: u32,
        page: (u64, u64),
        with_values: bool,
        each: &mut EachEntry<'_>,
    ) -> Result<Option<u64>> {
        let id = self.known(namespace)?.number;
        let sent: Vec<SentBatch> = self.in_flight.lock().clone();
        let mut newer = vec![Source::batch(&self.pending, id, sent.len() as u64)];
        for (rank, sent) in sent.iter().enumerate() {
            newer.push(Source::batch(&sent.batch, id, rank as u64));
        }
        self.store.scan(id, page, with_values, newer, each)
    }

    /// Bytes buffered and not yet committed, without those of a running commit.
    pub fn pending_bytes(&self) -> u64 {
        self.pending.bytes() + self.sum_of_failed(Batch::bytes)
    }

    /// Buffered puts and deletes, overwritten ones included.
    pub fn pending_entries(&self) -> u64 {
        self.pending.len() + self.sum_of_failed(Batch::len)
    }

    /// Sum over the batches whose commit failed.
    fn sum_of_failed(&self, size: fn(&Batch) -> u64) -> u64 {
        self.in_flight
            .lock()
            .iter()
            .filter(|sent| sent.step == Step::Failed)
            .map(|sent| size(&sent.batch))
            .sum()
    }

    /// Takes what is buffered for a commit on any thread; it stays readable here meanwhile. `None` if nothing is
    /// buffered. Commits of one handle must run in the order in which they began: see [`PendingCommit::is_first`].
    pub fn begin_commit(&mut self) -> Option<PendingCommit> {
        // If the store is closed or broken, the commit reports it.
        let _ = self.store.advance();
        let mut batches = self.in_flight.lock();
        let (failed, mut sent): (Vec<SentBatch>, Vec<SentBatch>) =
            batches.drain(..).partition(|sent| sent.step == Step::Failed);
        let mut batch = Batch::default();
        // A batch that does not fit into this commit is left for the next one, and so are all batches after it.
        let mut waiting = Vec::new();
        for older in failed {
            if waiting.is_empty() && batch.has_room_for(&older.batch) {
                batch.absorb(&older.batch);
            } else {
                waiting.push(older);
            }
        }
        // Pins stay with the buffer until there are entries to commit.
        let has_new = !self.pending.is_empty();
        if has_new && batch.is_empty() {
            batch = std::mem::take(&mut self.pending);
        } else if has_new && waiting.is_empty() && batch.has_room_for(&self.pending) {
            batch.absorb(&std::mem::take(&mut self.pending));
        }
        let batch = Arc::new(batch);
        if !batch.is_empty() {
            sent.push(SentBatch { batch: Arc::clone(&batch), step: Step::HandedOut });
        }
        sent.extend(waiting);
        *batches = sent;
        self.in_flight.count(&batches);
        drop(batches);
        (!batch.is_empty()).then(|| self.pending_commit(batch))
    }

    /// The oldest commit that waits.
    pub fn next_commit(&mut self) -> Option<PendingCommit> {
        let mut batches = self.in_flight.lock();
        let next = batches.iter_mut().find(|sent| sent.step == Step::Waiting)?;
        next.step = Step::HandedOut;
        let batch = Arc::clone(&next.batch);
        drop(batches);
        Some(self.pending_commit(batch))
    }

    fn pending_commit(&self, batch: Arc<Batch>) -> PendingCommit {
        let (store, in_flight) = (Arc::clone(&self.store), Arc::clone(&self.in_flight));
        PendingCommit { store, in_flight, batch, end: Some(Step::Failed) }
    }

    /// The shared store: refresh, flush, compact, stats, verify, status, close.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }
}

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, Vec<SentBatch>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, batches: &[SentBatch]) {
        let bytes = batches.iter().map(|sent| sent.batch.bytes()).sum();
        self.bytes.store(bytes, Ordering::Release);
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }
}

/// A commit that any thread can run. If it is dropped or fails, its entries return to the handle's buffer.
#[derive(Debug)]
pub struct PendingCommit {
    store: Arc<Store>,
    in_flight: Arc<InFlight>,
    batch: Arc<Batch>,
    /// What the batch is once this is dropped; `None` = committed.
    end: Option<Step>,
}

impl PendingCommit {
    /// Writes the entries as one atomic commit. `durability` overrides the store's default.
    pub fn run(mut self, durability: Option<Durability>, now_ms: u64) -> Result<CommitReport> {
        let report = self.store.commit(&self.batch, durability, now_ms)?;
        self.end = None;
        Ok(report)
    }

    /// Bytes of its entries in a log.
    pub fn bytes(&self) -> u64 {
        self.batch.bytes()
    }

    /// Whether every older commit of the handle has ended, so that this one may run.
    pub fn is_first(&self) -> bool {
        let batches = self.in_flight.lock();
        let first = batches.iter().find(|sent| sent.step != Step::Failed);
        first.is_some_and(|sent| Arc::ptr_eq(&sent.batch, &self.batch))
    }

    /// Puts it back for [`Handle::next_commit`], which hands out commits in the order in which they began.
    pub fn wait(mut self) {
        self.end = Some(Step::Waiting);
    }
}

impl Drop for PendingCommit {
    fn drop(&mut self) {
        let mut batches = self.in_flight.lock();
        let Some(index) = batches.iter().position(|sent| Arc::ptr_eq(&sent.batch, &self.batch))
        else {
            return;
        };
        let Some(step) = self.end else {
            batches.remove(index);
            self.in_flight.count(&batches);
            return;
        };
        // Batches begun later are newer and may be committed before a failed one is tried again.
        let newer: Vec<Arc<Batch>> =
            batches.iter().skip(index + 1).map(|sent| Arc::clone(&sent.batch)).collect();
        if let Some(sent) = batches.get_mut(index) {
            sent.step = step;
            if step == Step::Failed {
                sent.batch = Arc::new(self.batch.without(&newer));
            }
        }
        self.in_flight.count(&batches);
    }
}
