//! The commit protocol of a writer; FORMAT.md, "The protocol", section 3.
//!
//! ```text
//!  batch -> [blobs] -> [tables: write, sync] -> append frame -> stat log, stat manifest -> [sync log] -> visible
//!              2        3  from 1 MiB on        4               5 |                         6             7
//!                                                                 +-- not in place: again from 2 in a new log
//! ```
//! 1. If the cache is unrecoverable, the writer resets it (`writer/reset.rs`). If the process has no log, it claims one
//!    (`writer/claim.rs`).
//! 2. The writer appends a pin to its log and stores large values as blobs (`commit/values.rs`).
//! 3. From `LARGE_BYTES` on, the writer writes the batch to tables and syncs them, then the directory. The commit frame
//!    only attaches them; until then they do not count.
//! 4. The writer appends the commit frame. A `durable` commit is synced in the same call if nothing else in the log
//!    waits for a sync.
//! 5. The writer checks with two calls of `stat` that its log is in place and that its manifest is unchanged
//!    (`is_counted`). Otherwise another process has claimed the log or reset the cache, or the directory was removed,
//!    replaced or restored. The writer then repeats steps 2 to 5 in a new log. If the lost log had pinned blobs, those
//!    that are gone by now become misses.
//! 6. For a `durable` commit, the writer syncs the log unless step 4 did, and the directory if the log is new.
//! 7. The entries become visible in this process. If a compactor has checkpointed the log already, the process loads
//!    the directory again.
//!
//! The check after the append makes the protocol safe. A compactor that claims the log before the append is detected;
//! one that claims it later reads the commit.
//!
//! If a step fails, the writer leaves the log under its name and the caller keeps the entries; the next commit begins a
//! new log. A log whose sync failed is checkpointed before the next commit (`failed_syncs.rs`).

pub(crate) mod reload;
mod values;

use crate::batch::Batch;
use crate::commit::reload::renew;
use crate::error::{Error, Result};
use crate::format::entry::Kind;
use crate::format::file_names::FileName;
use crate::format::namespace_ids::NamespaceId;
use crate::format::sequence::next_sequence;
use crate::log::{LogCommit, LogWriter, NewTables, prelude};
use crate::manifest::ManifestFile;
use crate::options::Durability;
use crate::platform::failpoints;
use crate::platform::sync::RwLock;
use crate::report::CommitReport;
use crate::state::context::Context;
use crate::state::{State, outline};
use crate::table::{TableFile, TableMeta, TableWriter, ValueBytes};
use crate::writer::claim::claim_log;
use crate::writer::exhausted::{is_exhausted, start_over};
use crate::writer::reset::reset;
use std::sync::Arc;

/// Batches of at least this size are written to tables.
const LARGE_BYTES: u64 = 1 << 20;

/// How many logs a commit tries before it fails. A writer without a lock may lose many logs in a row while other
/// processes compact without pause.
const ATTEMPTS: u32 = 64;

/// A checkpoint is due once the log of this process has this many bytes, or attaches this many tables. The logs of
/// other processes do not count: only these can checkpoint them, as long as they live.
const LOG_BYTES_DUE: u64 = 32 << 20;
const ATTACHED_TABLES_DUE: usize = 8;

/// The log of this process and its state. It runs one commit at a time.
#[derive(Debug, Default)]
pub(crate) struct Committer {
    pub(crate) log: Option<LogWriter>,
    /// The newest manifest under which the log was found to count.
    base: ManifestFile,
    /// Sequence number of the newest commit when the log was claimed, and the id of its cache.
    floor: u64,
    cache_id: u64,
    /// This process has lost a log that pinned blobs; some of those blobs may be gone.
    lost_pin: bool,
}

