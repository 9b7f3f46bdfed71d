//! Merges memtable entries and some tables of one namespace into new tables, in order of (hash, key). While one thread
//! writes, another gathers and sorts the next entries.
//!
//! The newest entry of each key is written, with three exceptions:
//! - It is hidden (`hidden_below`).
//! - It lies in a hole where a damaged block may have had a newer one.
//! - It is a delete that hides nothing any more, neither in the cache nor in a layer below it.
//!
//! A value that cannot be read becomes a delete, so that no older one takes its place. For the same reason, a damaged
//! block that the merge leaves out becomes deletes of all entries that it hid in open logs and in layers.

use super::claim_logs::ClaimedLogs;
use super::evict::{Evictions, Ranks};
use crate::error::{Error, Result};
use crate::format::blob_refs::BlobRefs;
use crate::format::digest::BlobRef;
use crate::format::file_names::{FileName, TableName};
use crate::options::Watch;
use crate::platform::failpoints;
use crate::platform::file_writer::Outbox;
use crate::read::entries::{Entries, Range, Ranges, Source, Visit};
use crate::state::context::Context;
use crate::state::{Namespace, State};

use crate::table::{Hole, TableMeta, TableWriter, ValueBytes};
use crate::usage::{Mark, day_of};
use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A table is closed when it has this many bytes.
const TABLE_BYTES: u64 = 1 << 30;

/// Entries between two calls of the watch.
const WATCH_ENTRIES: u64 = 512;

/// Bytes of ranges that are gathered ahead.
const AHEAD_BYTES: usize = 4 << 20;

/// The merge to do.
#[derive(Debug)]
pub(crate) struct Merge<'a> {
    /// Number of the namespace.
    pub(crate) number: u32,
    /// Indexes of the namespace's tables.
    pub(crate) tables: &'a [usize],
    /// Drop sequence numbers: no older entry can appear later.
    pub(crate) settle: bool,
    /// Drop deletes: no older entry is left for them to hide.
    pub(crate) drop_deletes: bool,
    /// Evicted entries, which become deletes.
    pub(crate) evictions: Option<&'a Evictions>,
}

/// The result of a merge.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) tables: Vec<TableMeta>,
    pub(crate) dropped: u64,
    /// Entries that are younger than the time of their new table.
    pub(crate) marks: Vec<Mark>,
}

/// Reports the progress to the caller.
pub(crate) struct Progress<'a> {
    watch: Watch<'a>,
    done: u64,
    total: u64,
    entries: u64,
}

impl<'a> Progress<'a> {
    pub(crate) fn new<'p>(
        watch: Watch<'a>,
        claimed: &ClaimedLogs,
        plans: impl Iterator<Item = (u32, &'p [usize])>,
    ) -> Self {
        let mut total = claimed.log_bytes();
        for (number, tables) in plans {
            if let Some(namespace) = claimed.state.namespace(number) {
                let picked = tables.iter().filter_map(|index| namespace.tables.get(*index));
                total += picked.map(|live| live.table.meta.key_bytes + live.table.meta.value_bytes).sum::<u64>();
            }
        }
        Self { watch, done: 0, total, entries: 0 }
    }

