//! One cache as one process sees it, shared by all its threads.
//!
//! Lookups share `state`; a commit locks it briefly at its end. `committer` admits one commit at a time, `maintenance`
//! one compaction. Locks are taken in the order maintenance, committer, state.

pub(crate) mod blob_writer;
pub(crate) mod handle;
pub(crate) mod multi_get;
pub(crate) mod pending_reads;

use crate::batch::Batch;
use crate::blobs::{Content, Pin};
use crate::commit::Committer;
use crate::commit::reload::{Replaced, advance, look_ahead, renew, replace};
use crate::compact::compact;
use crate::compact::list_logs::list_logs;
use crate::error::{Error, Result};
use crate::format::digest::BlobRef;
use crate::maintain::repair::repair;
use crate::maintain::verify::verify;
use crate::options::{Durability, Options, Watch};
use crate::platform::failpoints;
use crate::platform::pool::Pool;
use crate::platform::sync::atomic::{AtomicBool, Ordering};
use crate::platform::sync::{Mutex, MutexGuard, Poisonable, RwLock, RwLockReadGuard};
use crate::platform::vfs::Vfs;
use crate::read::entries::{Entries, Ranges, Source};
use crate::read::lookup::lookup;
use crate::read::missing_blob;
use crate::read::stats::{sources_of, stats};
use crate::read::top::top;
use crate::read::walk::Walk;
use crate::report::{CommitReport, CompactReport, RepairReport, Stats, Status, TopEntry, TopOrder, VerifyReport};
use crate::state::context::Context;
use crate::state::record_usage::{is_due, record_usage};
use crate::state::{LogView, Namespace, State, TableIndex, catch_up, load, sync_logs};
use crate::store::handle::Handle;
use crate::store::multi_get::MultiGet;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

/// At close, logs are checkpointed if there are more than this number of them, or more bytes in them.
const LOGS_LEFT: usize = 2;
const LOG_BYTES_LEFT: u64 = 256 << 10;

/// Bytes of logs left at close, as a fraction of the size limit of the cache.
const LOG_PART_LEFT: u64 = 8;

/// Bytes in the log of this process before a commit checkpoints it itself. They are all in the memtable, too.
const LOG_BYTES_MAX: u64 = 64 << 20;

/// One open cache, shared by all threads of the process.
#[derive(Debug)]
pub struct Store {
    context: Context,
    state: RwLock<State>,
    committer: Mutex<Committer>,
    maintenance: Mutex<()>,
    closed: AtomicBool,
    replaced: Replaced,
}

impl Store {
    /// Opens the newest committed state. Writes nothing.
    pub fn open(vfs: Arc<dyn Vfs>, pool: Arc<dyn Pool>, options: Options) -> Result<Arc<Self>> {
        let context = Context::new(vfs, pool, options);
        let state = RwLock::new(load(&context, &[])?);
        Ok(Arc::new(Self {
            context,
            state,
            committer: Mutex::default(),
            maintenance: Mutex::default(),
            closed: AtomicBool::new(false),
            replaced: Replaced::default(),
        }))
    }

    /// Creates a handle; each thread of the host has its own.
    pub fn handle(self: &Arc<Self>) -> Handle {
        Handle::new(Arc::clone(self))
    }