impl Committer {
    /// Commits a batch. After an error, none of its entries is visible in this process.
    pub(crate) fn commit(
        &mut self,
        context: &Context,
        state: &RwLock<State>,
        batch: &Batch,
        durability: Durability,
        now_ms: u64,
    ) -> Result<CommitReport> {
        let outcome = self.with_log("commit", context, state, |committer| {
            let bytes_min = context.options.blob_bytes_min;
            if batch.longest_value() < bytes_min && !committer.lost_pin {
                return committer.append(context, state, batch, durability, now_ms);
            }
            let _pin = context.blobs.pin();
            let Some(writer) = committer.append_pin(context, state)? else { return Ok(None) };
            let kept = if committer.lost_pin {
                Some(values::without_missing(context, batch)?)
            } else {
                None
            };
            let with_blobs =
                values::store_values(context, writer, kept.as_ref().unwrap_or(batch), bytes_min)?;
            committer.append(context, state, &with_blobs, durability, now_ms)
        });
        if outcome.is_ok() {
            context.usage.set_now(now_ms);
            batch.namespaces().for_each(|id| context.usage.wrote(id, batch.hashes(id.number)));
            drop(batch.take_pins());
            self.release(context);
        }
        outcome
    }

    /// Pins blobs: appends that to the log before the caller stores any. Returns the number of the writer.
    pub(crate) fn pin(&mut self, context: &Context, state: &RwLock<State>) -> Result<u32> {
        self.with_log("store blobs", context, state, |committer| {
            committer.append_pin(context, state)
        })
    }

    /// The number of this process's log, if it pins blobs.
    pub(crate) fn pinning_writer(&self) -> Option<u32> {
        self.log.as_ref().filter(|log| log.pins).map(|log| log.writer)
    }

    /// Ends the pin of the log once this process pins no blobs.
    pub(crate) fn release(&mut self, context: &Context) {
        if context.blobs.is_pinned() {
            return;
        }
        // If the log cannot be appended to, the writer leaves it; its pin ends when the log does.
        let end =
            |log: &mut LogWriter| is_untouched(context, log).is_ok() && log.pin(false).is_ok();
        if self.log.as_mut().is_some_and(|log| log.pins && !end(log)) {
            let _ = self.leave(context);
        }
        self.lost_pin = false;
    }

    /// Runs a step, each time in a new log, until the log is still in place after it.
    fn with_log<T>(
        &mut self,
        operation: &'static str,
        context: &Context,
        state: &RwLock<State>,
        mut step: impl FnMut(&mut Self) -> Result<Option<T>>,
    ) -> Result<T> {
        for _ in 0..ATTEMPTS {
            if state.read()?.unrecoverable {
                reset(context, state)?;
            }
            if self.log.is_none() && !self.claim(context, state)? {
                continue;
            }
            match step(self) {
                Ok(Some(done)) => return Ok(done),
                Ok(None) => self.leave(context)?,
                Err(error) => {
                    let _ = self.leave(context);
                    return Err(error);
                }
            }
        }
        Err(Error::Busy { operation, attempts: ATTEMPTS }.boxed())
    }

    /// Claims a log. The state of this process is renewed if it is of another manifest, because the commit builds on
    /// it. `false` = the cache must be reset first.
    fn claim(&mut self, context: &Context, state: &RwLock<State>) -> Result<bool> {
        if is_exhausted(&*state.read()?) {
            start_over(context)?;
            renew(context, state)?;
        }
        let known = state.read()?.newest().known_logs();
        let Some((log, found)) = claim_log(context, &known)? else {
            renew(context, state)?;
            return Ok(false);
        };
        if state.read()?.manifest.id != found.manifest.id {
            renew(context, state)?;
        }
        self.base = found.manifest_file;
        (self.floor, self.cache_id) = (found.last_sequence, found.manifest.cache_id);
        self.log = Some(log);
        Ok(true)
    }

