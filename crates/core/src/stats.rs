//! Sizes and counts, exact: keys are merged, values are not read.

use crate::context::Context;
use crate::entries::{Entries, Ranges, Source};
use crate::error::{Error, Result};
use crate::format::filed::Filed;
use crate::format::names::FileName;
use crate::planted;
use crate::report::{NamespaceStats, Stats};
use crate::state::{Current, Namespace, State};
use crate::vfs::Access;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

/// All sources of a namespace, and the order below which entries are hidden.
pub(crate) fn sources_of(state: &State, id: u16) -> (Vec<Source<'_>>, u64) {
    let Some(namespace) = state.namespace(id).filter(|_| !state.lost) else { return (Vec::new(), 0) };
    let memory = Source::memory(state.memory_entries(namespace).collect());
    (with_tables(memory, namespace), namespace.hidden_below)
}

/// Entries of logs and the tables that have something to add.
pub(crate) fn with_tables<'a>(memory: Source<'a>, namespace: &Namespace) -> Vec<Source<'a>> {
    let visible = namespace.tables.iter().filter(|live| live.table.meta.order_max >= namespace.hidden_below);
    let tables = visible.map(|live| Source::Table(Arc::clone(&live.table)));
    std::iter::once(memory).chain(tables).collect()
}

pub(crate) fn stats(context: &Context, state: &State) -> Result<Stats> {
    planted::panics("stats");
    let mut stats = Stats { manifest: state.manifest.number, ..Stats::default() };
    let names = context.vfs.list().map_err(|source| Error::io("list", "the cache folder", source))?;
    for name in &names {
        let Some(kind) = FileName::parse(name) else { continue };
        let bytes = match context.vfs.open(name, Access::Stream).and_then(|file| file.len()) {
            Ok(bytes) => bytes,
            // Swept since it was listed, or no file of ours after all.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => continue,
            Err(source) => return Err(Error::io("open", name, source)),
        };
        stats.files += 1;
        stats.bytes += bytes;
        match kind {
            FileName::Table(_) => {
                stats.tables += 1;
                stats.table_bytes += bytes;
            }
            FileName::Log(_) | FileName::Taken { .. } => {
                stats.logs += 1;
                stats.log_bytes += bytes;
            }
            FileName::Manifest(_) | FileName::Temporary(_) => {}
        }
    }
    for file in state.named_files() {
        stats.content_files += 1;
        stats.content_bytes += file.bytes;
    }
    stats.files += stats.content_files;
    stats.bytes += stats.content_bytes;
    for Current { id, .. } in state.current.values() {
        stats.namespaces.extend(namespace_stats(context, state, *id));
    }
    stats.namespaces.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    Ok(stats)
}

fn namespace_stats(context: &Context, state: &State, id: u16) -> Option<NamespaceStats> {
    let (name, version) = context.names.get(id)?;
    let namespace = state.namespace(id)?;
    let mut stats = NamespaceStats {
        name,
        version,
        tables: namespace.tables.len() as u64,
        table_bytes: namespace.tables.iter().map(|live| live.table.meta.bytes).sum(),
        oldest_ms: namespace.oldest_ms,
        newest_ms: namespace.newest_ms,
        ..NamespaceStats::default()
    };
    let (sources, hidden_below) = sources_of(state, id);
    let mut entries = Entries::new(hidden_below);
    for range in Ranges::new(sources, 0) {
        let _all = entries.visit::<()>(&range, |entry| {
            if let Some(value_bytes) = entry.value_bytes().filter(|_| !entry.is_hidden) {
                stats.entries += 1;
                stats.key_bytes += entry.key.len() as u64;
                let filed = if entry.is_filed() { entry.value().and_then(Filed::parse) } else { None };
                stats.value_bytes += filed.map_or(value_bytes as u64, |filed| filed.value_bytes());
            }
            ControlFlow::Continue(())
        });
    }
    Some(stats)
}
