//! Exact sizes and counts: keys are merged, values are not read.

use crate::error::{Error, Result};
use crate::format::blob_refs::BlobRefs;
use crate::format::file_names::FileName;
use crate::format::namespace_ids::NamespaceId;
use crate::format::order;
use crate::platform::failpoints;
use crate::platform::vfs::Access;
use crate::read::entries::{Entries, Ranges, Source};
use crate::report::{NamespaceStats, Stats};
use crate::state::context::Context;
use crate::state::{Namespace, State};
use crate::usage::{Cursor, Mark, Marks, day_of, ms_of};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

/// All sources of a namespace, and the sequence number below which entries are hidden.
pub(crate) fn sources_of(state: &State, id: u32) -> (Vec<Source<'_>>, u64) {
    if state.unrecoverable {
        return (Vec::new(), 0);
    }
    let namespace = state.namespace(id);
    let memtable =
        namespace.map(|found| Source::memtable(&state.segments, state.memtable_entries(found)));
    (with_tables(memtable, state, id), namespace.map_or(0, |found| found.hidden_below))
}

/// Memtable entries, the tables that have visible entries, and those of layers.
pub(crate) fn with_tables<'a>(
    memtable: Option<Source<'a>>,
    state: &State,
    id: u32,
) -> Vec<Source<'a>> {
    let live = |namespace: &Namespace| {
        let visible = namespace
            .tables
            .iter()
            .filter(|live| live.table.meta.sequence_max >= namespace.hidden_below);
        visible.map(|live| Arc::clone(&live.table)).collect::<Vec<_>>()
    };
    let tables = state.namespace(id).map(live).unwrap_or_default();
    let tables = tables.into_iter().chain(state.tables_below(id).iter().cloned());
    memtable.into_iter().chain(tables.map(Source::Table)).collect()
}

pub(crate) fn stats(context: &Context, state: &State) -> Result<Stats> {
    failpoints::panics("stats");
    let mut stats = Stats { manifest: state.manifest.number, ..Stats::default() };
    let names =
        context.vfs.list().map_err(|source| Error::io("list", "the cache directory", source))?;
    for name in &names {
        let Some(kind) = FileName::parse(name) else { continue };
        let bytes = match context.vfs.open(name, Access::Stream).and_then(|file| file.len()) {
            Ok(bytes) => bytes,
            // It was removed after the listing, or is not a regular file.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::InvalidInput
                ) =>
            {
                continue;
            }
            Err(source) => return Err(Error::io("open", name, source)),
        };
        stats.files += 1;
        stats.bytes += bytes;
        match kind {
            FileName::Table(_) => {
                stats.tables += 1;
                stats.table_bytes += bytes;
            }
            FileName::Log(_) | FileName::Claimed { .. } => {
                stats.logs += 1;
                stats.log_bytes += bytes;
            }
            FileName::Manifest(_) | FileName::Temporary(_) => {}
        }
    }
    for file in state.named_blobs() {
        stats.blobs += 1;
        stats.blob_bytes += file.bytes;
    }
    stats.files += stats.blobs;
    stats.bytes += stats.blob_bytes;
    for (_, bytes) in context.usage_folder.list() {
        stats.files += 1;
        stats.bytes += bytes;
    }
    let usage = context.usage_folder.read_all(state.manifest.cache_id);
    stats.namespaces.extend(state.visible_ids().map(|id| namespace_stats(state, id, &usage)));
    stats.layers = state.layers.reports();
    order::sort_by(&mut stats.namespaces, |left, right| left.name.cmp(&right.name));
    Ok(stats)
}

fn namespace_stats(state: &State, id: &NamespaceId, usage: &Marks) -> NamespaceStats {
    let namespace = state.namespace(id.number);
    let tables = namespace.map_or(&[][..], |found| &found.tables);
    let mut stats = NamespaceStats {
        name: id.name.clone(),
        version: id.version.clone(),
        tables: tables.len() as u64,
        table_bytes: tables.iter().map(|live| live.table.meta.bytes).sum(),
        oldest_ms: namespace.map_or(0, |found| found.oldest_ms),
        newest_ms: namespace.map_or(0, |found| found.newest_ms),
        ..NamespaceStats::default()
    };
    each_entry(state, id.number, usage.of(&id.space()), &mut |entry| {
        let key_bytes = entry.key.len() as u64;
        stats.entries += 1;
        stats.key_bytes += key_bytes;
        stats.value_bytes += entry.value_bytes;
        stats.blob_bytes += entry.blob_bytes;
        if entry.used_ms.is_none() {
            stats.never_used_entries += 1;
            stats.never_used_bytes += key_bytes + entry.value_bytes;
        }
    });
    stats
}

/// An entry without its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntrySummary<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value_bytes: u64,
    /// Bytes on disk of the blobs that the value names.
    pub(crate) blob_bytes: u64,
    /// Approximate: the oldest time known of its table or log, or the start of a day.
    pub(crate) written_ms: u64,
    /// The day of the last read; `None` = not read after the day on which it was written.
    pub(crate) used_ms: Option<u64>,
}

/// Calls `each` for every live entry of a namespace, with times from `marks`.
pub(crate) fn each_entry(
    state: &State,
    id: u32,
    marks: &[Mark],
    each: &mut dyn FnMut(EntrySummary<'_>),
) {
    let (sources, hidden_below) = sources_of(state, id);
    let mut entries = Entries::new(hidden_below);
    let mut marks = Cursor::new(marks);
    for range in Ranges::new(sources, 0) {
        let _all = entries.visit(&range, &mut |entry| {
            if let Some(value_bytes) = entry.value_bytes().filter(|_| !entry.is_hidden) {
                let known_ms =
                    entry.table_ms().unwrap_or_else(|| state.time_of_commit(entry.sequence));
                let (written_ms, used_ms) = times_of(known_ms, marks.find(entry.hash));
                let key = entry.key;
                let refs = if entry.names_blobs() {
                    entry.value().and_then(BlobRefs::parse)
                } else {
                    None
                };
                let value_bytes = refs.map_or(value_bytes as u64, |refs| refs.value_bytes());
                let blobs = refs.iter().flat_map(|refs| refs.blobs());
                let blob_bytes = blobs.map(|blob| blob.bytes).sum();
                each(EntrySummary { key, value_bytes, blob_bytes, written_ms, used_ms });
            }
            ControlFlow::Continue(())
        });
    }
}

/// When an entry was written and last read, from the time of its table or log and its mark, if any.
fn times_of(known_ms: u64, mark: Option<Mark>) -> (u64, Option<u64>) {
    match mark.filter(|mark| mark.day() >= day_of(known_ms)) {
        Some(mark) if mark.is_read() => (known_ms, Some(ms_of(mark.day()))),
        Some(mark) => (known_ms.max(ms_of(mark.day())), None),
        None => (known_ms, None),
    }
}
