//! A commit: one append to the log of this process. A large one writes tables first and appends a record that attaches
//! them; nothing of them counts before that.
//!
//! 1. If the cache is lost, it starts afresh (`reset.rs`). If the process has no log, it claims one (`claim.rs`).
//! 2. Large values become files (`commit/values.rs`), while the log says that they are held.
//! 3. From `LARGE_BYTES` on: tables are written and synced, then the folder.
//! 4. The record is appended; `durable` ones wait for the disk in the same step, where nothing else waits for it.
//! 5. The log must still be in place, and the manifest it was begun on must be there (`is_counted`): two calls of
//!    `stat`. Otherwise another process may have folded the log or started afresh, or the directory was removed,
//!    replaced or restored: 2 to 5 again in a new log. A take or removal before the append is noticed here; one after
//!    it has the record. If the lost log held files, those that are gone by now are misses.
//! 6. `durable`: the log is synced if 4 did not, its name too if it is new.
//! 7. The entries become visible in this process; it reads the directory again if others have folded them already.
//!
//! An error leaves the log behind under its name and the entries with the caller; the next commit begins a new log. A
//! log whose sync failed is folded first (`failed_syncs.rs`).

pub(crate) mod reload;
mod values;

use crate::batch::Batch;
use crate::commit::reload::renew;
use crate::error::{Error, Result};
use crate::format::entry::Kind;
use crate::format::file_names::{FileName, TableName};
use crate::format::namespace_ids::NamespaceId;
use crate::format::sequence::next_order;
use crate::log::{LogCommit, LogWriter, prelude};
use crate::options::Durability;
use crate::platform::failpoints;
use crate::platform::sync::RwLock;
use crate::platform::vfs::Stat;
use crate::report::CommitReport;
use crate::state::context::Context;
use crate::state::{State, outline};
use crate::table::{TableMeta, TableWriter, ValueBytes};
use crate::writer::claim::claim_log;
use crate::writer::reset::reset;
use std::sync::Arc;

/// Commits from this size on write tables.
const LARGE_BYTES: u64 = 1 << 20;

/// A log is left for a new one that often before a commit gives up: a writer without a lock may lose many in a row
/// where many others compact without end.
const ATTEMPTS: u32 = 64;

/// Bytes in memory, or attached tables, from which on folding is due.
const MEMORY_BYTES_DUE: u64 = 32 << 20;
const ATTACHED_TABLES_DUE: usize = 8;

/// The log of this process and what goes with it; one commit at a time.
#[derive(Debug, Default)]
pub(crate) struct Committer {
    pub(crate) log: Option<LogWriter>,
    /// Number and file of the newest manifest that the log was found to count under.
    base: (u64, Stat),
    /// The newest commit that was there when the log was claimed, and the cache that it is of.
    floor: u64,
    cache_id: u64,
    tables: u32,
    /// A log was taken away from us that said that files are held: of those some may be gone.
    lost_hold: bool,
}

impl Committer {
    /// Commits a batch. On an error nothing of it is visible in this process.
    pub(crate) fn commit(
        &mut self,
        context: &Context,
        state: &RwLock<State>,
        batch: &Batch,
        durability: Durability,
        now_ms: u64,
    ) -> Result<CommitReport> {
        let outcome = self.try_often("commit", context, state, |committer| {
            let bytes_min = context.options.file_bytes_min;
            if batch.longest_value() < bytes_min && !committer.lost_hold {
                return committer.append(context, state, batch, durability, now_ms);
            }
            let _hold = context.files.hold();
            let Some(writer) = committer.append_hold(context, state)? else { return Ok(None) };
            let kept = if committer.lost_hold { Some(values::without_lost(context, batch)?) } else { None };
            let filed = values::file_values(context, writer, kept.as_ref().unwrap_or(batch), bytes_min)?;
            committer.append(context, state, &filed, durability, now_ms)
        });
        if outcome.is_ok() {
            context.noted.set_now(now_ms);
            batch.namespaces().for_each(|id| context.noted.wrote(id, batch.hashes(id.number)));
            drop(batch.take_holds());
            self.release(context);
        }
        outcome
    }

    /// Says in the log that files are held, before any is written. Returns the number of the writer.
    pub(crate) fn hold(&mut self, context: &Context, state: &RwLock<State>) -> Result<u32> {
        self.try_often("store files", context, state, |committer| committer.append_hold(context, state))
    }

    /// The number of our log, if it says that files are held.
    pub(crate) fn holding(&self) -> Option<u32> {
        self.log.as_ref().filter(|log| log.holds).map(|log| log.writer)
    }

    /// Says in the log that no files are held any more, once that is so.
    pub(crate) fn release(&mut self, context: &Context) {
        if context.files.is_held() {
            return;
        }
        self.lost_hold = false;
        // A log that cannot be appended to is left; what it holds ends with its life.
        if self.log.as_mut().is_some_and(|log| log.holds && log.hold(false).is_err()) {
            let _ = self.leave(context);
        }
    }

