//! Folding logs into tables and merging tables, in the background or at close, by any participant.
//!
//! 1. `take`: logs that nobody will append to any more are renamed to `<writer>.taken` and read to their end.
//! 2. `pick`: which tables are worth merging with what is in the logs. A pure decision.
//! 3. `merge`: one new table for each namespace that has something to fold or merge.
//! 4. The manifest is published if nobody was faster; else all of it again from the newer manifest.
//! 5. `sweep`: files that the new manifest does not mention are removed; `collect`: contents that no entry names.
//!
//! While nobody else writes (`alone`), a full merge forgets the order of commits and deleted entries: the same entries
//! give the same bytes.

mod collect_blobs;
mod evict;
mod eviction_cut;
pub(crate) mod list_logs;
mod merge;
mod obsolete_files;
mod pick;
mod prune_usage;
mod take_logs;

use crate::commit::Committer;
use crate::commit::reload::reload;
use crate::compact::obsolete_files::{needless, remove_all};
use crate::error::{Error, Result};
use crate::format::file_names::{FileName, TableName};
use crate::format::namespace_ids::NamespaceId;
use crate::log::LogWriter;
use crate::manifest::{KnownLog, Manifest, ManifestNamespace, Published, publish};
use crate::options::Watch;
use crate::platform::failpoints;
use crate::platform::sync::{Mutex, RwLock};
use crate::read::entries::{Ranges, Source, garbage};
use crate::report::CompactReport;
use crate::state::context::Context;
use crate::state::{Current, LiveTable, LogView, Namespace, OpenTables, State, list};
use crate::table::TableMeta;
use crate::usage::Marks;
use crate::writer::claim::claim_number;
use crate::writer::reset::reset;
use collect_blobs::collect;
use evict::Evictions;
use merge::{Merge, Progress, merge};
pub(crate) use obsolete_files::sweep_manifests;
use pick::{Candidate, pick};
use prune_usage::tidy_uses;
use std::sync::Arc;
use take_logs::{Taken, survey, take};

const ATTEMPTS: u32 = 16;

/// Of these so many wait for a writer that has created its log and has not written its start. Later it loses the log.
const ATTEMPTS_PATIENT: u32 = 8;

/// A cache over its cap goes down to so many eighths of it; what an entry takes is an estimate, hence more tries.
const EIGHTHS_LEFT: [u8; 3] = [7, 6, 4];

/// Folds and merges; `full` = everything into one table for each namespace.
pub(crate) fn compact(
    context: &Context,
    state: &RwLock<State>,
    committer: &Mutex<Committer>,
    full: bool,
    watch: Watch<'_>,
) -> Result<CompactReport> {
    let mut claim: Option<LogWriter> = None;
    let (mut tables, mut tries) = (0, 0);
    for attempt in 0..ATTEMPTS {
        let names = list(context)?;
        let patient = attempt < ATTEMPTS_PATIENT;
        let surveyed = survey(context, state, committer, claim.as_ref().map(|log| log.writer), patient)?;
        if surveyed.state.lost {
            reset(context, state)?;
            continue;
        }
        let is_over = surveyed.state.manifest.total_bytes() > context.options.bytes_max;
        // Above one that is not sure the same is published once more.
        let is_settled = surveyed.state.is_sure() && surveyed.folded.is_empty();
        if is_settled && !is_over && plan(context, &surveyed, &Goal::full(full)).is_empty() {
            let number = surveyed.state.manifest.number;
            remove_all(context, Some(number), &needless(names, &surveyed.state, number))?;
            context.used.remove_damaged(surveyed.state.manifest.cache_id);
            let blobs_removed = collect_files(context, &surveyed.state.tables(), full)?;
            return Ok(CompactReport { blobs_removed, ..CompactReport::default() });
        }
        let log = match claim.take() {
            Some(log) => log,
            None => {
                tables = 0;
                let Some((log, _)) = claim_number(context, &surveyed.state)? else { continue };
                log
            }
        };
        let mut taken = take(context, surveyed, log.writer)?;
        if taken.state.lost || !still_ours(context, &taken.state.manifest, &log)? {
            continue;
        }
        if taken.has_unbegun(log.writer) {
            claim = Some(log);
            continue;
        }
        let goal = Goal::of(context, state, &taken, full, tries)?;
        let plans = plan(context, &taken, &goal);
        if names_files(&taken, &plans) {
            context.files.set_collect_due(true);
        }
        match fold(context, &mut taken, &plans, &goal, log.writer, &mut tables, watch)? {
            Folded::Published { mut report, manifest, marks, evicted } => {
                drop(log);
                let names = list(context)?;
                let merged = Some((&taken.state, manifest)).filter(|_| !evicted);
                reload(context, state, committer, merged)?;
                let newest = state.read()?.newest().snapshot();
                let (unneeded, open) = (needless(names, &newest, manifest), newest.tables());
                let theirs = Some(newest.manifest.number).filter(|number| *number != manifest);
                tidy_uses(context, &newest, marks, full || goal.is_evicting());
                remove_all(context, theirs, &unneeded)?;
                report.blobs_removed = collect_files(context, &open, full)?;
                return Ok(report);
            }
            Folded::Over => tries += 1,
            Folded::Lost => {}
        }
        claim = Some(log);
    }
    Err(Error::Busy { operation: "compact", attempts: ATTEMPTS })
}

