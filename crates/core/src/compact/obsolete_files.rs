//! Removes files that the newest manifest does not mention; FORMAT.md, "The protocol", section 6. Damaged files are
//! quarantined instead (`writer/quarantine.rs`). Obsolete are:
//! - a log below `next writer` that the manifest does not list: it is checkpointed;
//! - a table that neither the manifest nor a commit mentions, if its writer's log is gone; age never decides;
//! - an older manifest, and a temporary manifest of a writer whose log is gone.
//!
//! The directory is listed before the manifest is loaded. So a log that is missing from the list was checkpointed by
//! that manifest or an older one. The manifest must be sure (`manifest/publish.rs`) and durable.
//!
//! A file whose start shows that Varve did not write it stays, and is reported (`format/file_start.rs`).

use crate::error::{Error, Result};
use crate::format::file_names::{FileName, TableName};
use crate::format::file_start::{self, Removal};
use crate::log::LogWriter;
use crate::manifest::{Manifest, ManifestFile};
use crate::platform::failpoints;
use crate::platform::vfs::is_gone_or_in_use;
use crate::state::context::Context;
use crate::state::{State, list};
use crate::writer::create::make_durable;
use crate::writer::quarantine::{quarantine, trim};
use std::collections::HashSet;
use std::io;

/// Removes the obsolete files among `names`, which were listed before `state` was loaded, and quarantines damaged ones.
/// `published` is the number of the manifest that this process has just published.
pub(crate) fn remove_obsolete(
    context: &Context,
    names: Vec<FileName>,
    state: &State,
    published: Option<u64>,
) -> Result<()> {
    failpoints::panics("sweep");
    let (names, file) = (obsolete(names, state, published), state.manifest_file);
    // Another process may not have synced its manifest yet.
    if published != Some(file.number) && !names.is_empty() {
        make_durable(context, file.number)?;
    }
    let mut is_any_quarantined = false;
    for name in names {
        let name = name.to_string();
        // Another process has published a newer manifest, or the directory was removed and has files of another cache.
        let is_in_place = || file.is_in_place(&*context.vfs);
        // A file that another process has open keeps its name for now, on a system that locks open files.
        let outcome = if context.damage.has(&name) {
            quarantine(context, &name, None, is_in_place)?
        } else {
            remove(context, &name, is_in_place)?
        };
        if outcome == Removal::Replaced {
            break;
        }
        is_any_quarantined |= context.damage.has(&name) && outcome == Removal::Removed;
    }
    if is_any_quarantined { trim(context) } else { Ok(()) }
}

fn obsolete(names: Vec<FileName>, state: &State, published: Option<u64>) -> Vec<FileName> {
    let manifest = &state.manifest;
    let is_older = published.is_some_and(|published| manifest.number < published);
    if state.unrecoverable || !state.is_sure() || manifest.number == 0 || is_older {
        return Vec::new();
    }
    let writers: HashSet<u32> = names
        .iter()
        .filter(|name| matches!(name, FileName::Log(_) | FileName::Claimed { .. }))
        .filter_map(|name| name.writer())
        .filter(|writer| manifest.is_open(*writer))
        // A log that was created, before its table, during the listing may be missing from the list.
        .chain(state.logs.iter().map(|view| view.writer))
        .collect();
    let mentioned: HashSet<TableName> =
        state.live_tables().map(|live| live.table.meta.name).collect();
    let is_obsolete = |name: &FileName| match *name {
        FileName::Manifest(number) => number < manifest.number,
        FileName::Log(writer) | FileName::Claimed { writer, .. } => !manifest.is_open(writer),
        FileName::Table(table) => !mentioned.contains(&table) && !writers.contains(&table.writer),
        FileName::Temporary(writer) => !writers.contains(&writer),
    };
    names.into_iter().filter(is_obsolete).collect()
}

/// Removes manifests older than the published one, unless that is gone: the directory was removed, and has manifests of
/// another cache.
pub(crate) fn remove_older_manifests(context: &Context, published: u64) -> Result<()> {
    let name = FileName::Manifest(published).to_string();
    let stat = context.vfs.stat(&name).map_err(|source| Error::io("check", &name, source))?;
    let Some(stat) = stat else { return Ok(()) };
    let file = ManifestFile { number: published, stat };
    let names = list(context)?;
    let older =
        names.iter().filter(|name| name.manifest().is_some_and(|number| number < published));
    for name in older {
        remove(context, &name.to_string(), || file.is_in_place(&*context.vfs))?;
    }
    Ok(())
}

/// Removes the tables of a compaction that did not try to publish. `log` is the one that reserves its number; if it is
/// gone, these names may be of another cache.
pub(crate) fn discard_tables(context: &Context, log: &mut LogWriter) -> Result<()> {
    for name in log.tables.take() {
        remove(context, &name.to_string(), || log.is_in_place(&*context.vfs))?;
    }
    Ok(())
}

fn remove(
    context: &Context,
    name: &str,
    is_in_place: impl FnOnce() -> io::Result<bool>,
) -> Result<Removal> {
    let removal = match file_start::remove_if(&*context.vfs, name, is_in_place) {
        // A process has it open on a system that locks open files.
        Err(error) if is_gone_or_in_use(&error) => Removal::Missing,
        removal => removal.map_err(|source| Error::io("remove", name, source))?,
    };
    if removal == Removal::Foreign {
        context.foreign.add(name);
    }
    Ok(removal)
}

/// Evicts whole tables until tables and blobs are below the size limit, those written to longest ago first. What an
/// evicted table hid stays hidden, and with it all layers. Returns the number of evicted entries, overwritten ones
/// included.
pub(crate) fn evict(manifest: &mut Manifest, bytes_max: u64) -> u64 {
    let entries = |manifest: &Manifest| manifest.tables().map(|table| table.entries).sum::<u64>();
    let before = entries(manifest);
    while manifest.total_bytes() > bytes_max {
        let oldest =
            manifest.tables().min_by_key(|table| (table.newest_ms, table.sequence_max)).copied();
        let Some(oldest) = oldest else { break };
        for namespace in &mut manifest.namespaces {
            if namespace.tables.iter().any(|table| table.name == oldest.name) {
                namespace.hidden_below =
                    namespace.hidden_below.max(oldest.sequence_max.saturating_add(1));
                namespace.hides_layers |= manifest.layered;
                let hidden_below = namespace.hidden_below;
                namespace.tables.retain(|table| table.sequence_max >= hidden_below);
            }
        }
    }
    before - entries(manifest)
}