    /// Whether the store cannot be used any more: `close` was called, or a panic left a lock poisoned.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) || self.is_broken()
    }

    fn is_broken(&self) -> bool {
        self.state.has_poison() || self.committer.has_poison() || self.maintenance.has_poison()
    }

    pub(crate) fn open_context(&self) -> Result<&Context> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(&self.context) }
    }

    fn check_writable(&self) -> Result<()> {
        if self.context.options.read_only { Err(Error::ReadOnly) } else { Ok(()) }
    }

    /// Checks that the store is open after a lock was acquired. `close` may have run while this thread waited for the
    /// lock, and left an empty state.
    fn if_open<G>(&self, guard: G) -> Result<G> {
        self.open_context().map(|_| guard)
    }

    fn state(&self) -> Result<RwLockReadGuard<'_, State>> {
        self.if_open(self.state.read()?)
    }

    fn committer(&self) -> Result<MutexGuard<'_, Committer>> {
        self.if_open(self.committer.lock()?)
    }

    fn maintenance(&self) -> Result<MutexGuard<'_, ()>> {
        self.if_open(self.maintenance.lock()?)
    }

    /// The committer, after logs with a failed sync were checkpointed.
    fn sound_committer(&self) -> Result<MutexGuard<'_, Committer>> {
        if self.context.failed_syncs.is_any() && !self.is_read_only() {
            let _one = self.maintenance()?;
            self.checkpoint_failed_syncs()?;
        }
        self.committer()
    }

    /// Checkpoints logs with a failed sync. The caller holds the lock `maintenance`.
    fn checkpoint_failed_syncs(&self) -> Result<()> {
        let Self { context, state, committer, .. } = self;
        // The state may have the log's file open, and with it the file's lock.
        {
            let _no_commit = committer.lock()?;
            renew(context, state)?;
        }
        compact(context, state, committer, false, &|_, _| ControlFlow::Continue(()))?;
        let state = state.read()?;
        // If the writer of a log lives, the sync fails in its own process, too.
        let is_left = |view: &LogView| view.commits > 0 && view.is_done().unwrap_or(true);
        context.failed_syncs.retain(|writer| state.logs.iter().any(|view| view.writer == writer && is_left(view)));
        if context.failed_syncs.is_any() {
            Err(Error::Busy { operation: "checkpoint a log", attempts: 1 })
        } else {
            Ok(())
        }
    }

    pub(crate) fn get<R>(
        &self,
        id: u32,
        hash: u64,
        key: &[u8],
        use_value: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let (context, state) = (&self.context, self.state()?);
        let answer = match lookup(&state, id, hash, key) {
            Some(hit) if hit.names_blobs => {
                let refs = hit.bytes().to_vec();
                drop(state);
                return Ok(self.blob_value(id, hash, key, &refs)?.map(|value| use_value(&value)));
            }
            hit => hit.map(|hit| use_value(hit.bytes())),
        };
        self.after_reads(context, id, state)?;
        Ok(answer)
    }

    pub(crate) fn after_reads(&self, context: &Context, id: u32, state: RwLockReadGuard<'_, State>) -> Result<()> {
        let is_index_due = state.is_index_due(id, &context.blocks);
        drop(state);
        if is_index_due {
            self.make_index(id);
        }
        if context.blocks.is_over()
            && let Ok(mut state) = self.state.write()
        {
            state.trim_blocks(&context.blocks);
        }
        Ok(())
    }

    /// Many lookups in one state; `each` receives the values.
    pub(crate) fn multi_get<E: FnMut(Option<&[u8]>)>(&self, id: u32, each: E) -> Result<MultiGet<'_, E>> {
        Ok(MultiGet::new(self, &self.context, id, self.state()?, each))
    }

    pub(crate) fn has(&self, id: u32, hash: u64, key: &[u8]) -> Result<bool> {
        Ok(lookup(&*self.state()?, id, hash, key).is_some())
    }

    /// The value of an entry that names blobs. If a blob is missing, it may have been collected since this state was
    /// loaded. A newer state then does not name it for this key, and the value is a miss. The visible state stays the
    /// same.
    pub(crate) fn blob_value(&self, id: u32, hash: u64, key: &[u8], refs: &[u8]) -> Result<Option<Vec<u8>>> {
        let context = self.open_context()?;
        let names =
            |newest: &State| lookup(newest, id, hash, key).is_some_and(|hit| hit.names_blobs && hit.bytes() == refs);
        Ok(match missing_blob::look(context, || Ok(self.state()?.tables()), names, || context.blobs.value(refs))? {
            Some(Content::Whole(value)) => Some(value),
            Some(Content::Missing) => {
                context.blobs.report_missing(refs);
                None
            }
            Some(Content::Damaged) | None => None,
        })
    }

    /// Pins blobs that are about to be stored. Returns the writer for their temporary names.
    pub(crate) fn pin_blobs(&self) -> Result<(u32, Pin)> {
        let context = self.open_context()?;
        self.check_writable()?;
        let pin = context.blobs.pin();
        let writer = self.sound_committer()?.pin(context, &self.state)?;
        Ok((writer, pin))
    }

    /// Lists every stored blob, whether or not an entry names it.
    pub fn list_blobs(&self) -> Result<Vec<BlobRef>> {
        self.open_context()?.blobs.list()
    }

    /// The pool that runs the jobs of this store.
    pub fn pool(&self) -> &Arc<dyn Pool> {
        &self.context.pool
    }

    /// Whether the store was opened with `read_only`.
    pub fn is_read_only(&self) -> bool {
        self.context.options.read_only
    }

    /// The content of a blob that an entry names; `None` = it is missing or damaged.
    pub fn read_blob(&self, file: &BlobRef) -> Result<Option<Vec<u8>>> {
        let context = self.open_context()?;
        let names = |newest: &State| !newest.unrecoverable && newest.named_blobs().contains(file);
        Ok(match missing_blob::look(context, || Ok(self.state()?.tables()), names, || context.blobs.read(file))? {
            Some(Content::Whole(content)) => Some(content),
            Some(Content::Missing) => {
                context.blobs.report(file, "missing file");
                None
            }
            Some(Content::Damaged) | None => None,
        })
    }

    /// Builds the index over the tables of a namespace without a lock on the state.
    fn make_index(&self, id: u32) {
        let Ok(state) = self.state() else { return };
        let Some(namespace) = state.namespace(id) else { return };
        let tables: Vec<_> = namespace.tables.iter().map(|live| Arc::clone(&live.table)).collect();
        drop(state);
        let (index, covered) = TableIndex::new(tables.iter().map(|table| &**table));
        let Ok(mut state) = self.state.write() else { return };
        if let Some(Namespace { selector, tables: live, .. }) = state.namespace_mut(id) {
            selector.install(live, &tables, index, &covered);
        }
    }

    pub(crate) fn scan(
        &self,
        id: u32,
        cursor: u64,
        bytes_max: u64,
        newer: Vec<Source<'_>>,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Option<u64>> {
        let (context, state) = (&self.context, self.state()?);
        let (mut sources, hidden_below) = sources_of(&state, id);
        failpoints::panics("scan");
        sources.extend(newer);
        let from = u32::try_from(cursor).unwrap_or(u32::MAX);
        let mut entries = Entries::new(hidden_below);
        let (mut bytes, mut last_hash) = (0, None);
        for range in Ranges::new(sources, from) {
            let outcome = entries.visit(&range, |entry| {
                // A page ends between two hashes, so that the next one begins exactly at the cursor.
                let hash = entry.hash;
                if bytes >= bytes_max && last_hash != Some(hash) {
                    return ControlFlow::Break(Ok(hash));
                }
                last_hash = Some(hash);
                let (key, is_hidden, names_blobs) = (entry.key, entry.is_hidden, entry.names_blobs());
                let Some(value) = entry.value().filter(|_| !is_hidden) else { return ControlFlow::Continue(()) };
                let content = if names_blobs { context.blobs.value(value).map(Some) } else { Ok(None) };
                let value = match &content {
                    Ok(None) => value,
                    Ok(Some(Content::Whole(value))) => value,
                    Ok(Some(Content::Missing | Content::Damaged)) => return ControlFlow::Continue(()),
                    Err(_) => return ControlFlow::Break(content.map(|_| hash)),
                };
                bytes += (key.len() + value.len()) as u64;
                each(key, value);
                ControlFlow::Continue(())
            });
            if let ControlFlow::Break(next) = outcome {
                return next.map(|next| Some(u64::from(next)));
            }
        }
        Ok(None)
    }

    pub(crate) fn commit(&self, batch: &Batch, durability: Option<Durability>, now_ms: u64) -> Result<CommitReport> {
        let context = self.open_context()?;
        self.check_writable()?;
        let durability = durability.unwrap_or(context.options.durability);
        let mut committer = self.sound_committer()?;
        let report = committer.commit(context, &self.state, batch, durability, now_ms)?;
        let is_too_fast = committer.log.as_ref().is_some_and(|log| log.bytes() >= LOG_BYTES_MAX);
        drop(committer);
        self.replaced.drop(context);
        // A process that commits faster than a compaction in the background follows compacts itself. The commit stands
        // even if that fails.
        if is_too_fast {
            let _ = self.compact(false, &|_, _| ControlFlow::Continue(()));
        }
        Ok(report)
    }

    /// Makes the commits of other processes visible. `true` = something changed.
    pub fn refresh(&self) -> Result<bool> {
        let context = self.open_context()?;
        if failpoints::bug("stale-after-refresh") {
            return Ok(false);
        }
        let _no_commit = self.committer()?;
        let advanced = advance(context, &self.state, &self.replaced)?;
        let mut state = self.state.write()?;
        if let Some(changed) = catch_up(context, &mut state)? {
            return Ok(advanced || changed);
        }
        // The state may be half caught up: load the whole state before any lookup.
        let fresh = load(context, &state.tables())?;
        let old = replace(&mut state, fresh);
        drop(state);
        old.drop(context);
        Ok(true)
    }

    /// Loads the commits of other processes for `advance`, without making them visible. If nothing changed, this costs
    /// one listing of the directory.
    pub fn look_ahead(&self) -> Result<()> {
        look_ahead(self.open_context()?, &self.state, &self.committer)
    }

    /// Makes visible what `look_ahead` or a compaction of this process has loaded. Never waits for the disk. `true` =
    /// something changed.
    pub fn advance(&self) -> Result<bool> {
        advance(self.open_context()?, &self.state, &self.replaced)
    }

    /// Sets the current time: entries read from now on count as used on that day. A commit sets it, too. Before the
    /// first call, no usage is recorded.
    pub fn set_now(&self, now_ms: u64) {
        self.context.usage.set_now(now_ms);
    }

    /// Records usage. It is a hint, so errors are ignored; a store with a poisoned lock writes nothing.
    fn record_usage(&self) {
        self.replaced.drop(&self.context);
        if !self.is_broken() {
            record_usage(&self.context, &self.state);
        }
    }

    /// Syncs every commit that this process sees, so that it survives a power failure, and records usage.
    pub fn flush(&self) -> Result<()> {
        let context = self.open_context()?;
        self.record_usage();
        let own = self.sound_committer()?.log.as_ref().map(|log| log.writer);
        let others = self.state()?.unsynced_others(own);
        // Lookups and commits continue while the disk works.
        sync_logs(context, &others)?;
        self.state.write()?.record_synced(&others);
        context.blobs.sync(&*context.pool)?;
        self.sound_committer()?.flush(context)
    }

    /// Checkpoints logs and merges tables: what is due, or everything if `full`.
    pub fn compact(&self, full: bool, watch: Watch<'_>) -> Result<CompactReport> {
        let context = self.open_context()?;
        self.check_writable()?;
        let _one = self.maintenance()?;
        self.replaced.drop(context);
        let damaged = context.damage.count();
        let report = compact(context, &self.state, &self.committer, full, watch)?;
        context.damage.merged(damaged);
        Ok(report)
    }

    /// A walk over what is committed now, in all namespaces or in one. Without values it reads none.
    pub fn walk(&self, only: Option<&str>, with_values: bool) -> Result<Walk> {
        let context = self.open_context()?;
        let state = self.state()?.snapshot();
        Ok(Walk::new(context, state, only, with_values))
    }

    /// The current version of a namespace; `None` = it never had a commit.
    pub fn version_of(&self, name: &str) -> Result<Option<String>> {
        self.open_context()?;
        Ok(self.state()?.current.get(name).map(|current| current.id.version.clone()))
    }

    /// Exact sizes and counts of the newest state that this process has loaded; a compaction counts at once.
    pub fn stats(&self) -> Result<Stats> {
        let (context, state) = (self.open_context()?, self.state()?.newest().snapshot());
        stats(context, &state)
    }

    /// The first `limit` entries in the given order, of all namespaces or of one.
    pub fn top(&self, order: TopOrder, only: Option<&str>, limit: usize) -> Result<Vec<TopEntry>> {
        let (context, state) = (self.open_context()?, self.state()?.snapshot());
        Ok(top(context, &state, order, only, limit))
    }

    /// Reads and checks every byte of the cache. Changes nothing.
    pub fn verify(&self, watch: Watch<'_>) -> Result<VerifyReport> {
        Ok(verify(self.open_context()?, watch)?.report)
    }

    /// Quarantines what is damaged, so that all remaining bytes are sound. A dry run only reports what would be
    /// quarantined. Sound entries stay, unless a damaged log or manifest makes it impossible to know which entries are
    /// the newest.
    pub fn repair(&self, dry_run: bool, watch: Watch<'_>) -> Result<RepairReport> {
        let context = self.open_context()?;
        if !dry_run {
            self.check_writable()?;
        }
        let _one = self.maintenance()?;
        repair(context, &self.state, &self.committer, dry_run, watch)
    }

    /// Number of damaged places found so far; `status` names them.
    pub fn damage_count(&self) -> u32 {
        self.context.damage.count()
    }

    /// The current status of the store.
    pub fn status(&self) -> Status {
        Status {
            read_only: self.context.options.read_only,
            keyed: self.context.options.mac_key.is_some(),
            writer: self.committer().ok().and_then(|committer| committer.log.as_ref().map(|log| log.writer)),
            manifest: self.state().map_or(0, |state| state.manifest.number),
            damage: self.context.damage.places(),
        }
    }

    /// Whether this process has written nothing and has nothing to write, so that `close` only closes files.
    pub fn is_unwritten(&self) -> bool {
        self.committer().is_ok_and(|committer| committer.log.is_none())
            && self.state().is_ok_and(|state| !is_due(&self.context, &state))
    }

    /// Checkpoints what is due, seals the log and closes every file. Later calls fail with `Closed`. Entries buffered
    /// in handles are discarded.
    pub fn close(&self) -> Result<()> {
        let _one = self.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.record_usage();
        let outcome = self.settle();
        *self.committer.lock().unwrap_or_else(PoisonError::into_inner) = Committer::default();
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = State::default();
        outcome
    }

    /// Checkpoints and seals logs if this process has written to the cache.
    fn settle(&self) -> Result<()> {
        failpoints::panics("settle");
        if self.is_broken() {
            return Err(Error::Broken);
        }
        if self.context.failed_syncs.is_any() {
            self.checkpoint_failed_syncs()?;
        }
        let wrote = self.committer.lock()?.log.as_ref().is_some_and(|log| log.commits > 0);
        self.context.blobs.sync(&*self.context.pool)?;
        if !wrote {
            return self.committer.lock()?.flush(&self.context);
        }
        let (logs, bytes, attached) = {
            let state = self.state.read()?;
            (state.logs.len(), state.memtable_bytes, state.attached_tables())
        };
        let bytes_left = LOG_BYTES_LEFT.min(self.context.options.bytes_max / LOG_PART_LEFT);
        // Damaged files are quarantined before a process closes after a commit, so that the next process opens a sound
        // cache.
        if logs > LOGS_LEFT || bytes > bytes_left || attached > 0 || self.context.damage.is_left() {
            compact(&self.context, &self.state, &self.committer, false, &|_, _| ControlFlow::Continue(()))?;
        }
        let mut committer = self.committer.lock()?;
        let is_sealed = committer.seal(&self.context, &self.state)?;
        committer.flush(&self.context)?;
        if is_sealed {
            // Optional: every commit is in place without it.
            let known = self.state.read()?.known_logs();
            let _ = list_logs(&self.context, &known);
        }
        Ok(())
    }
}