/// Whether what is folded and merged names files, or held some: then some may not be needed any more.
fn names_files(taken: &Taken, plans: &[Plan]) -> bool {
    let held = taken.state.logs.iter().any(|view| view.holds && taken.folded.contains(&view.writer));
    let folded = taken.state.filing.iter().any(|writer| taken.folded.contains(writer));
    let merged = plans.iter().any(|plan| {
        let Some(namespace) = taken.state.namespace(plan.id.number) else { return false };
        let mut tables = plan.merge.iter().filter_map(|index| namespace.tables.get(*index));
        tables.any(|live| live.table.meta.file_bytes > 0)
    });
    held || folded || merged
}

fn collect_files(context: &Context, open: &OpenTables, full: bool) -> Result<u64> {
    if full || context.files.is_collect_due() { collect(context, open) } else { Ok(0) }
}

/// Whether tables may still be written under our number: nobody has taken the log that keeps it, and no manifest
/// covers it (without a lock the log may be taken; ours may have been published after all). A claim that was of no
/// use stays behind as an empty log, for the next compaction to take: a number is free again only once a manifest
/// covers it.
fn still_ours(context: &Context, manifest: &Manifest, log: &LogWriter) -> Result<bool> {
    let in_place = log.is_in_place(&*context.vfs);
    let in_place = in_place.map_err(|source| Error::io("look for", &FileName::Log(log.writer).to_string(), source))?;
    Ok(in_place && manifest.is_open(log.writer))
}

/// What a compaction is to reach.
#[derive(Debug, Default)]
struct Goal {
    /// Everything in one table for each namespace.
    full: bool,
    evictions: Option<Evictions>,
    /// Nothing that leaves was enough so far: now tables go as a whole.
    is_last: bool,
}

impl Goal {
    fn full(full: bool) -> Self {
        Self { full, ..Self::default() }
    }

    /// What is over the cap goes down to a part of it, so that the next compactions have nothing to evict; and to a
    /// lower one if the last try was still over it.
    fn of(context: &Context, state: &RwLock<State>, taken: &Taken, full: bool, tries: usize) -> Result<Self> {
        let bytes_max = context.options.bytes_max;
        if tries == 0 && taken.total_bytes() <= bytes_max {
            return Ok(Self::full(full));
        }
        let eighths = EIGHTHS_LEFT.get(tries).copied();
        let target = (u128::from(bytes_max) * u128::from(eighths.unwrap_or(1)) / 8) as u64;
        let evictions = Evictions::find(context, state, taken, target)?;
        let garbage = tries > 0 || taken.state.manifest.total_bytes() > bytes_max;
        let full = full || garbage || evictions.is_any();
        Ok(Self { full, evictions: Some(evictions), is_last: eighths.is_none() })
    }

    fn is_evicting(&self) -> bool {
        self.evictions.as_ref().is_some_and(Evictions::is_any)
    }
}

/// What to do with one namespace.
struct Plan {
    id: Arc<NamespaceId>,
    merge: Vec<usize>,
    /// Every table of the namespace is merged.
    whole: bool,
}

