//! The store: one folder as one process sees it, shared by all its threads.
//!
//! Lookups share `state`; a commit changes it for a moment at its end. `committer` admits one commit at a time,
//! `maintenance` one compaction. They are taken in the order maintenance, committer, state.

pub(crate) mod blob_writer;
pub(crate) mod handle;
pub(crate) mod multi_get;
pub(crate) mod pending_reads;

use crate::batch::Batch;
use crate::blobs::{Content, Hold};
use crate::commit::Committer;
use crate::commit::reload::{Replaced, advance, look_ahead, renew, replace};
use crate::compact::compact;
use crate::compact::list_logs::list_logs;
use crate::error::{Error, Result};
use crate::format::digest::FileRef;
use crate::maintain::repair::repair;
use crate::maintain::verify::verify;
use crate::options::{Durability, Options, Watch};
use crate::platform::failpoints;
use crate::platform::pool::Pool;
use crate::platform::sync::atomic::{AtomicBool, Ordering};
use crate::platform::sync::{Doubtful, Mutex, MutexGuard, RwLock, RwLockReadGuard};
use crate::platform::vfs::Vfs;
use crate::read::entries::{Entries, Ranges, Source};
use crate::read::lookup::lookup;
use crate::read::missing_blob;
use crate::read::stats::{sources_of, stats};
use crate::read::top::top;
use crate::read::walk::Walk;
use crate::report::{CommitReport, CompactReport, RepairReport, Stats, Status, TopEntry, TopOrder, VerifyReport};
use crate::state::context::Context;
use crate::state::record_usage::{is_due, record_uses};
use crate::state::{LogView, Namespace, State, TableIndex, catch_up, load, sync_logs};
use crate::store::handle::Handle;
use crate::store::multi_get::Reader;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

/// At close, logs are folded if there are more than these, or more bytes in them.
const LOGS_LEFT: usize = 2;
const LOG_BYTES_LEFT: u64 = 256 << 10;

/// The same as a part of the cap of the cache.
const LOG_PART_LEFT: u64 = 8;

/// Bytes in the log of this process while the one before it is folded; all of them are in memory, too.
const LOG_BYTES_MAX: u64 = 64 << 20;

