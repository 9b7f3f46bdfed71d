//! Merges memtable entries and some tables of one namespace into new tables, in order of (hash, key). `rounds.rs`
//! divides the work among threads.
//!
//! The newest entry of each key is written, with three exceptions:
//! - It is hidden (`hidden_below`).
//! - It lies in a hole where a damaged block may have had a newer one.
//! - It is a delete that hides nothing any more, neither in the cache nor in a layer below it.
//!
//! A value that cannot be read becomes a delete, so that no older one takes its place. For the same reason, a damaged
//! block that the merge leaves out becomes deletes of all entries that it hid in open logs and in layers. If layers are
//! not open, the namespace hides all of them.

use super::claim_logs::ClaimedLogs;
use super::evict::{Evictions, Ranks};
use super::rounds::{self, FillPieces, Piece, Placing};
use crate::error::{Error, Result};
use crate::format::blob_refs::BlobRefs;
use crate::format::digest::BlobRef;
use crate::format::file_names::FileName;
use crate::log::NewTables;
use crate::manifest::ManifestFile;
use crate::options::Watch;
use crate::platform::failpoints;
use crate::platform::vfs::Vfs;
use crate::read::entries::{Entries, Range, Ranges, Source, Visit};
use crate::state::context::Context;
use crate::state::{Namespace, State};
use crate::table::{Ending, Hole, Stretch, TableFile, TableFill, TableMeta, ValueBytes};
use crate::usage::{Mark, day_of};
use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;

/// Entries between two calls of the watch.
const WATCH_ENTRIES: u64 = 512;

/// Bytes between two looks whether another process was faster.
const LOOK_BYTES: u64 = 1 << 20;

/// The merge to do.
#[derive(Debug)]
pub(crate) struct Merge<'a> {
    /// Number of the namespace.
    pub(crate) number: u32,
    /// Indexes of the namespace's tables.
    pub(crate) tables: &'a [usize],
    /// Drop sequence numbers, since no older entry can appear later, and deletes, since none is left for them to hide.
    pub(crate) settle: bool,
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
    /// A hole may have hidden keys of layers that are not open.
    pub(crate) hides_layers: bool,
}

/// Reports the progress to the caller, and stops merges that are in vain.
pub(crate) struct Progress<'a> {
    watch: Watch<'a>,
    done: u64,
    total: u64,
    entries: u64,
    vfs: &'a dyn Vfs,
    /// The manifest on which the next one builds.
    base: ManifestFile,
    /// `done` at the last look.
    looked: u64,
    /// Another process has published a manifest and removed `base`.
    pub(crate) is_lost: bool,
}

impl<'a> Progress<'a> {
    pub(crate) fn new<'p>(
        context: &'a Context,
        watch: Watch<'a>,
        claimed: &ClaimedLogs,
        plans: impl Iterator<Item = (u32, &'p [usize])>,
    ) -> Self {
        let mut total = claimed.log_bytes();
        for (number, tables) in plans {
            if let Some(namespace) = claimed.state.namespace(number) {
                let picked = tables.iter().filter_map(|index| namespace.tables.get(*index));
                total += picked
                    .map(|live| live.table.meta.key_bytes + live.table.meta.value_bytes)
                    .sum::<u64>();
            }
        }
        let (vfs, base) = (&*context.vfs, claimed.state.manifest_file);
        Self { watch, done: 0, total, entries: 0, vfs, base, looked: 0, is_lost: false }
    }

    fn step(&mut self, bytes: usize) -> Result<()> {
        self.done += bytes as u64;
        self.entries += 1;
        if self.entries % WATCH_ENTRIES == 1 {
            let outcome = (self.watch)(self.done.min(self.total), self.total);
            if outcome == ControlFlow::Break(()) {
                return Err(Error::Cancelled.boxed());
            }
        }
        if self.done - self.looked >= LOOK_BYTES {
            self.looked = self.done;
            self.is_lost = !self.base.is_in_place(self.vfs).unwrap_or(true);
        }
        if self.is_lost { Err(Error::Cancelled.boxed()) } else { Ok(()) }
    }
}

/// Merges and writes.
pub(crate) fn merge(
    context: &Context,
    claimed: &ClaimedLogs,
    plan: &Merge<'_>,
    new_tables: &mut NewTables,
    progress: &mut Progress<'_>,
) -> Result<Merged> {
    let Some(namespace) = claimed.state.namespace(plan.number) else {
        return Ok(Merged::default());
    };
    let picked = || plan.tables.iter().filter_map(|index| namespace.tables.get(*index));
    let is_damaged = picked().any(|live| context.damage.has(&live.table.meta.name.to_string()));
    let (mut merged, found_holes) =
        merge_over(context, claimed, namespace, plan, is_damaged, new_tables, progress)?;
    merged.hides_layers = found_holes && claimed.state.layers.is_partial();
    if !found_holes || is_damaged || merged.hides_layers || claimed.state.layers.is_empty() {
        return Ok(merged);
    }
    // The tables written so far count for nothing: their holes would show entries of layers.
    merge_over(context, claimed, namespace, plan, true, new_tables, progress)
        .map(|(merged, _)| merged)
}