fn plan(context: &Context, taken: &Taken, goal: &Goal) -> Vec<Plan> {
    let full = goal.full;
    let leaving = |number| goal.evictions.as_ref().is_some_and(|evictions| evictions.leaving.contains(number));
    let mut plans = Vec::new();
    for Current { id, .. } in taken.state.current.values() {
        let Some(namespace) = taken.state.namespace(id.number) else { continue };
        let ours: Vec<usize> = (0..namespace.tables.len())
            .filter(|index| {
                let live = namespace.tables.get(*index);
                live.is_some_and(|live| taken.is_folded(live.attached_by) && !live.table.is_unreadable())
            })
            .collect();
        let garbage = if full { vec![0; namespace.tables.len()] } else { garbage_of(taken, namespace) };
        let candidates: Vec<Candidate> = ours
            .iter()
            .filter_map(|index| namespace.tables.get(*index).zip(garbage.get(*index)))
            .map(|(live, garbage_bytes)| Candidate {
                bytes: live.table.meta.bytes,
                garbage_bytes: *garbage_bytes,
                is_damaged: context.damage.has(&live.table.meta.name.to_string())
                    || taken.names_lost_files(&live.table),
                is_leaving: leaving(&id.number),
                is_hidden: live.table.meta.order_min < namespace.hidden_below,
                is_settled: live.attached_by.is_none()
                    && live.table.meta.order_max == 0
                    && live.table.meta.deletes == 0,
            })
            .collect();
        let entries = taken.folded_entries(namespace).filter_map(|(_, found)| found.entry());
        let folded_bytes = entries.map(|entry| entry.bytes() as u64).sum();
        let picked = pick(&candidates, folded_bytes, full, taken.alone);
        if folded_bytes > 0 || !picked.is_empty() {
            let merge = picked.iter().filter_map(|at| ours.get(*at).copied()).collect::<Vec<_>>();
            let whole = merge.len() == namespace.tables.len();
            plans.push(Plan { id: Arc::clone(id), merge, whole });
        }
    }
    plans.sort_unstable_by_key(|plan| plan.id.number);
    plans
}

/// Bytes of each table that nobody needs any more, from a sample of all entries: those of the first hashes.
fn garbage_of(taken: &Taken, namespace: &Namespace) -> Vec<u64> {
    if namespace.tables.is_empty() {
        return Vec::new();
    }
    let mut sources: Vec<Source<'_>> =
        namespace.tables.iter().map(|live| Source::Table(Arc::clone(&live.table))).collect();
    sources.push(Source::memory(&taken.state.segments, taken.folded_entries(namespace)));
    let counts = match Ranges::new(sources, 0).next() {
        Some(range) => garbage(&range, namespace.tables.len()),
        None => vec![(0, 0); namespace.tables.len()],
    };
    let share = |(live, (all, garbage)): (&LiveTable, &(u64, u64))| {
        (u128::from(live.table.meta.bytes) * u128::from(*garbage) / u128::from((*all).max(1))) as u64
    };
    namespace.tables.iter().zip(&counts).map(share).collect()
}

/// What came of folding.
enum Folded {
    Published {
        report: CompactReport,
        /// Number of the manifest.
        manifest: u64,
        marks: Marks,
        /// Whether entries left that a handle may still see.
        evicted: bool,
    },
    /// Another participant was faster, or seemed to be: it may have published on top of ours already. So what was
    /// written is only discarded before it could be published; later, sweeping finds it.
    Lost,
    /// It would be over the cap. What was written is discarded.
    Over,
}

/// Writes the tables and publishes.
fn fold(
    context: &Context,
    taken: &mut Taken,
    plans: &[Plan],
    goal: &Goal,
    writer: u32,
    index: &mut u32,
    watch: Watch<'_>,
) -> Result<Folded> {
    let mut report =
        CompactReport { changed: true, logs_checkpointed: taken.folded.len() as u64, ..CompactReport::default() };
    report.bytes_before = taken.bytes();
    let mut progress = Progress::new(watch, taken, plans.iter().map(|plan| (plan.id.number, plan.merge.as_slice())));
    let mut name = || {
        *index += 1;
        TableName { writer, index: *index }
    };
    let (written, marks) = match write_tables(context, taken, plans, goal, &mut name, &mut progress, &mut report) {
        Ok(written) => written,
        Err(error) => {
            obsolete_files::discard_tables(context, writer)?;
            return Err(error);
        }
    };
    // An entry of a log that stays may be why an older one is dropped here; it must not be less durable.
    taken.state.sync_others(context, Some(writer))?;
    let mut manifest = next_manifest(context, taken, plans, &written, writer);
    if manifest.total_bytes() > context.options.bytes_max && !goal.is_last {
        obsolete_files::discard_tables(context, writer)?;
        return Ok(Folded::Over);
    }
    let evicted = obsolete_files::evict(&mut manifest, context.options.bytes_max);
    if evicted > 0 {
        context.files.set_collect_due(true);
    }
    report.entries_dropped += evicted;
    report.bytes_after = manifest.table_bytes();
    match publish(&*context.vfs, &context.checksum, writer, taken.state.manifest.number, manifest)? {
        Published::Won(manifest) => {
            let evicted = evicted > 0 || goal.is_evicting();
            Ok(Folded::Published { report, manifest, marks, evicted })
        }
        Published::Lost => Ok(Folded::Lost),
    }
}