    /// Whether the log is in place and counts, so that every reader finds what was appended to it so far.
    fn is_counted(&mut self, context: &Context, state: &RwLock<State>) -> Result<bool> {
        let Some(log) = &mut self.log else { return Ok(false) };
        if !log
            .is_in_place(&*context.vfs)
            .map_err(|source| Error::io("check", &log.name, source))?
        {
            return Ok(false);
        }
        // This process may have read a newer manifest while this one still exists: another copy of the cache was put
        // over it.
        let base = self.base;
        let is_newest = state.read()?.manifest.number <= base.number;
        let wrap = |source| Error::io("check", &base.name(), source);
        if is_newest && base.is_in_place(&*context.vfs).map_err(wrap)? {
            return Ok(true);
        }
        // Usually a compactor has published a newer manifest.
        let known = state.read()?.newest().known_logs();
        let found = outline(context, &known)?;
        let start = Some(log.start);
        self.base = found.manifest_file;
        Ok(!found.unrecoverable && found.logs.iter().any(|view| view.start() == start))
    }

    /// `None` = the log is not in place any more.
    fn append_pin(&mut self, context: &Context, state: &RwLock<State>) -> Result<Option<u32>> {
        let Some(log) = self.log.as_mut() else { return Ok(None) };
        let writer = log.writer;
        if !is_untouched(context, log)? {
            return Ok(None);
        }
        if !log.pins {
            log.pin(true).map_err(|source| Error::io("append to", &log.name, source))?;
        }
        Ok(self.is_counted(context, state)?.then_some(writer))
    }

    /// `None` = the log was not in place any more when the commit was appended.
    fn append(
        &mut self,
        context: &Context,
        shared: &RwLock<State>,
        batch: &Batch,
        durability: Durability,
        now_ms: u64,
    ) -> Result<Option<CommitReport>> {
        let Self { log, floor, cache_id, .. } = self;
        let Some(log) = log.as_mut() else { return Ok(None) };
        let last = shared.read()?.last_sequence.max(*floor);
        // Without a number left, the writer leaves the log, and the next claim starts the cache over.
        let Some(sequence) = next_sequence(last, &context.options.clock, log.writer) else {
            return Ok(None);
        };
        if !is_untouched(context, log)? {
            return Ok(None);
        }
        let mut bytes = 0;
        let durable = durability == Durability::Durable;
        if durable {
            context.blobs.sync(&*context.pool)?;
        }
        let attached = if batch.bytes() >= LARGE_BYTES {
            let metas = write_tables(context, *cache_id, &mut log.tables, batch, sequence, now_ms)?;
            bytes += metas.iter().map(|(_, meta)| meta.bytes).sum::<u64>();
            Some(attach_batch(&metas)?)
        } else {
            None
        };
        let record = attached.as_ref().unwrap_or(batch);
        let entries = record.joined();
        let names = record.namespaces().zip(0u16..);
        let names: Vec<_> =
            names.map(|(id, at)| (at, id.name.as_str(), id.version.as_str())).collect();
        let prelude = prelude(now_ms, &names);
        let appended = log.commit(sequence, &prelude, &entries, durable);
        if durable && appended.is_err() {
            context.failed_syncs.add(log.writer);
        }
        bytes += appended.map_err(|source| Error::io("append to", &log.name, source))?;
        failpoints::panics("commit-appended");
        if !self.is_counted(context, shared)? {
            return Ok(None);
        }
        let Some(log) = self.log.as_mut() else { return Ok(None) };
        if durable {
            sync_log(context, log)?;
        }
        let count = record.len() as usize;
        let commit = LogCommit {
            sequence,
            time_ms: now_ms,
            namespaces: names,
            prelude: &prelude,
            entries: &entries,
            count,
        };
        let mut state = shared.write()?;
        state.apply_own(context, log, &commit)?;
        failpoints::panics("commit-applied");
        if state.has_vanished() {
            // Without a lock, the log may have been checkpointed already, and the tables of this commit with it.
            drop(state);
            renew(context, shared)?;
            state = shared.write()?;
        }
        let attached = state.attached_tables(|writer| writer == log.writer);
        let is_long = log.bytes() >= LOG_BYTES_DUE || attached >= ATTACHED_TABLES_DUE;
        let maintenance_due = context.damage.is_news() || is_long;
        Ok(Some(CommitReport { entries: batch.len(), bytes, maintenance_due }))
    }

