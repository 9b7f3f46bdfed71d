//! Checkpoints logs and merges tables; FORMAT.md, "The protocol", sections 4 to 6. Any process may be the compactor, in
//! the background or at close.
//!
//! 1. `claim`: the compactor renames logs that get no more commits to `<writer>-<by>.taken` and reads them to their
//!    end.
//! 2. `plan`: it chooses the tables to merge with the entries of those logs. `pick` is the pure decision.
//! 3. `merge`: it writes one new table for each namespace with entries to checkpoint or tables to merge.
//! 4. `publish`: it publishes the manifest. If another process was faster, it begins again from the newer manifest.
//! 5. `obsolete_files`: it removes files that the new manifest does not mention. `collect_blobs`: it removes blobs that
//!    no entry names.
//!
//! While no other process writes (`alone`), a full merge drops sequence numbers and deletes, so the same entries give
//! the same bytes.

mod claim_logs;
mod collect_blobs;
mod evict;
mod eviction_cut;
pub(crate) mod list_logs;
mod merge;
mod obsolete_files;
mod pick;
mod plan;
mod prune_usage;
mod rounds;

use crate::commit::Committer;
use crate::commit::reload::reload;
use crate::compact::obsolete_files::remove_obsolete;
use crate::error::{Error, Result};
use crate::format::file_names::FileName;
use crate::format::order;
use crate::log::{LogWriter, NewTables};
use crate::manifest::{KnownLog, Manifest, ManifestNamespace, Published, publish};
use crate::options::Watch;
use crate::platform::sync::{Mutex, RwLock};
use crate::report::CompactReport;
use crate::state::context::Context;
use crate::state::{Current, Known, LogView, State, list};
use crate::table::TableMeta;
use crate::usage::Marks;
use crate::writer::claim::claim_number;
use crate::writer::reset::reset;
use claim_logs::{ClaimedLogs, Patience, claim_logs, survey};
use collect_blobs::collect;
use merge::{Merge, Merged, Progress, merge};
pub(crate) use obsolete_files::remove_older_manifests;
pub(crate) use pick::Extent;
use plan::{Goal, Plan, names_blobs, plan};
use prune_usage::prune_usage_records;

/// Tries before other processes count as always faster.
const ATTEMPTS: u32 = 16;

/// During these first attempts the compactor leaves a log whose writer has created it but not written its start. Later
/// it claims the log.
const ATTEMPTS_PATIENT: u32 = 8;

/// Checkpoints and merges.
pub(crate) fn compact(
    context: &Context,
    state: &RwLock<State>,
    committer: &Mutex<Committer>,
    mut extent: Extent,
    watch: Watch<'_>,
) -> Result<CompactReport> {
    let full = extent == Extent::Full;
    let mut claim: Option<LogWriter> = None;
    let mut tries = 0;
    for attempt in 0..ATTEMPTS {
        let names = list(context)?;
        let patience = Patience { unbegun: attempt < ATTEMPTS_PATIENT, claimed: !full };
        let surveyed =
            survey(context, state, committer, claim.as_ref().map(|log| log.writer), patience)?;
        if surveyed.state.unrecoverable {
            reset(context, state)?;
            continue;
        }
        if is_clean(context, &surveyed) && plan(context, &surveyed, &Goal::new(extent)).is_empty() {
            return tidy(context, names, &surveyed.state, full);
        }
        let Some(mut log) = reserve(context, state, &surveyed.state, claim.take())? else {
            continue;
        };
        let mut claimed = claim_logs(context, surveyed, log.writer, patience)?;
        if !may_write(context, state, &claimed.state, &mut log)? {
            continue;
        }
        if claimed.has_unbegun(context, log.writer)? {
            claim = Some(log);
            continue;
        }
        let goal = Goal::of(context, state, &claimed, extent, tries)?;
        let plans = plan(context, &claimed, &goal);
        // Another process has claimed the logs meanwhile, or has them open on a system that locks open files.
        if is_clean(context, &claimed) && plans.is_empty() {
            return tidy(context, names, &claimed.state, full);
        }
        if names_blobs(&claimed, &plans) {
            context.blobs.set_collect_due(true);
        }
        match checkpoint(context, &mut claimed, &plans, &goal, &mut log, watch)? {
            Checkpoint::Published { mut report, manifest, marks, evicted } => {
                drop(log);
                let names = list(context)?;
                let merged = Some((&claimed.state, manifest)).filter(|_| !evicted);
                reload(context, state, committer, merged)?;
                let newest = state.read()?.newest().snapshot();
                prune_usage_records(context, &newest, marks, full || goal.is_evicting());
                remove_obsolete(context, names, &newest, Some(manifest))?;
                report.blobs_removed = collect_blobs(context, &newest.known(), full)?;
                report.foreign_files = context.foreign.names();
                return Ok(report);
            }
            Checkpoint::Over => tries += 1,
            Checkpoint::Lost => extent = extent.after_loss(),
        }
        claim = Some(log);
    }
    Err(Error::Busy { operation: "compact", attempts: ATTEMPTS }.boxed())
}