    /// Tries with a new log as long as the answer is that the log was taken away.
    fn try_often<T>(
        &mut self,
        operation: &'static str,
        context: &Context,
        state: &RwLock<State>,
        mut step: impl FnMut(&mut Self) -> Result<Option<T>>,
    ) -> Result<T> {
        for _ in 0..ATTEMPTS {
            if state.read()?.lost {
                reset(context, state)?;
            }
            if self.log.is_none() && !self.claim(context, state)? {
                continue;
            }
            match step(self) {
                Ok(Some(done)) => return Ok(done),
                Ok(None) => {
                    self.lost_hold |= self.log.as_ref().is_some_and(|log| log.holds);
                    self.leave(context)?;
                }
                Err(error) => {
                    let _ = self.leave(context);
                    return Err(error);
                }
            }
        }
        Err(Error::Busy { operation, attempts: ATTEMPTS })
    }

    /// Claims a log. What this process knows must be of the same lineage, for its commit adds to that. `false` = it has
    /// to start afresh.
    fn claim(&mut self, context: &Context, state: &RwLock<State>) -> Result<bool> {
        let known = state.read()?.known_logs();
        let Some((log, found)) = claim_log(context, &known)? else {
            renew(context, state)?;
            return Ok(false);
        };
        if state.read()?.manifest.id != found.manifest.id {
            renew(context, state)?;
        }
        self.base = (found.manifest.number, found.manifest_stat);
        (self.floor, self.cache_id) = (found.last_order, found.manifest.cache_id);
        self.log = Some(log);
        self.tables = 0;
        Ok(true)
    }

    /// Whether the log is in place and counts: what was appended to it so far will be read.
    fn is_counted(&mut self, context: &Context, state: &RwLock<State>) -> Result<bool> {
        let Some(log) = &self.log else { return Ok(false) };
        if failpoints::bug("blind-append") {
            return Ok(true);
        }
        let start = log.start;
        let name = FileName::Log(log.writer).to_string();
        if !log.is_in_place(&*context.vfs).map_err(|source| Error::io("look for", &name, source))? {
            return Ok(false);
        }
        let (number, stat) = self.base;
        let manifest = FileName::Manifest(number).to_string();
        // This process may have read a newer one while this one is still there: another copy was put over the cache.
        let is_newest = state.read()?.manifest.number <= number;
        if is_newest
            && context.vfs.stat(&manifest).map_err(|source| Error::io("look for", &manifest, source))? == Some(stat)
        {
            return Ok(true);
        }
        // A compaction has published a newer one, most likely.
        let known = state.read()?.known_logs();
        let found = outline(context, &known)?;
        self.base = (found.manifest.number, found.manifest_stat);
        Ok(!found.lost && found.logs.iter().any(|view| view.start() == Some(start)))
    }

    /// `None` = the log was taken away.
    fn append_hold(&mut self, context: &Context, state: &RwLock<State>) -> Result<Option<u32>> {
        let Some(log) = self.log.as_mut() else { return Ok(None) };
        let (name, writer) = (FileName::Log(log.writer).to_string(), log.writer);
        if !log.holds {
            log.hold(true).map_err(|source| Error::io("append to", &name, source))?;
        }
        Ok(self.is_counted(context, state)?.then_some(writer))
    }

    /// `None` = the log was taken away before the record was in it.
    fn append(
        &mut self,
        context: &Context,
        shared: &RwLock<State>,
        batch: &Batch,
        durability: Durability,
        now_ms: u64,
    ) -> Result<Option<CommitReport>> {
        let Self { log, tables, floor, cache_id, .. } = self;
        let Some(log) = log.as_mut() else { return Ok(None) };
        let order = next_order(shared.read()?.last_order.max(*floor), &context.options.clock, log.writer)?;
        let mut bytes = 0;
        let durable = durability == Durability::Durable;
        if durable {
            context.files.sync(&*context.pool)?;
        }
        let attached = if batch.bytes() >= LARGE_BYTES {
            let mut name = || {
                *tables += 1;
                TableName { writer: log.writer, index: *tables - 1 }
            };
            let metas = write_tables(context, *cache_id, &mut name, batch, order, now_ms)?;
            bytes += metas.iter().map(|(_, meta)| meta.bytes).sum::<u64>();
            Some(attach_batch(&metas)?)
        } else {
            None
        };
        let record = attached.as_ref().unwrap_or(batch);
        let entries = record.joined();
        let names = record.namespaces().zip(0u16..);
        let names: Vec<_> = names.map(|(id, at)| (at, id.name.as_str(), id.version.as_str())).collect();
        let name = FileName::Log(log.writer).to_string();
        let appended = log.commit(order, &prelude(now_ms, &names), &entries, durable);
        if durable && appended.is_err() {
            context.doubts.add(log.writer);
        }
        bytes += appended.map_err(|source| Error::io("append to", &name, source))?;
        failpoints::panics("commit-appended");
        if !self.is_counted(context, shared)? {
            return Ok(None);
        }
        let Some(log) = self.log.as_mut() else { return Ok(None) };
        if durable {
            sync_log(context, log)?;
        }
        let count = record.len() as usize;
        let commit = LogCommit { order, time_ms: now_ms, namespaces: names, entries: &entries, count };
        let mut state = shared.write()?;
        state.apply_own(context, log, &commit)?;
        failpoints::panics("commit-applied");
        if state.has_vanished() {
            // Without a lock our log may be folded by now, and the tables of this commit with it.
            drop(state);
            renew(context, shared)?;
            state = shared.write()?;
        }
        let is_much = state.memory_bytes >= MEMORY_BYTES_DUE || state.attached_tables() >= ATTACHED_TABLES_DUE;
        let maintenance_due = context.damage.is_news() || is_much;
        Ok(Some(CommitReport { entries: batch.len(), bytes, maintenance_due }))
    }