    /// Makes every commit of this process survive a power failure, except those in a log whose sync failed before. A
    /// log whose sync fails is not used again.
    pub(crate) fn flush(&mut self, context: &Context) -> Result<()> {
        failpoints::panics("flush");
        let outcome = self.log.as_mut().map_or(Ok(()), |log| sync_log(context, log));
        if outcome.is_err() {
            self.lost_pin |= self.log.take().is_some_and(|log| log.pins);
        }
        outcome
    }

    /// Syncs the log and leaves it, with its pin. The process that wrote to it learns of a failed sync; a later process
    /// cannot.
    fn leave(&mut self, context: &Context) -> Result<()> {
        let Some(mut log) = self.log.take() else { return Ok(()) };
        self.lost_pin |= log.pins;
        if log.commits > 0 { sync_log(context, &mut log) } else { Ok(()) }
    }

    /// Syncs and seals the log; the next commit begins another one. While blobs are pinned, a new log that pins them is
    /// claimed at once. `false` = the log had no commits.
    pub(crate) fn seal(&mut self, context: &Context, state: &RwLock<State>) -> Result<bool> {
        self.release(context);
        let Some(mut log) = self.log.take_if(|log| log.commits > 0) else { return Ok(false) };
        let pinned =
            if context.blobs.is_pinned() { self.pin(context, state).map(drop) } else { Ok(()) };
        if log.pins {
            let is_there = log
                .is_in_place(&*context.vfs)
                .map_err(|source| Error::io("check", &log.name, source))?;
            self.lost_pin |= !is_there;
        }
        // Other processes rely on everything before a seal being durable.
        sync_log(context, &mut log)?;
        is_untouched(context, &mut log)?;
        log.seal().map_err(|source| Error::io("seal", &log.name, source))?;
        pinned.map(|()| true)
    }
}

fn is_untouched(context: &Context, log: &mut LogWriter) -> Result<bool> {
    log.is_untouched(&*context.vfs).map_err(|source| Error::io("check", &log.name, source))
}

fn sync_log(context: &Context, log: &mut LogWriter) -> Result<()> {
    if log.is_unsynced() {
        log.sync().map_err(|source| {
            context.failed_syncs.add(log.writer);
            Error::io("sync", &log.name, source)
        })?;
        if !log.is_named() {
            context
                .vfs
                .sync_folder()
                .map_err(|source| Error::io("sync the directory of", &log.name, source))?;
        }
        log.synced();
    }
    Ok(())
}

/// Writes one table for each namespace of the batch, and syncs them and the directory.
fn write_tables(
    context: &Context,
    cache_id: u64,
    tables: &mut NewTables,
    batch: &Batch,
    sequence: u64,
    now_ms: u64,
) -> Result<Vec<(Arc<NamespaceId>, TableMeta)>> {
    let mut metas = Vec::new();
    for id in batch.namespaces() {
        let (name, file) = tables.create(&*context.vfs)?;
        let wrap = |source| Error::io("write", &name.to_string(), source);
        let checksum = context.checksum.of_file(cache_id, FileName::Table(name));
        let mut table = TableWriter::new(TableFile::new(name, file, checksum));
        failpoints::panics("write-table");
        batch
            .sorted(id.number, |hash, entry| {
                table.add(|fill| match entry.kind {
                    Kind::PutWithBlobs => fill.add_with_blobs(hash, entry.key, 0, entry.value),
                    _ => fill.add(hash, entry.key, 0, entry.live_value().map(ValueBytes::Staying)),
                })
            })
            .map_err(wrap)?;
        metas.push((Arc::clone(id), table.finish(sequence, (now_ms, now_ms)).map_err(wrap)?));
    }
    context.vfs.sync_folder().map_err(|source| Error::io("sync", "the cache directory", source))?;
    Ok(metas)
}

/// The batch that attaches tables to a commit.
fn attach_batch(metas: &[(Arc<NamespaceId>, TableMeta)]) -> Result<Batch> {
    let mut batch = Batch::default();
    for (id, meta) in metas {
        let mut value = Vec::new();
        meta.write(&mut value);
        batch.add(id, Kind::Attach, &meta.name.index.to_le_bytes(), &value)?;
    }
    Ok(batch)
}