/// Whether there is nothing to publish but merges. A manifest that is not sure is published again, above the other
/// name.
fn is_clean(context: &Context, found: &ClaimedLogs) -> bool {
    let is_over = found.state.manifest.total_bytes() > context.options.bytes_max;
    found.state.is_sure() && found.writers.is_empty() && !is_over
}

/// Removes what earlier compactions have left.
fn tidy(
    context: &Context,
    names: Vec<FileName>,
    state: &State,
    full: bool,
) -> Result<CompactReport> {
    remove_obsolete(context, names, state, None)?;
    context.usage_folder.remove_damaged(state.manifest.cache_id);
    let blobs_removed = collect_blobs(context, &state.known(), full)?;
    let foreign_files = context.foreign.names();
    Ok(CompactReport { blobs_removed, foreign_files, ..CompactReport::default() })
}

/// The log that reserves the number of this compaction: that of the last try, or a new one. `None` = the cache was
/// reset, because bytes that were read before are damaged by now.
fn reserve(
    context: &Context,
    visible: &RwLock<State>,
    surveyed: &State,
    last: Option<LogWriter>,
) -> Result<Option<LogWriter>> {
    if last.is_some() {
        return Ok(last);
    }
    match claim_number(context, &surveyed.known_logs())? {
        Some((log, _)) => Ok(Some(log)),
        None => reset(context, visible).map(|()| None),
    }
}

fn collect_blobs(context: &Context, known: &Known, full: bool) -> Result<u64> {
    if full || context.blobs.is_collect_due() { collect(context, known) } else { Ok(0) }
}

/// Whether the state is sound, and this process may still write tables under its number: its log has not been claimed,
/// and no manifest covers the number. Without a lock, the log may have been claimed; a publication that seemed lost may
/// have counted. An abandoned claim stays as an empty log for the next compaction, because a number is free again only
/// when a manifest covers it. An unrecoverable state is reset, because the survey reads nothing again that was read.
fn may_write(
    context: &Context,
    visible: &RwLock<State>,
    claimed: &State,
    log: &mut LogWriter,
) -> Result<bool> {
    if claimed.unrecoverable {
        reset(context, visible)?;
        return Ok(false);
    }
    let in_place = log.is_in_place(&*context.vfs);
    let in_place = in_place.map_err(|source| Error::io("check", &log.name, source))?;
    Ok(in_place && claimed.manifest.is_open(log.writer))
}

/// The outcome of a checkpoint.
enum Checkpoint {
    Published {
        report: CompactReport,
        /// Number of the manifest.
        manifest: u64,
        marks: Marks,
        /// Whether evicted entries may still be visible to a handle, or those of layers that are hidden now.
        evicted: bool,
    },
    /// Another process was faster, or seemed to be. If this manifest may be published after all, the new tables stay,
    /// and a later compaction removes them if they are obsolete.
    Lost,
    /// The result would exceed the size limit. The new tables are discarded.
    Over,
}

/// Writes the tables and publishes the manifest.
fn checkpoint(
    context: &Context,
    claimed: &mut ClaimedLogs,
    plans: &[Plan],
    goal: &Goal,
    log: &mut LogWriter,
    watch: Watch<'_>,
) -> Result<Checkpoint> {
    let writer = log.writer;
    let mut report = CompactReport {
        changed: true,
        logs_checkpointed: claimed.writers.len() as u64,
        ..CompactReport::default()
    };
    report.bytes_before = claimed.bytes();
    let merges = plans.iter().map(|plan| (plan.id.number, plan.merge.as_slice()));
    let mut progress = Progress::new(context, watch, claimed, merges);
    let written =
        write_tables(context, claimed, plans, goal, &mut log.tables, &mut progress, &mut report);
    let (written, marks) = match written {
        Ok(written) => written,
        Err(error) => {
            let is_lost = progress.is_lost;
            obsolete_files::discard_tables(context, log)?;
            return if is_lost { Ok(Checkpoint::Lost) } else { Err(error) };
        }
    };
    // An entry of an open log may be the reason why an older one is dropped here, so it must be as durable as the
    // tables.
    claimed.state.sync_others(context, Some(writer))?;
    let mut manifest = next_manifest(context, claimed, plans, &written, writer);
    if manifest.total_bytes() > context.options.bytes_max && !goal.is_last {
        obsolete_files::discard_tables(context, log)?;
        return Ok(Checkpoint::Over);
    }
    let evicted = obsolete_files::evict(&mut manifest, context.options.bytes_max);
    if evicted > 0 {
        context.blobs.set_collect_due(true);
    }
    report.entries_dropped += evicted;
    report.bytes_after = manifest.table_bytes();
    match publish(&*context.vfs, &context.checksum, writer, claimed.state.manifest_file, manifest)?
    {
        Published::Won(manifest) => {
            let evicted = evicted > 0
                || goal.is_evicting()
                || written.iter().any(|(_, merged)| merged.hides_layers);
            Ok(Checkpoint::Published { report, manifest, marks, evicted })
        }
        Published::Lost => Ok(Checkpoint::Lost),
    }
}