    /// Makes every commit of this process so far survive the loss of power, but for those in a log whose sync failed
    /// before. A log whose sync fails is not used again.
    pub(crate) fn flush(&mut self, context: &Context) -> Result<()> {
        failpoints::panics("flush");
        let outcome = self.log.as_mut().map_or(Ok(()), |log| sync_log(context, log));
        if outcome.is_err() {
            self.log = None;
        }
        outcome
    }

    /// Leaves the log, synced: who had it open hears of a sync that failed, whoever comes later does not.
    fn leave(&mut self, context: &Context) -> Result<()> {
        let log = self.log.take().filter(|log| log.commits > 0);
        log.map_or(Ok(()), |mut log| sync_log(context, &mut log))
    }

    /// Ends the log, synced; the next commit begins another one. While files are held it begins at once and says so.
    /// `false` = there was none with commits.
    pub(crate) fn seal(&mut self, context: &Context, state: &RwLock<State>) -> Result<bool> {
        self.release(context);
        let Some(mut log) = self.log.take_if(|log| log.commits > 0) else { return Ok(false) };
        let held = if context.files.is_held() { self.hold(context, state).map(drop) } else { Ok(()) };
        let name = FileName::Log(log.writer).to_string();
        if log.holds {
            let is_there = log.is_in_place(&*context.vfs).map_err(|source| Error::io("look for", &name, source))?;
            self.lost_hold |= !is_there;
        }
        // Others believe what stands before a seal to be durable.
        sync_log(context, &mut log)?;
        log.seal().map_err(|source| Error::io("seal", &name, source))?;
        held.map(|()| true)
    }
}

fn sync_log(context: &Context, log: &mut LogWriter) -> Result<()> {
    if log.is_unsynced() {
        let name = FileName::Log(log.writer).to_string();
        log.sync().map_err(|source| {
            context.doubts.add(log.writer);
            Error::io("sync", &name, source)
        })?;
        if !log.is_named() {
            context.vfs.sync_folder().map_err(|source| Error::io("sync the folder of", &name, source))?;
        }
        log.synced();
    }
    Ok(())
}

/// One table for each namespace of the batch, synced together with its name.
fn write_tables(
    context: &Context,
    cache_id: u64,
    next_name: &mut dyn FnMut() -> TableName,
    batch: &Batch,
    order: u64,
    now_ms: u64,
) -> Result<Vec<(Arc<NamespaceId>, TableMeta)>> {
    let mut metas = Vec::new();
    for id in batch.namespaces() {
        let name = next_name();
        let wrap = |source| Error::io("write", &name.to_string(), source);
        let file = context.vfs.create_new(&name.to_string()).map_err(wrap)?;
        let checksum = context.checksum.of_file(cache_id, FileName::Table(name));
        let mut table = TableWriter::new(name, file, checksum);
        failpoints::panics("write-table");
        batch
            .sorted(id.number, |hash, entry| match entry.kind {
                Kind::PutFiled => table.add_filed(hash, entry.key, 0, entry.value),
                _ => table.add(hash, entry.key, 0, entry.live_value().map(ValueBytes::Staying)),
            })
            .map_err(wrap)?;
        metas.push((Arc::clone(id), table.finish(order, now_ms, now_ms).map_err(wrap)?));
    }
    context.vfs.sync_folder().map_err(|source| Error::io("sync", "the cache folder", source))?;
    Ok(metas)
}

/// The record that makes tables part of a commit.
fn attach_batch(metas: &[(Arc<NamespaceId>, TableMeta)]) -> Result<Batch> {
    let mut batch = Batch::default();
    for (id, meta) in metas {
        let mut value = Vec::new();
        meta.write(&mut value);
        batch.add(id, Kind::Attach, &meta.name.index.to_le_bytes(), &value)?;
    }
    Ok(batch)
}