/// Merges once. If tables are damaged, the layers are read as well: what they have in the holes becomes deletes.
fn merge_over(
    context: &Context,
    claimed: &ClaimedLogs,
    namespace: &Namespace,
    plan: &Merge<'_>,
    is_damaged: bool,
    new_tables: &mut NewTables,
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
    let below = if is_damaged { claimed.state.tables_below(plan.number) } else { &[] };
    sources.extend(below.iter().cloned().map(Source::Table));
    let (state, ranks) = (
        &claimed.state,
        plan.evictions.and_then(|evictions| evictions.ranks(plan.number, &claimed.state)),
    );
    let (missing, merged) = (&claimed.missing, Merged::default());
    let output = Output {
        context,
        state,
        ranks,
        new_tables,
        begun: None,
        table: None,
        pieces: Vec::new(),
        pieces_bytes: 0,
        spare: Vec::new(),
        missing,
        merged,
        times,
        is_damaged,
    };
    let mut merging = Merging {
        plan,
        progress,
        entries: Entries::new(namespace.hidden_below),
        seen: None,
        output,
    };
    let mut placing = Placing::new((times.oldest_ms, times.newest_ms));
    let mut ranges = Ranges::new(sources, 0);
    rounds::run(&*context.pool, &mut ranges, &mut merging, &mut placing)?;
    if !claimed.alone {
        merging.output.delete_hidden(claimed, namespace, ranges.holes())?;
        placing.place_all(merging.take())?;
    }
    merging.output.merged.tables = placing.tables;
    let mut picked = plan.tables.iter().filter_map(|index| namespace.tables.get(*index));
    match picked.find(|live| live.table.is_unreadable()) {
        Some(live) => {
            Err(Error::io("read", &live.table.meta.name.to_string(), io::ErrorKind::Other.into()))
        }
        None => Ok((merging.output.merged, !ranges.holes().is_empty())),
    }
}

/// Fills pieces with the entries that count.
struct Merging<'a, 'p> {
    plan: &'a Merge<'a>,
    progress: &'a mut Progress<'p>,
    entries: Entries,
    /// The last entry before a pause.
    seen: Option<(u32, Vec<u8>)>,
    output: Output<'a>,
}

impl FillPieces for Merging<'_, '_> {
    fn fill(&mut self, range: &mut Range<'_>, bytes: usize) -> Result<bool> {
        failpoints::panics("merge");
        let Self { plan, progress, entries, seen, output } = self;
        let mut paused = Ok(None);
        let _all = entries.visit(range, &mut |entry| {
            let (hash, key) = (entry.hash, entry.key);
            if seen
                .as_ref()
                .is_some_and(|(seen_hash, seen)| hash == *seen_hash && key <= seen.as_slice())
            {
                return ControlFlow::Continue(());
            }
            match output.take_entry(plan, progress, entry) {
                Ok(()) if output.pieces_bytes < bytes => return ControlFlow::Continue(()),
                taken => paused = taken.map(|()| Some((hash, key.to_vec()))),
            }
            ControlFlow::Break(())
        });
        *seen = paused?;
        if let Some((hash, key)) = seen {
            range.pass(*hash, key);
        }
        Ok(seen.is_none())
    }

    fn end(&mut self) {
        self.output.end_table();
    }

    fn take(&mut self) -> Vec<Piece> {
        self.output.pieces_bytes = 0;
        std::mem::take(&mut self.output.pieces)
    }

    fn reuse(&mut self, written: &mut Vec<Stretch<'static>>) {
        self.output.spare.append(written);
    }
}

#[derive(Clone, Copy, Debug)]
struct Times {
    oldest_ms: u64,
    newest_ms: u64,
}

/// The tables being filled.
struct Output<'a> {
    context: &'a Context,
    state: &'a State,
    ranks: Option<Ranks<'a>>,
    new_tables: &'a mut NewTables,
    /// The file of the open table, until its first piece is full.
    begun: Option<TableFile>,
    table: Option<TableFill<'static>>,
    /// Full pieces that were not taken yet.
    pieces: Vec<Piece>,
    pieces_bytes: usize,
    /// Memory of stretches that were written, for the next ones.
    spare: Vec<Stretch<'static>>,
    /// Entries that name one of these blobs have no value.
    missing: &'a BTreeSet<BlobRef>,
    merged: Merged,
    times: Times,
    /// Whether a table to merge is known as damaged.
    is_damaged: bool,
}