    fn step(&mut self, bytes: usize) -> Result<()> {
        self.done += bytes as u64;
        self.entries += 1;
        if self.entries % WATCH_ENTRIES == 1 {
            let outcome = (self.watch)(self.done.min(self.total), self.total);
            if outcome == ControlFlow::Break(()) {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }
}

/// Merges and writes; `name` gives the names of new tables.
pub(crate) fn merge(
    context: &Context,
    claimed: &ClaimedLogs,
    plan: &Merge<'_>,
    name: &mut (dyn FnMut() -> TableName + Send),
    progress: &mut Progress<'_>,
) -> Result<Merged> {
    let Some(namespace) = claimed.state.namespace(plan.number) else { return Ok(Merged::default()) };
    let picked = || plan.tables.iter().filter_map(|index| namespace.tables.get(*index));
    let is_damaged = picked().any(|live| context.damage.has(&live.table.meta.name.to_string()));
    let (merged, found_holes) = merge_over(context, claimed, namespace, plan, is_damaged, name, progress)?;
    if !found_holes || is_damaged || claimed.state.layers.is_empty() {
        return Ok(merged);
    }
    // The tables written so far count for nothing: their holes would show entries of layers.
    merge_over(context, claimed, namespace, plan, true, name, progress).map(|(merged, _)| merged)
}

/// Merges once. If tables are damaged, the layers are read as well: what they have in the holes becomes deletes.
fn merge_over(
    context: &Context,
    claimed: &ClaimedLogs,
    namespace: &Namespace,
    plan: &Merge<'_>,
    is_damaged: bool,
    name: &mut (dyn FnMut() -> TableName + Send),
    progress: &mut Progress<'_>,
) -> Result<(Merged, bool)> {
    let entries = || claimed.entries(namespace);
    let oldest_ms = entries().map(|(_, found)| claimed.state.time_of_commit(found.sequence)).min();
    let newest_ms = if oldest_ms.is_some() { namespace.newest_ms } else { 0 };
    let mut times = Times { oldest_ms: oldest_ms.unwrap_or(u64::MAX), newest_ms };
    let mut sources = vec![Source::memtable(&claimed.state.segments, entries())];
    for live in plan.tables.iter().filter_map(|index| namespace.tables.get(*index)) {
        times.newest_ms = times.newest_ms.max(live.table.meta.newest_ms);
        times.oldest_ms = times.oldest_ms.min(live.table.meta.oldest_ms);
        sources.push(Source::Table(live.table.clone()));
    }
    let below = if is_damaged { claimed.state.layers.tables(plan.number) } else { &[] };
    sources.extend(below.iter().cloned().map(Source::Table));
    let (state, ranks) =
        (&claimed.state, plan.evictions.and_then(|evictions| evictions.ranks(plan.number, &claimed.state)));
    let (missing, merged) = (&claimed.missing, Merged::default());
    let output = Output { context, state, ranks, name, writer: None, missing, merged, times, is_damaged };
    let mut merging = Merging { plan, progress, entries: Entries::new(namespace.hidden_below), output };
    let mut ranges = Ranges::new(sources, 0);
    if context.pool.threads() > 1 {
        in_two_threads(context, &mut ranges, &mut merging)?;
    } else {
        ranges.try_for_each(|range| merging.write(&range))?;
    }
    merging.output.close()?;
    if !claimed.alone && !failpoints::bug("forget-holes") {
        merging.output.delete_hidden(claimed, namespace, ranges.holes())?;
    }
    let mut picked = plan.tables.iter().filter_map(|index| namespace.tables.get(*index));
    match picked.find(|live| live.table.is_unreadable()) {
        Some(live) => Err(Error::io("read", &live.table.meta.name.to_string(), io::ErrorKind::Other.into())),
        None => Ok((merging.output.merged, !ranges.holes().is_empty())),
    }
}

struct Merging<'a, 'p> {
    plan: &'a Merge<'a>,
    progress: &'a mut Progress<'p>,
    entries: Entries,
    output: Output<'a>,
}

impl Merging<'_, '_> {
    fn write(&mut self, range: &Range<'_>) -> Result<()> {
        failpoints::panics("merge");
        let Self { plan, progress, entries, output } = self;
        match entries.visit(range, |entry| output.take(plan, progress, entry)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }
}

/// Gathers ranges and writes full buffers on one thread, while another one fills blocks from the ranges gathered
/// before.
fn in_two_threads(context: &Context, ranges: &mut Ranges<'_>, merging: &mut Merging<'_, '_>) -> Result<()> {
    let (ranges, merging) = (Mutex::new(ranges), Mutex::new(merging));
    let mut ready: Vec<Range<'_>> = Vec::new();
    loop {
        let (gathered, written, sent) = (Mutex::new(Vec::new()), Mutex::new(Ok(())), Mutex::new(Ok(())));
        let outbox = lock(&merging).output.outbox();
        context.pool.run(2, &|job| {
            if job == 0 {
                let mut merging = lock(&merging);
                *lock(&written) = ready.iter().try_for_each(|range| merging.write(range));
            } else {
                *lock(&gathered) = gather(&mut lock(&ranges));
                *lock(&sent) = outbox.as_ref().map_or(Ok(()), |(name, outbox)| send(outbox, *name));
            }
        });
        sent.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        written.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        ready = gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
        if ready.is_empty() {
            return Ok(());
        }
    }
}

fn send(outbox: &Outbox, name: TableName) -> Result<()> {
    outbox.send().map_err(|source| Error::io("write", &name.to_string(), source))
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gather<'a>(ranges: &mut Ranges<'a>) -> Vec<Range<'a>> {
    failpoints::panics("gather");
    let mut bytes = 0;
    let mut gathered = Vec::new();
    while bytes < AHEAD_BYTES
        && let Some(range) = ranges.next()
    {
        bytes += range.bytes();
        gathered.push(range);
    }
    gathered
}

#[derive(Clone, Copy, Debug)]
struct Times {
    oldest_ms: u64,
    newest_ms: u64,
}

/// The tables being written.
struct Output<'a> {
    context: &'a Context,
    state: &'a State,
    ranks: Option<Ranks<'a>>,
    name: &'a mut (dyn FnMut() -> TableName + Send),
    writer: Option<(TableName, TableWriter<'static>)>,
    /// Entries that name one of these blobs have no value.
    missing: &'a BTreeSet<BlobRef>,
    merged: Merged,
    times: Times,
    /// Whether a table to merge is known as damaged.
    is_damaged: bool,
}

impl Output<'_> {
    /// The outbox of the open table.
    fn outbox(&mut self) -> Option<(TableName, Arc<Outbox>)> {
        self.writer.as_mut().map(|(name, writer)| (*name, writer.use_outbox()))
    }

    /// Adds the newest entry of a key if it is visible.
    #[inline]
    fn take(&mut self, plan: &Merge<'_>, progress: &mut Progress<'_>, entry: Visit<'_>) -> ControlFlow<Error> {
        let Visit { hash, key, sequence, shadowed, is_hidden, .. } = entry;
        if entry.level() > 0 {
            let visible = self.state.namespace(plan.number).map_or(0, |namespace| namespace.hidden_below);
            let sequence = if plan.settle { 0 } else { visible };
            let added = if is_hidden { self.add(hash, key, sequence, None) } else { Ok(()) };
            return added.map_or_else(ControlFlow::Break, ControlFlow::Continue);
        }
        self.merged.dropped += shadowed;
        let names_blobs = entry.names_blobs();
        let known_day = self.state.known_day(entry.table_ms(), sequence);
        let is_evicted = self.ranks.as_mut().is_some_and(|ranks| ranks.is_evicted(&entry));
        let value = if is_hidden || is_evicted {
            None
        } else if self.is_damaged {
            // What cannot be decompressed must not stay.
            entry.value().map(ValueBytes::Passing)
        } else {
            entry.stored_value()
        };
        if value.is_some() && known_day > day_of(self.times.oldest_ms) {
            self.merged.marks.push(Mark::new(hash, known_day, false));
        }
        let hides = || self.state.layers.may_have(plan.number, key) && !failpoints::bug("layers-lose-deletes");
        let is_obsolete = value.is_none() && (is_hidden || plan.drop_deletes) && !hides();
        let obsolete = is_obsolete || shadowed > 0 && failpoints::bug("compaction-drops-newest");
        self.merged.dropped += u64::from(obsolete || is_evicted);
        let sequence = if plan.settle { 0 } else { sequence };
        let stepped = progress.step(key.len() + value.map_or(0, |value| value.len()));
        let outcome = stepped.and_then(|()| match value {
            _ if obsolete => Ok(()),
            Some(ValueBytes::Passing(value)) if names_blobs => self.add_with_blobs(hash, key, sequence, value),
            value => self.add(hash, key, sequence, value),
        });
        outcome.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }

    #[inline]
    fn add(&mut self, hash: u32, key: &[u8], sequence: u64, value: Option<ValueBytes<'_, 'static>>) -> Result<()> {
        let (name, writer) = self.open_writer()?;
        writer.add(hash, key, sequence, value).map_err(|source| Error::io("write", &name.to_string(), source))
    }

    /// Adds a value that names blobs, unless one of them is lost.
    #[cold]
    fn add_with_blobs(&mut self, hash: u32, key: &[u8], sequence: u64, value: &[u8]) -> Result<()> {
        let names_missing = |refs: BlobRefs<'_>| refs.blobs().any(|file| self.missing.contains(&file));
        let is_missing = BlobRefs::parse(value).is_none_or(names_missing);
        let (name, writer) = self.open_writer()?;
        let added = if is_missing {
            writer.add(hash, key, sequence, None)
        } else {
            writer.add_with_blobs(hash, key, sequence, value)
        };
        added.map_err(|source| Error::io("write", &name.to_string(), source))
    }

    /// Deletes the entries of open logs that the holes hid and that would count once the damaged tables are gone.
    fn delete_hidden(&mut self, claimed: &ClaimedLogs, namespace: &Namespace, holes: &[Hole]) -> Result<()> {
        if holes.is_empty() {
            return Ok(());
        }
        let mut sources = vec![Source::memtable(&claimed.state.segments, claimed.open_entries(namespace))];
        let attached = namespace.tables.iter().filter(|live| !claimed.may_merge(live.attached_by));
        sources.extend(attached.map(|live| Source::Table(live.table.clone())));
        let mut entries = Entries::new(namespace.hidden_below);
        for range in Ranges::new(sources, 0) {
            let outcome = entries.visit(&range, |entry| {
                let Visit { hash, key, sequence, .. } = entry;
                let level = entry.level();
                let hiding = holes.iter().filter(|hole| hole.may_have_newer(hash, level, sequence));
                let added = hiding.map(|hole| hole.sequence_max).max().map(|newer| self.add(hash, key, newer, None));
                added.unwrap_or(Ok(())).map_or_else(ControlFlow::Break, ControlFlow::Continue)
            });
            if let ControlFlow::Break(error) = outcome {
                return Err(error);
            }
        }
        self.close()
    }

    /// The open table, or a new one if that is full.
    #[inline]
    fn open_writer(&mut self) -> Result<&mut (TableName, TableWriter<'static>)> {
        if self.writer.as_ref().is_some_and(|(_, writer)| writer.bytes() >= TABLE_BYTES) {
            self.close()?;
        }
        if self.writer.is_none() {
            self.writer = Some(self.begin_table()?);
        }
        match &mut self.writer {
            Some(open) => Ok(open),
            None => unreachable!("it was opened just now"),
        }
    }

    #[cold]
    fn begin_table(&mut self) -> Result<(TableName, TableWriter<'static>)> {
        let name = (self.name)();
        let file = self.context.vfs.create_new(&name.to_string());
        let file = file.map_err(|source| Error::io("create", &name.to_string(), source))?;
        let checksum = self.state.checksum_of(self.context, FileName::Table(name));
        Ok((name, TableWriter::new(name, file, checksum)))
    }

    fn close(&mut self) -> Result<()> {
        if let Some((name, writer)) = self.writer.take() {
            let meta = writer.finish(0, self.times.oldest_ms, self.times.newest_ms);
            self.merged.tables.push(meta.map_err(|source| Error::io("write", &name.to_string(), source))?);
        }
        Ok(())
    }
}