/// One folder, shared by all threads of the process.
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

    /// A new user of this store: one per thread of the host.
    pub fn handle(self: &Arc<Self>) -> Handle {
        Handle::new(Arc::clone(self))
    }

    /// Whether the store is of no use any more: `close` was called, or a panic left it in doubt.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) || self.is_broken()
    }

    fn is_broken(&self) -> bool {
        self.state.is_in_doubt() || self.committer.is_in_doubt() || self.maintenance.is_in_doubt()
    }

    pub(crate) fn open_context(&self) -> Result<&Context> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(&self.context) }
    }

    fn check_writable(&self) -> Result<()> {
        if self.context.options.read_only { Err(Error::ReadOnly) } else { Ok(()) }
    }

    /// What is asked of the store is asked once the lock is had: whoever waited for it may have waited for `close`, and
    /// would find, or write on top of, a state that knows nothing.
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

    /// The committer, once no log is in doubt any more.
    fn sure_committer(&self) -> Result<MutexGuard<'_, Committer>> {
        if self.context.doubts.is_any() && !self.is_read_only() {
            let _one = self.maintenance()?;
            self.settle_doubts()?;
        }
        self.committer()
    }

    /// Folds logs whose sync failed. The caller holds `maintenance`.
    fn settle_doubts(&self) -> Result<()> {
        let Self { context, state, committer, .. } = self;
        // The state may hold the log's file, and with it the lock.
        {
            let _no_commit = committer.lock()?;
            renew(context, state)?;
        }
        compact(context, state, committer, false, &|_, _| ControlFlow::Continue(()))?;
        let state = state.read()?;
        // If its writer lives, his own sync fails, too.
        let is_left = |view: &LogView| view.commits > 0 && view.is_done().unwrap_or(true);
        context.doubts.retain(|writer| state.logs.iter().any(|view| view.writer == writer && is_left(view)));
        if context.doubts.is_any() { Err(Error::Busy { operation: "fold a log", attempts: 1 }) } else { Ok(()) }
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
            Some(hit) if hit.is_filed => {
                let filed = hit.bytes().to_vec();
                drop(state);
                return Ok(self.filed_value(id, hash, key, &filed)?.map(|value| use_value(&value)));
            }
            hit => hit.map(|hit| use_value(hit.bytes())),
        };
        self.tidy_after_reads(context, id, state)?;
        Ok(answer)
    }

    pub(crate) fn tidy_after_reads(&self, context: &Context, id: u32, state: RwLockReadGuard<'_, State>) -> Result<()> {
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

    /// For many lookups in one state; `each` is told the answers.
    pub(crate) fn reader<E: FnMut(Option<&[u8]>)>(&self, id: u32, each: E) -> Result<Reader<'_, E>> {
        Ok(Reader::new(self, &self.context, id, self.state()?, each))
    }

    pub(crate) fn has(&self, id: u32, hash: u64, key: &[u8]) -> Result<bool> {
        Ok(lookup(&*self.state()?, id, hash, key).is_some())
    }

    /// The value of an entry that names files. A file that is not there may have been collected since this state was
    /// read: then a newer one does not name it for this key, and the value is a miss. This process stays in its state.
    pub(crate) fn filed_value(&self, id: u32, hash: u64, key: &[u8], filed: &[u8]) -> Result<Option<Vec<u8>>> {
        let context = self.open_context()?;
        let names =
            |newest: &State| lookup(newest, id, hash, key).is_some_and(|hit| hit.is_filed && hit.bytes() == filed);
        Ok(match missing_blob::look(context, || Ok(self.state()?.tables()), names, || context.files.value(filed))? {
            Some(Content::Whole(value)) => Some(value),
            Some(Content::Missing) => {
                context.files.note_missing(filed);
                None
            }
            Some(Content::Damaged) | None => None,
        })
    }

    /// Says in the log that files are about to be stored. Returns the writer for their temporary names.
    pub(crate) fn hold_files(&self) -> Result<(u32, Hold)> {
        let context = self.open_context()?;
        self.check_writable()?;
        let hold = context.files.hold();
        let writer = self.sure_committer()?.hold(context, &self.state)?;
        Ok((writer, hold))
    }

    /// Every content that is stored, named by an entry or not yet or not any more.
    pub fn list_files(&self) -> Result<Vec<FileRef>> {
        self.open_context()?.files.list()
    }

    /// Where jobs of this store run.
    pub fn pool(&self) -> &Arc<dyn Pool> {
        &self.context.pool
    }

    /// Whether the store was opened with `read_only`.
    pub fn is_read_only(&self) -> bool {
        self.context.options.read_only
    }

    /// The content of a file that an entry names; `None` = it is not there, or not what it was.
    pub fn read_file(&self, file: &FileRef) -> Result<Option<Vec<u8>>> {
        let context = self.open_context()?;
        let names = |newest: &State| !newest.lost && newest.named_files().contains(file);
        Ok(match missing_blob::look(context, || Ok(self.state()?.tables()), names, || context.files.read(file))? {
            Some(Content::Whole(content)) => Some(content),
            Some(Content::Missing) => {
                context.files.note(file, "missing file");
                None
            }
            Some(Content::Damaged) | None => None,
        })
    }

    /// Makes the index over the tables of a namespace, with the state free for others meanwhile.
    fn make_index(&self, id: u32) {
        let Ok(state) = self.state() else { return };
        let Some(namespace) = state.namespace(id) else { return };
        let tables: Vec<_> = namespace.tables.iter().map(|live| Arc::clone(&live.table)).collect();
        drop(state);
        let (index, covered) = TableIndex::new(tables.iter().map(|table| &**table));
        let Ok(mut state) = self.state.write() else { return };
        if let Some(Namespace { which, tables: live, .. }) = state.namespace_mut(id) {
            which.install(live, &tables, index, &covered);
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
                // A page ends between two hashes, so that the cursor says exactly where the next one begins.
                let hash = entry.hash;
                if bytes >= bytes_max && last_hash != Some(hash) {
                    return ControlFlow::Break(Ok(hash));
                }
                last_hash = Some(hash);
                let (key, is_hidden, is_filed) = (entry.key, entry.is_hidden, entry.is_filed());
                let Some(value) = entry.value().filter(|_| !is_hidden) else { return ControlFlow::Continue(()) };
                let content = if is_filed { context.files.value(value).map(Some) } else { Ok(None) };
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
        let mut committer = self.sure_committer()?;
        let report = committer.commit(context, &self.state, batch, durability, now_ms)?;
        let is_too_fast = committer.log.as_ref().is_some_and(|log| log.bytes() >= LOG_BYTES_MAX);
        drop(committer);
        self.replaced.drop(context);
        // Whoever commits faster than folding in the background can follow does it himself. The commit stands, whatever
        // comes of it.
        if is_too_fast {
            let _ = self.compact(false, &|_, _| ControlFlow::Continue(()));
        }
        Ok(report)
    }

    /// Takes up what other processes committed. `true` where something changed.
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
        // It may be half caught up: no lookup may come in between.
        let fresh = load(context, &state.tables())?;
        let old = replace(&mut state, fresh);
        drop(state);
        old.drop(context);
        Ok(true)
    }

    /// Reads what other processes committed, for `advance`: lookups see nothing of it before that. Costs a look at the
    /// folder where nothing changed.
    pub fn look_ahead(&self) -> Result<()> {
        look_ahead(self.open_context()?, &self.state, &self.committer)
    }

    /// Makes visible what this process has read of others since, at `look_ahead` or while it compacted. Never waits for
    /// the disk. `true` where there was something.
    pub fn advance(&self) -> Result<bool> {
        advance(self.open_context()?, &self.state, &self.replaced)
    }

    /// Says what time it is: entries read from now on were used on that day. A commit says so, too. While nobody has,
    /// no use is recorded.
    pub fn set_now(&self, now_ms: u64) {
        self.context.noted.set_now(now_ms);
    }

    /// A hint, so nothing fails; but a store in doubt writes nothing.
    fn record_uses(&self) {
        self.replaced.drop(&self.context);
        if !self.is_broken() {
            record_uses(&self.context, &self.state);
        }
    }

    /// Makes every commit that this process sees survive the loss of power, and records what was used.
    pub fn flush(&self) -> Result<()> {
        let context = self.open_context()?;
        self.record_uses();
        let own = self.sure_committer()?.log.as_ref().map(|log| log.writer);
        let others = self.state()?.unsynced_others(own);
        // Lookups and commits go on while the disk works.
        sync_logs(context, &others)?;
        self.state.write()?.note_synced(&others);
        context.files.sync(&*context.pool)?;
        self.sure_committer()?.flush(context)
    }

    /// Folds logs into tables and merges tables: what is due, or everything if `full`.
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

    /// Walks through what is committed now, or through one namespace of it; without values it reads none.
    pub fn walk(&self, only: Option<&str>, with_values: bool) -> Result<Walk> {
        let context = self.open_context()?;
        let state = self.state()?.snapshot();
        Ok(Walk::new(context, state, only, with_values))
    }

    /// The version of a namespace that counts now; none where nothing was ever committed to it.
    pub fn version_of(&self, name: &str) -> Result<Option<String>> {
        self.open_context()?;
        Ok(self.state()?.current.get(name).map(|current| current.id.version.clone()))
    }

    /// Sizes and counts, exact, of the newest state that this process has read: a compaction counts at once.
    pub fn stats(&self) -> Result<Stats> {
        let (context, state) = (self.open_context()?, self.state()?.newest().snapshot());
        stats(context, &state)
    }

    /// The first `limit` entries in some order, of all namespaces or of the one of that name.
    pub fn top(&self, order: TopOrder, only: Option<&str>, limit: usize) -> Result<Vec<TopEntry>> {
        let (context, state) = (self.open_context()?, self.state()?.snapshot());
        Ok(top(context, &state, order, only, limit))
    }

    /// Reads every byte of the folder. Modifies nothing.
    pub fn verify(&self, watch: Watch<'_>) -> Result<VerifyReport> {
        Ok(verify(self.open_context()?, watch)?.report)
    }

    /// Sets aside what is damaged, so that every byte left is sound; a dry run says what that would be. Nothing of what
    /// is sound is lost, unless a damaged log or manifest leaves nobody to tell what is the newest.
    pub fn repair(&self, dry_run: bool, watch: Watch<'_>) -> Result<RepairReport> {
        let context = self.open_context()?;
        if !dry_run {
            self.check_writable()?;
        }
        let _one = self.maintenance()?;
        repair(context, &self.state, &self.committer, dry_run, watch)
    }

    /// How many damaged places were met so far: `status` names them.
    pub fn damage_count(&self) -> u32 {
        self.context.damage.count()
    }

    /// How this store stands.
    pub fn status(&self) -> Status {
        Status {
            read_only: self.context.options.read_only,
            authenticated: self.context.options.key.is_some(),
            writer: self.committer().ok().and_then(|committer| committer.log.as_ref().map(|log| log.writer)),
            manifest: self.state().map_or(0, |state| state.manifest.number),
            damage: self.context.damage.places(),
        }
    }

    /// Whether this process has written nothing and has nothing to write, so that `close` only lets go of files.
    pub fn is_unwritten(&self) -> bool {
        self.committer().is_ok_and(|committer| committer.log.is_none())
            && self.state().is_ok_and(|state| !is_due(&self.context, &state))
    }

    /// Folds what is due, seals the log, lets go of every file. Every later call answers `Closed`; what handles have
    /// buffered is dropped.
    pub fn close(&self) -> Result<()> {
        let _one = self.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.record_uses();
        let outcome = self.settle();
        *self.committer.lock().unwrap_or_else(PoisonError::into_inner) = Committer::default();
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = State::default();
        outcome
    }

    /// Leaves the folder tidy if this process has written to it.
    fn settle(&self) -> Result<()> {
        failpoints::panics("settle");
        if self.is_broken() {
            return Err(Error::Broken);
        }
        if self.context.doubts.is_any() {
            self.settle_doubts()?;
        }
        let wrote = self.committer.lock()?.log.as_ref().is_some_and(|log| log.commits > 0);
        self.context.files.sync(&*self.context.pool)?;
        if !wrote {
            return self.committer.lock()?.flush(&self.context);
        }
        let (logs, bytes, attached) = {
            let state = self.state.read()?;
            (state.logs.len(), state.memory_bytes, state.attached_tables())
        };
        let bytes_left = LOG_BYTES_LEFT.min(self.context.options.bytes_max / LOG_PART_LEFT);
        // What is damaged goes with the commit that came after it: the next process finds a sound folder.
        if logs > LOGS_LEFT || bytes > bytes_left || attached > 0 || self.context.damage.is_left() {
            compact(&self.context, &self.state, &self.committer, false, &|_, _| ControlFlow::Continue(()))?;
        }
        let mut committer = self.committer.lock()?;
        let is_sealed = committer.seal(&self.context, &self.state)?;
        committer.flush(&self.context)?;
        if is_sealed {
            // Every commit is there without it.
            let known = self.state.read()?.known_logs();
            let _ = list_logs(&self.context, &known);
        }
        Ok(())
    }
}