/// The new tables of a namespace.
type Written = (u32, Vec<TableMeta>);

/// One new table, rarely more, for each plan.
fn write_tables(
    context: &Context,
    taken: &Taken,
    plans: &[Plan],
    goal: &Goal,
    name: &mut (dyn FnMut() -> TableName + Send),
    progress: &mut Progress<'_>,
    report: &mut CompactReport,
) -> Result<(Vec<Written>, Marks)> {
    let (mut written, mut marks) = (Vec::new(), Marks::default());
    for plan in plans {
        let settle = plan.whole && taken.alone;
        let evictions = goal.evictions.as_ref();
        let drop_deletes = settle || failpoints::bug("missing-tombstone");
        let merge_plan = Merge { number: plan.id.number, tables: &plan.merge, settle, drop_deletes, evictions };
        let merged = merge(context, taken, &merge_plan, name, progress)?;
        report.tables_merged += plan.merge.len() as u64;
        report.tables_written += merged.tables.len() as u64;
        report.entries_dropped += merged.dropped;
        written.push((plan.id.number, merged.tables));
        marks.add(plan.id.space(), merged.marks);
    }
    Ok((written, marks))
}

/// `next writer` covers our own number and those that are folded, and never goes back: our own may be an early one.
/// Every number below was created before these, so the
/// list of logs, made later, has them all.
fn next_manifest(context: &Context, taken: &Taken, plans: &[Plan], written: &[Written], own: u32) -> Manifest {
    let state = &taken.state;
    let done = taken.folded.iter().copied().fold(own, u32::max);
    let next_writer = state.manifest.next_writer.max(done + 1);
    let is_folded = |log: &&LogView| taken.folded.contains(&log.writer);
    let (folded, open): (Vec<_>, Vec<_>) = state.logs.iter().filter(|log| log.writer != own).partition(is_folded);
    // What is folded is as durable as the tables.
    let whole = |log: &&LogView| log.start().map(|start| KnownLog { writer: log.writer, id: start.id, end: log.end });
    let mut manifest = Manifest {
        number: state.manifest_seen + 1,
        cache_id: state.manifest.cache_id,
        id: context.new_id(),
        parent: state.manifest.id,
        last_order: state.last_order,
        next_writer,
        open_logs: open.into_iter().filter_map(|log| state.known_log(context, log)).collect(),
        folded_logs: folded.iter().filter_map(whole).collect(),
        namespaces: Vec::new(),
    };
    for Current { id, latest } in state.current.values() {
        let Some(namespace) = state.namespace(id.number) else { continue };
        let plan = plans.iter().find(|plan| plan.id.number == id.number);
        let kept = namespace.tables.iter().enumerate().filter(|(index, live)| {
            let merged = plan.is_some_and(|plan| plan.merge.contains(index));
            !merged && taken.is_folded(live.attached_by) && live.table.meta.order_max >= namespace.hidden_below
        });
        let mut tables: Vec<TableMeta> = kept.map(|(_, live)| live.table.meta).collect();
        tables.extend(written.iter().filter(|(number, _)| *number == id.number).flat_map(|(_, metas)| metas));
        let settled = plan.is_some_and(|plan| plan.whole) && taken.alone;
        let hidden_below = if settled { 0 } else { namespace.hidden_below };
        let (name, version) = (id.name.clone(), id.version.clone());
        manifest.namespaces.push(ManifestNamespace { name, version, latest: *latest, hidden_below, tables });
    }
    manifest.namespaces.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    manifest
}
