//! What one thread of the host holds: its buffered puts in front of the store that all threads of the process share.

use crate::batch::Batch;
use crate::blobs::Hold;
use crate::error::{Error, Result};
use crate::format::blob_refs::{FILE_REF_BYTES, Filed, Form};
use crate::format::digest::FileRef;
use crate::format::entry::{Entry, Kind};
use crate::format::hash::key_hash;
use crate::format::namespace_ids::NamespaceId;
use crate::format::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::options::Durability;
use crate::platform::sync::atomic::{AtomicU64, Ordering};
use crate::platform::sync::{Mutex, MutexGuard};
use crate::read::entries::Source;
use crate::report::CommitReport;
use crate::store::Store;
use crate::store::pending_reads::{PendingReads, Question};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

/// One user of a store. Puts are buffered here, readable here at once, and reach the store by [`Handle::begin_commit`].
#[derive(Debug)]
pub struct Handle {
    store: Arc<Store>,
    /// By the numbers that the user has for them.
    namespaces: Vec<Arc<NamespaceId>>,
    /// The same numbers, by the number of the store.
    numbers: HashMap<u32, u32>,
    pending: Batch,
    on_the_way: Arc<OnTheWay>,
}

/// Batches that left the buffer, oldest first.
#[derive(Debug, Default)]
struct OnTheWay {
    batches: Mutex<Vec<Sent>>,
    /// Bytes of all of them, for those who need to know no more.
    bytes: AtomicU64,
}

