//! One cache as one process sees it, shared by all its threads.
//!
//! Lookups share `state`; a commit locks it briefly at its end. `committer` admits one commit at a time, `maintenance`
//! one compaction. Locks are taken in the order maintenance, committer, state.

pub(crate) mod blob_writer;
mod close;
pub(crate) mod handle;
pub(crate) mod lookups;
pub(crate) mod multi_get;
pub(crate) mod pending_reads;
mod reads;

use crate::batch::Batch;
use crate::blobs::Pin;
use crate::commit::Committer;
use crate::commit::reload::{Replaced, advance, look_ahead, renew, replace};
use crate::compact::{Extent, compact};
use crate::error::{Error, Result};
use crate::format::NAMESPACES_MAX;
use crate::format::digest::BlobRef;
use crate::format::namespace_ids::NamespaceId;
use crate::maintain::repair::repair;
use crate::maintain::verify::verify;
use crate::options::{Durability, LayerSource, Options, Watch};
use crate::platform::pool::Pool;
use crate::platform::sync::atomic::{AtomicBool, Ordering};
use crate::platform::sync::{Mutex, MutexGuard, Poisonable, RwLock, RwLockReadGuard};
use crate::platform::vfs::Vfs;
use crate::read::stats::stats;
use crate::read::top::top;
use crate::read::walk::Walk;
use crate::report::{
    CommitReport, CompactReport, RepairReport, SealReport, Stats, Status, TopEntry, TopOrder,
    VerifyReport,
};
use crate::seal::seal;
use crate::state::context::Context;
use crate::state::record_usage::record_usage;
use crate::state::{Known, Layers, LogView, State, catch_up, load, sync_logs};
use crate::store::handle::Handle;
use std::ops::ControlFlow;
use std::sync::Arc;

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
        let mut context = Context::new(vfs, pool, options);
        let mut state = load(&context, &Known::default())?;
        if state.manifest.is_layer() {
            // A sealed layer is never written.
            context = context.read_only();
        }
        state.layers = Layers::open(&context, &context.options.layers)?;
        let state = RwLock::new(state);
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
        if self.closed.load(Ordering::Acquire) {
            Err(Error::Closed.boxed())
        } else {
            Ok(&self.context)
        }
    }

    fn check_writable(&self) -> Result<()> {
        if self.context.options.read_only { Err(Error::ReadOnly.boxed()) } else { Ok(()) }
    }

    /// Checks that the store is open after a lock was acquired. `close` may have run while this thread waited for the
    /// lock, and left an empty state.
    fn if_open<G>(&self, guard: G) -> Result<G> {
        self.open_context().map(|_| guard)
    }

    #[inline]
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
        compact(context, state, committer, Extent::Due, &|_, _| ControlFlow::Continue(()))?;
        let state = state.read()?;
        // If the writer of a log lives, the sync fails in its own process, too.
        let is_left = |view: &LogView| view.commits > 0 && view.is_done().unwrap_or(true);
        context
            .failed_syncs
            .retain(|writer| state.logs.iter().any(|view| view.writer == writer && is_left(view)));
        if context.failed_syncs.is_any() {
            Err(Error::Busy { operation: "checkpoint a log", attempts: 1 }.boxed())
        } else {
            Ok(())
        }
    }

    /// Pins blobs that are about to be stored. Returns the writer for their temporary names.
    pub(crate) fn pin_blobs(&self) -> Result<(u32, Pin)> {
        let context = self.open_context()?;
        self.check_writable()?;
        let pin = context.blobs.pin();
        let writer = self.sound_committer()?.pin(context, &self.state)?;
        Ok((writer, pin))
    }

    /// Whether the cache has room for the namespace `id` beside those of the batch.
    pub(crate) fn check_room(&self, id: &NamespaceId, batch: &Batch) -> Result<()> {
        let state = self.state()?;
        let is_new = |id: &NamespaceId| !id.is_reserved() && !state.current.contains_key(&id.name);
        let buffered = batch.namespaces().count();
        if state.current.len() + buffered < NAMESPACES_MAX || !is_new(id) {
            return Ok(());
        }
        let new = batch.namespaces().filter(|id| is_new(id)).count();
        let known = state.current.values().filter(|current| !current.id.is_reserved()).count();
        if known + new < NAMESPACES_MAX {
            return Ok(());
        }
        Err(Error::Exhausted { field: "namespaces", limit: NAMESPACES_MAX as u64 }.boxed())
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

    pub(crate) fn commit(
        &self,
        batch: &Batch,
        durability: Option<Durability>,
        now_ms: u64,
    ) -> Result<CommitReport> {
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
        let _no_commit = self.committer()?;
        let advanced = advance(context, &self.state, &self.replaced)?;
        let mut state = self.state.write()?;
        if let Some(changed) = catch_up(context, &mut state)? {
            return Ok(advanced || changed);
        }
        // The state may be half caught up: load the whole state before any lookup.
        let fresh = load(context, &state.known())?;
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
        let extent = if full { Extent::Full } else { Extent::Due };
        let report = compact(context, &self.state, &self.committer, extent, watch)?;
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
        Ok(self.state()?.visible_ids().find(|id| id.name == name).map(|id| id.version.clone()))
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

    /// Reads and checks every byte of the cache. Changes no file. The damage counts as if lookups had met it, so a later
    /// commit of this process repairs it.
    pub fn verify(&self, watch: Watch<'_>) -> Result<VerifyReport> {
        let context = self.open_context()?;
        let report = verify(context, watch)?.report;
        for place in &report.damage {
            context.damage.add(place.clone());
        }
        Ok(report)
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

    /// Seals the committed entries that this process sees as a layer in the empty directory `target`. It lacks those
    /// that the layers `since` (the newest first) have.
    pub fn seal(
        &self,
        target: &Arc<dyn Vfs>,
        since: &[LayerSource],
        watch: Watch<'_>,
    ) -> Result<SealReport> {
        let (context, state) = (self.open_context()?, self.state()?.snapshot());
        seal(context, &state, target, since, watch)
    }

    /// A number that changes whenever another commit becomes visible, so lookups with the same number before and after
    /// them were in one state.
    pub fn revision(&self) -> Result<u64> {
        Ok(self.state()?.revision.number())
    }

    /// Number of damaged places found so far; `status` names them.
    pub fn damage_count(&self) -> u32 {
        self.context.damage.count()
    }

    /// The current status of the store.
    pub fn status(&self) -> Status {
        Status {
            read_only: self.context.options.read_only,
            authenticated: self.context.options.mac_key.is_some(),
            writer: self
                .committer()
                .ok()
                .and_then(|committer| committer.log.as_ref().map(|log| log.writer)),
            manifest: self.state().map_or(0, |state| state.manifest.number),
            layers: self.state().map_or(Vec::new(), |state| state.layers.reports()),
            damage: self.context.damage.places(),
        }
    }
}
