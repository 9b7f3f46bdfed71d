//! What a compaction aims for, and what it merges for that: asks `pick` for each namespace.

use super::claim_logs::ClaimedLogs;
use super::evict::Evictions;
use super::pick::{Candidate, Extent, pick};
use crate::error::Result;
use crate::format::namespace_ids::NamespaceId;
use crate::format::order;
use crate::platform::sync::RwLock;
use crate::read::entries::{Ranges, Source, garbage};
use crate::state::context::Context;
use crate::state::{Current, LiveTable, Namespace, State};
use std::sync::Arc;

/// A cache over its size limit shrinks to this many eighths of it. Later tries shrink further, because the size of an
/// entry is an estimate.
const EIGHTHS_LEFT: [u8; 3] = [7, 6, 4];

/// What a compaction aims for.
#[derive(Debug)]
pub(super) struct Goal {
    extent: Extent,
    pub(super) evictions: Option<Evictions>,
    /// Evicting entries was not enough: evict whole tables.
    pub(super) is_last: bool,
}

impl Goal {
    pub(super) fn new(extent: Extent) -> Self {
        Self { extent, evictions: None, is_last: false }
    }

    /// If the cache is over its limit, entries are evicted until it is well below, so that the next compactions need
    /// not evict. Each further try aims lower.
    pub(super) fn of(
        context: &Context,
        state: &RwLock<State>,
        claimed: &ClaimedLogs,
        extent: Extent,
        tries: usize,
    ) -> Result<Self> {
        let bytes_max = context.options.bytes_max;
        if tries == 0 && claimed.total_bytes() <= bytes_max {
            return Ok(Self::new(extent));
        }
        let eighths = EIGHTHS_LEFT.get(tries).copied();
        let target = (u128::from(bytes_max) * u128::from(eighths.unwrap_or(1)) / 8) as u64;
        let evictions = Evictions::find(context, state, claimed, target)?;
        let garbage = tries > 0 || claimed.state.manifest.total_bytes() > bytes_max;
        let extent = if garbage || evictions.is_any() { Extent::Full } else { extent };
        Ok(Self { extent, evictions: Some(evictions), is_last: eighths.is_none() })
    }

    pub(super) fn is_evicting(&self) -> bool {
        self.evictions.as_ref().is_some_and(Evictions::is_any)
    }
}

/// The merge of one namespace.
pub(super) struct Plan {
    pub(super) id: Arc<NamespaceId>,
    /// Indexes of the namespace's tables.
    pub(super) merge: Vec<usize>,
    /// Whether every table of the namespace is merged.
    pub(super) whole: bool,
}

pub(super) fn plan(context: &Context, claimed: &ClaimedLogs, goal: &Goal) -> Vec<Plan> {
    let has_evictions = |number| {
        goal.evictions.as_ref().is_some_and(|evictions| evictions.namespaces.contains(number))
    };
    let mut plans = Vec::new();
    for Current { id, .. } in claimed.state.current.values() {
        let Some(namespace) = claimed.state.namespace(id.number) else { continue };
        let ours: Vec<usize> = (0..namespace.tables.len())
            .filter(|index| {
                let live = namespace.tables.get(*index);
                live.is_some_and(|live| {
                    claimed.may_merge(live.attached_by) && !live.table.is_unreadable()
                })
            })
            .collect();
        let is_counted = matches!(goal.extent, Extent::Due | Extent::Closing);
        let garbage = if is_counted {
            garbage_of(claimed, namespace)
        } else {
            vec![0; namespace.tables.len()]
        };
        let candidates: Vec<Candidate> = ours
            .iter()
            .filter_map(|index| namespace.tables.get(*index).zip(garbage.get(*index)))
            .map(|(live, garbage_bytes)| Candidate {
                bytes: live.table.meta.bytes,
                garbage_bytes: *garbage_bytes,
                is_damaged: context.damage.has(&live.table.meta.name.to_string())
                    || claimed.names_missing_blobs(&live.table),
                has_evictions: has_evictions(&id.number),
                merge: (live.table.meta.sequence_base == 0).then_some(live.table.meta.name.writer),
                is_hidden: live.table.meta.sequence_min < namespace.hidden_below,
                is_settled: live.attached_by.is_none()
                    && live.table.meta.sequence_max == 0
                    // Over layers, deletes stay.
                    && (live.table.meta.deletes == 0 || !claimed.state.layers.is_empty()),
            })
            .collect();
        let entries = claimed.entries(namespace).filter_map(|(_, found)| found.entry());
        let checkpoint_bytes = entries.map(|entry| entry.bytes() as u64).sum();
        let picked = pick(&candidates, checkpoint_bytes, goal.extent, claimed.alone);
        if checkpoint_bytes > 0 || !picked.is_empty() {
            let merge = picked.iter().filter_map(|at| ours.get(*at).copied()).collect::<Vec<_>>();
            let whole = merge.len() == namespace.tables.len();
            plans.push(Plan { id: Arc::clone(id), merge, whole });
        }
    }
    order::sort_by(&mut plans, |left, right| left.id.number.cmp(&right.id.number));
    plans
}

/// Estimated garbage bytes of each table, from a sample: the entries with the lowest hashes.
fn garbage_of(claimed: &ClaimedLogs, namespace: &Namespace) -> Vec<u64> {
    if namespace.tables.is_empty() {
        return Vec::new();
    }
    let mut sources: Vec<Source<'_>> =
        namespace.tables.iter().map(|live| Source::Table(Arc::clone(&live.table))).collect();
    sources.push(Source::memtable(&claimed.state.segments, claimed.entries(namespace)));
    let counts = match Ranges::new(sources, 0).next() {
        Some(range) => garbage(&range, namespace.tables.len()),
        None => vec![(0, 0); namespace.tables.len()],
    };
    let share = |(live, (all, garbage)): (&LiveTable, &(u64, u64))| {
        (u128::from(live.table.meta.bytes) * u128::from(*garbage) / u128::from((*all).max(1)))
            as u64
    };
    namespace.tables.iter().zip(&counts).map(share).collect()
}

/// Whether the merged entries name blobs, or their logs pinned some, so that some blobs may not be needed any more.
pub(super) fn names_blobs(claimed: &ClaimedLogs, plans: &[Plan]) -> bool {
    let pinned =
        claimed.state.logs.iter().any(|view| view.pins && claimed.writers.contains(&view.writer));
    let named =
        claimed.state.writers_with_blobs.iter().any(|writer| claimed.writers.contains(writer));
    let merged = plans.iter().any(|plan| {
        let Some(namespace) = claimed.state.namespace(plan.id.number) else { return false };
        let mut tables = plan.merge.iter().filter_map(|index| namespace.tables.get(*index));
        tables.any(|live| live.table.meta.blob_bytes > 0)
    });
    pinned || named || merged
}