#[derive(Debug, Clone)]
struct Sent {
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
        Self { store, namespaces, numbers, pending: Batch::default(), on_the_way: Arc::default() }
    }

    /// A number for a namespace, of this handle; the same for the same name and version.
    pub fn namespace(&mut self, name: &str, version: &str) -> Result<u32> {
        let id = self.store.open_context()?.names.id(name, version)?;
        let Self { namespaces, numbers, .. } = self;
        Ok(*numbers.entry(id.number).or_insert_with(|| {
            namespaces.push(id);
            namespaces.len() as u32 - 1
        }))
    }

    /// Calls `use_value` with the bytes of the entry, which live only for this call. `None` is a miss.
    pub fn get<R>(&self, namespace: u32, key: &[u8], use_value: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let id = self.known(namespace)?;
        let hash = key_hash(key);
        if let Some(entry) = self.pending.get(id.number, hash, key) {
            return Ok(entry.buffered_value().map(use_value));
        }
        if self.on_the_way.bytes() > 0 {
            let batches = self.on_the_way.lock();
            if let Some(entry) = batches.iter().rev().find_map(|sent| sent.batch.get(id.number, hash, key)) {
                return Ok(entry.buffered_value().map(use_value));
            }
        }
        self.store.get(id.number, hash, key, use_value)
    }

    /// As `get` for each of `keys`, all from one committed state.
    pub fn get_many<'k>(
        &self,
        namespace: u32,
        keys: impl Iterator<Item = &'k [u8]>,
        each: impl FnMut(Option<&[u8]>),
    ) -> Result<()> {
        let id = self.known(namespace)?;
        let mut reader = self.store.reader(id.number, each)?;
        for key in keys {
            let hash = key_hash(key);
            if self.buffered(id, hash, key, |entry| reader.answer(entry.buffered_value())).is_none() {
                reader.ask(hash, key);
            }
        }
        reader.end()
    }

    /// Lookups of these keys for another thread.
    pub fn begin_reads<'k>(&self, namespace: u32, keys: impl Iterator<Item = &'k [u8]>) -> Result<PendingReads> {
        let id = self.known(namespace)?;
        let copied = |entry: Entry<'_>| entry.buffered_value().map(<[u8]>::to_vec);
        let questions = keys.map(|key| match self.buffered(id, key_hash(key), key, copied) {
            Some(value) => Question::Answered(value),
            None => Question::Open(key.to_vec()),
        });
        Ok(PendingReads { store: Arc::clone(&self.store), namespace: Arc::clone(id), questions: questions.collect() })
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
    fn buffered<R>(&self, id: &NamespaceId, hash: u64, key: &[u8], answer: impl FnOnce(Entry<'_>) -> R) -> Option<R> {
        if let Some(entry) = self.pending.get(id.number, hash, key) {
            return Some(answer(entry));
        }
        if self.on_the_way.bytes() == 0 {
            return None;
        }
        self.on_the_way.lock().iter().rev().find_map(|sent| sent.batch.get(id.number, hash, key)).map(answer)
    }

    /// Buffers an entry.
    pub fn put(&mut self, namespace: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(namespace, Kind::Put, key, value)
    }

    /// Buffers an entry that needs `files`: they stay as long as it does. They were stored by an
    /// [`Intake`](crate::Intake), or an entry that is still there names them.
    pub fn put_filed(&mut self, namespace: u32, key: &[u8], value: &[u8], files: &[FileRef]) -> Result<()> {
        let mut filed = Vec::with_capacity(value.len() + files.len() * FILE_REF_BYTES + 8);
        Filed::write(files, Form::Beside(value), &mut filed);
        self.add(namespace, Kind::PutFiled, key, &filed)
    }

    /// Keeps files that were stored until what is buffered here at that time, or later, is committed.
    pub fn keep(&mut self, hold: Hold) {
        self.pending.keep([hold]);
    }

    /// Buffers the removal of an entry.
    pub fn delete(&mut self, namespace: u32, key: &[u8]) -> Result<()> {
        self.add(namespace, Kind::Delete, key, &[])
    }

    fn add(&mut self, namespace: u32, kind: Kind, key: &[u8], value: &[u8]) -> Result<()> {
        self.known(namespace)?;
        for (field, bytes, bytes_max) in [("key", key.len(), KEY_BYTES_MAX), ("value", value.len(), VALUE_BYTES_MAX)] {
            if bytes > bytes_max {
                return Err(Error::TooLong { field, bytes: bytes as u64, bytes_max: bytes_max as u64 });
            }
        }
        let Self { namespaces, pending, .. } = self;
        let id = namespaces.get(namespace as usize).ok_or(Error::UnknownNamespace { id: namespace })?;
        pending.add(id, kind, key, value)
    }

    #[inline]
    fn known(&self, namespace: u32) -> Result<&Arc<NamespaceId>> {
        self.store.open_context()?;
        self.namespaces.get(namespace as usize).ok_or(Error::UnknownNamespace { id: namespace })
    }

    /// Entries in order of their key's hash, from `cursor` (0 = the first), until about `bytes_max` bytes of keys and
    /// values were handed out. Returns where to go on, `None` at the end. Buffered puts are included.
    pub fn scan(
        &self,
        namespace: u32,
        cursor: u64,
        bytes_max: u64,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Option<u64>> {
        let id = self.known(namespace)?.number;
        let sent: Vec<Sent> = self.on_the_way.lock().clone();
        let mut newer = vec![Source::batch(&self.pending, id, sent.len() as u64)];
        for (rank, sent) in sent.iter().enumerate() {
            newer.push(Source::batch(&sent.batch, id, rank as u64));
        }
        self.store.scan(id, cursor, bytes_max, newer, each)
    }

    /// Bytes buffered and not yet committed, without those of a commit under way.
    pub fn pending_bytes(&self) -> u64 {
        self.pending.bytes() + self.sum_of_failed(Batch::bytes)
    }

    /// Puts and deletes of the same entries, overwritten ones included.
    pub fn pending_entries(&self) -> u64 {
        self.pending.len() + self.sum_of_failed(Batch::len)
    }

    /// Of the batches whose commit failed.
    fn sum_of_failed(&self, size: fn(&Batch) -> u64) -> u64 {
        self.on_the_way.lock().iter().filter(|sent| sent.step == Step::Failed).map(|sent| size(&sent.batch)).sum()
    }

    /// Takes what is buffered for a commit on any thread; it stays readable here meanwhile. `None` if nothing is
    /// buffered. Commits of one handle must run in the order in which they began: see [`PendingCommit::is_first`].
    pub fn begin_commit(&mut self) -> Option<PendingCommit> {
        // A store that is closed or broken says so when the commit is run.
        let _ = self.store.advance();
        let mut batches = self.on_the_way.lock();
        let (failed, mut sent): (Vec<Sent>, Vec<Sent>) = batches.drain(..).partition(|sent| sent.step == Step::Failed);
        let mut batch = Batch::default();
        // What does not fit into one commit with the others waits for the next one; what came after it waits, too.
        let mut waiting = Vec::new();
        for older in failed {
            if waiting.is_empty() && batch.has_room_for(&older.batch) {
                batch.absorb(&older.batch);
            } else {
                waiting.push(older);
            }
        }
        // Holds wait with the buffer as long as there are no entries to commit.
        let has_new = !self.pending.is_empty();
        if has_new && batch.is_empty() {
            batch = std::mem::take(&mut self.pending);
        } else if has_new && waiting.is_empty() && batch.has_room_for(&self.pending) {
            batch.absorb(&std::mem::take(&mut self.pending));
        }
        let batch = Arc::new(batch);
        if !batch.is_empty() {
            sent.push(Sent { batch: Arc::clone(&batch), step: Step::HandedOut });
        }
        sent.extend(waiting);
        *batches = sent;
        self.on_the_way.count(&batches);
        drop(batches);
        (!batch.is_empty()).then(|| self.pending_commit(batch))
    }

    /// The oldest commit that waits.
    pub fn next_commit(&mut self) -> Option<PendingCommit> {
        let mut batches = self.on_the_way.lock();
        let next = batches.iter_mut().find(|sent| sent.step == Step::Waiting)?;
        next.step = Step::HandedOut;
        let batch = Arc::clone(&next.batch);
        drop(batches);
        Some(self.pending_commit(batch))
    }

    fn pending_commit(&self, batch: Arc<Batch>) -> PendingCommit {
        let (store, on_the_way) = (Arc::clone(&self.store), Arc::clone(&self.on_the_way));
        PendingCommit { store, on_the_way, batch, end: Some(Step::Failed) }
    }

    /// The shared store: refresh, flush, compact, stats, verify, status, close.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }
}

impl OnTheWay {
    fn lock(&self) -> MutexGuard<'_, Vec<Sent>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, batches: &[Sent]) {
        let bytes = batches.iter().map(|sent| sent.batch.bytes()).sum();
        self.bytes.store(bytes, Ordering::Release);
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }
}

/// A commit on its way, for any thread. Dropped without success, its entries go back to the handle's buffer.
#[derive(Debug)]
pub struct PendingCommit {
    store: Arc<Store>,
    on_the_way: Arc<OnTheWay>,
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
        let batches = self.on_the_way.lock();
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
        let mut batches = self.on_the_way.lock();
        let Some(index) = batches.iter().position(|sent| Arc::ptr_eq(&sent.batch, &self.batch)) else { return };
        let Some(step) = self.end else {
            batches.remove(index);
            self.on_the_way.count(&batches);
            return;
        };
        // Batches begun later are newer and may be committed before a failed one is tried again.
        let newer: Vec<Arc<Batch>> = batches.iter().skip(index + 1).map(|sent| Arc::clone(&sent.batch)).collect();
        if let Some(sent) = batches.get_mut(index) {
            sent.step = step;
            if step == Step::Failed {
                sent.batch = Arc::new(self.batch.without(&newer));
            }
        }
        self.on_the_way.count(&batches);
    }
}