/// The merge of a namespace, without its marks.
type Written = (u32, Merged);

/// Writes one new table for each plan, rarely more.
fn write_tables(
    context: &Context,
    claimed: &ClaimedLogs,
    plans: &[Plan],
    goal: &Goal,
    tables: &mut NewTables,
    progress: &mut Progress<'_>,
    report: &mut CompactReport,
) -> Result<(Vec<Written>, Marks)> {
    let (mut written, mut marks) = (Vec::new(), Marks::default());
    for plan in plans {
        let settle = plan.whole && claimed.alone;
        let evictions = goal.evictions.as_ref();
        let merge_plan = Merge { number: plan.id.number, tables: &plan.merge, settle, evictions };
        let mut merged = merge(context, claimed, &merge_plan, tables, progress)?;
        report.tables_merged += plan.merge.len() as u64;
        report.tables_written += merged.tables.len() as u64;
        report.entries_dropped += merged.dropped;
        marks.add(plan.id.space(), std::mem::take(&mut merged.marks));
        written.push((plan.id.number, merged));
    }
    Ok((written, marks))
}

/// Builds the next manifest.
fn next_manifest(
    context: &Context,
    claimed: &ClaimedLogs,
    plans: &[Plan],
    written: &[Written],
    own: u32,
) -> Manifest {
    let state = &claimed.state;
    let is_claimed = |log: &&LogView| claimed.writers.contains(&log.writer);
    let (checkpointed, open): (Vec<_>, Vec<_>) =
        state.logs.iter().filter(|log| log.writer != own).partition(is_claimed);
    // The end of a checkpointed log is as durable as the tables.
    let whole = |log: &&LogView| {
        log.start().map(|start| KnownLog { writer: log.writer, id: start.id, end: log.end })
    };
    let mut manifest = Manifest {
        number: state.manifest_seen + 1,
        cache_id: state.manifest.cache_id,
        id: context.new_id(),
        parent: state.manifest.id,
        last_sequence: state.last_sequence,
        next_writer: claimed.next_writer(own),
        layered: !state.layers.is_empty(),
        open_logs: open.into_iter().filter_map(|log| state.known_log(context, log)).collect(),
        checkpointed_logs: checkpointed.iter().filter_map(whole).collect(),
        namespaces: Vec::new(),
    };
    for Current { id, latest } in state.current.values() {
        let Some(namespace) = state.namespace(id.number) else { continue };
        let plan = plans.iter().find(|plan| plan.id.number == id.number);
        let kept = namespace.tables.iter().enumerate().filter(|(index, live)| {
            let merged = plan.is_some_and(|plan| plan.merge.contains(index));
            !merged
                && claimed.may_merge(live.attached_by)
                && live.table.meta.sequence_max >= namespace.hidden_below
        });
        let mut tables: Vec<TableMeta> = kept.map(|(_, live)| live.table.meta).collect();
        let merged =
            written.iter().find(|(number, _)| *number == id.number).map(|(_, merged)| merged);
        tables.extend(merged.iter().flat_map(|merged| &merged.tables));
        let hides_layers =
            namespace.hides_layers || merged.is_some_and(|merged| merged.hides_layers);
        let settled = plan.is_some_and(|plan| plan.whole) && claimed.alone;
        let hidden_below = if settled { 0 } else { namespace.hidden_below };
        let (name, version) = (id.name.clone(), id.version.clone());
        let latest = *latest;
        manifest.namespaces.push(ManifestNamespace {
            name,
            version,
            latest,
            hidden_below,
            hides_layers,
            tables,
        });
    }
    order::sort_by(&mut manifest.namespaces, |left, right| left.name.cmp(&right.name));
    manifest
}