impl Output<'_> {
    fn add_piece(&mut self, stretch: Stretch<'static>, end: Option<Ending>) {
        self.pieces_bytes += stretch.bytes();
        self.pieces.push(Piece { begin: self.begun.take(), stretch, end });
    }

    /// Ends the open table.
    fn end_table(&mut self) {
        if let Some((stretch, ending)) = self.table.take().map(TableFill::finish) {
            self.add_piece(stretch, Some(ending));
        }
    }

    /// Adds the newest entry of a key if it is visible.
    #[inline]
    fn take_entry(
        &mut self,
        plan: &Merge<'_>,
        progress: &mut Progress<'_>,
        entry: Visit<'_>,
    ) -> Result<()> {
        let Visit { hash, key, sequence, shadowed, is_hidden, .. } = entry;
        if entry.level() > 0 {
            let visible =
                self.state.namespace(plan.number).map_or(0, |namespace| namespace.hidden_below);
            let sequence = if plan.settle { 0 } else { visible };
            return if is_hidden {
                self.add(|table| table.add(hash, key, sequence, None))
            } else {
                Ok(())
            };
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
        let is_obsolete = value.is_none()
            && (is_hidden || plan.settle)
            && !self.state.may_be_below(plan.number, key);
        self.merged.dropped += u64::from(is_obsolete || is_evicted);
        let sequence = if plan.settle { 0 } else { sequence };
        progress.step(key.len() + value.map_or(0, |value| value.len()))?;
        match value {
            _ if is_obsolete => Ok(()),
            Some(ValueBytes::Passing(value)) if names_blobs => {
                self.add_with_blobs(hash, key, sequence, value)
            }
            value => self.add(|table| table.add(hash, key, sequence, value)),
        }
    }

    /// Adds an entry to the open table with `fill`. If that is full, it ends, and a new one begins.
    #[inline]
    fn add(&mut self, fill: impl FnOnce(&mut TableFill<'static>)) -> Result<()> {
        if self.table.as_ref().is_none_or(TableFill::is_full) {
            self.begin_table()?;
        }
        let Some(table) = &mut self.table else { unreachable!("it was begun just now") };
        fill(table);
        if table.stretch.is_full() {
            let next = self.spare.pop().unwrap_or_default();
            let stretch = std::mem::replace(&mut table.stretch, next);
            self.add_piece(stretch, None);
        }
        Ok(())
    }

    #[cold]
    fn begin_table(&mut self) -> Result<()> {
        self.end_table();
        let (name, file) = self.new_tables.create(&*self.context.vfs)?;
        let checksum = self.state.checksum_of(self.context, FileName::Table(name));
        self.begun = Some(TableFile::new(name, file, checksum));
        self.table = Some(TableFill::new());
        Ok(())
    }

    /// Adds a value that names blobs, unless one of them is lost.
    #[cold]
    fn add_with_blobs(&mut self, hash: u32, key: &[u8], sequence: u64, value: &[u8]) -> Result<()> {
        let names_missing =
            |refs: BlobRefs<'_>| refs.blobs().any(|file| self.missing.contains(&file));
        if BlobRefs::parse(value).is_none_or(names_missing) {
            return self.add(|table| table.add(hash, key, sequence, None));
        }
        self.add(|table| table.add_with_blobs(hash, key, sequence, value))
    }

    /// Deletes the entries of open logs that the holes hid and that would count once the damaged tables are gone.
    fn delete_hidden(
        &mut self,
        claimed: &ClaimedLogs,
        namespace: &Namespace,
        holes: &[Hole],
    ) -> Result<()> {
        if holes.is_empty() {
            return Ok(());
        }
        let mut sources =
            vec![Source::memtable(&claimed.state.segments, claimed.open_entries(namespace))];
        let attached = namespace.tables.iter().filter(|live| !claimed.may_merge(live.attached_by));
        sources.extend(attached.map(|live| Source::Table(live.table.clone())));
        let mut entries = Entries::new(namespace.hidden_below);
        for range in Ranges::new(sources, 0) {
            let mut added = Ok(());
            let _all = entries.visit(&range, &mut |entry| {
                let Visit { hash, key, sequence, .. } = entry;
                let level = entry.level();
                let hiding = holes.iter().filter(|hole| hole.may_have_newer(hash, level, sequence));
                let newer = hiding.map(|hole| hole.sequence_max).max();
                if let Some(newer) = newer {
                    added = self.add(|table| table.add(hash, key, newer, None));
                }
                if added.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            added?;
        }
        self.end_table();
        Ok(())
    }
}
