//! Chooses what is evicted from a cache over its size limit. One pass over all keys counts the bytes of entries by
//! rank; `eviction_cut.rs` decides which ranks are evicted. The merge that follows drops those entries (`merge.rs`).

use super::claim_logs::ClaimedLogs;
use super::eviction_cut::{Cut, Rank, cut};
use crate::error::Result;
use crate::format::blob_refs::BlobRefs;
use crate::format::digest::Digest;
use crate::format::order;
use crate::platform::sync::RwLock;
use crate::read::entries::{Entries, Ranges, Source, Visit};
use crate::state::context::Context;
use crate::state::record_usage::own_hashes;
use crate::state::{Current, State};
use crate::usage::{Cursor, Day, Mark};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Bytes of an entry besides key and value: hash, sequence number, kind and lengths.
const ENTRY_BYTES: u64 = 16;

/// The entries to evict, and what is needed to recognize them.
#[derive(Debug)]
pub(crate) struct Evictions {
    cut: Option<Cut>,
    today: Day,
    /// Usage by number of the namespace; their tables are read in this order.
    spaces: Vec<(u32, Usage)>,
    /// Namespaces with entries to evict.
    pub(crate) namespaces: BTreeSet<u32>,
}

/// Usage of a namespace, sorted by hash.
#[derive(Debug, Default)]
struct Usage {
    marks: Vec<Mark>,
    own: Vec<u32>,
}

/// Ranks of entries that are visited in order of their hashes.
#[derive(Debug)]
pub(crate) struct Ranks<'a> {
    cut: Option<Cut>,
    today: Day,
    marks: Cursor<'a>,
    own: &'a [u32],
    state: &'a State,
}

impl Ranks<'_> {
    fn rank(&mut self, entry: &Visit<'_>) -> Rank {
        while let Some((first, rest)) = self.own.split_first()
            && *first < entry.hash
        {
            self.own = rest;
        }
        let is_own = self.own.first() == Some(&entry.hash);
        let last_used = self.marks.find(entry.hash).map_or(0, Mark::day);
        let day =
            last_used.max(self.state.known_day(entry.table_ms(), entry.sequence)).min(self.today);
        Rank { is_own, day, sequence: entry.sequence }
    }

    /// Whether the entry is evicted.
    pub(crate) fn is_evicted(&mut self, entry: &Visit<'_>) -> bool {
        let Some(cut) = self.cut else { return false };
        let rank = self.rank(entry);
        cut.evicts(rank, entry.hash)
    }
}

impl Evictions {
    /// Finds the entries to evict so that the rest, with their blobs, takes about `bytes_max`.
    pub(crate) fn find(
        context: &Context,
        shared: &RwLock<State>,
        claimed: &ClaimedLogs,
        bytes_max: u64,
    ) -> Result<Self> {
        let mut usage = context.usage_folder.read_all(claimed.state.manifest.cache_id);
        let today = context.usage.today().unwrap_or(Day::MAX);
        let mut found = Self { cut: None, today, spaces: Vec::new(), namespaces: BTreeSet::new() };
        for Current { id, .. } in claimed.state.current.values() {
            let (own, marks) = (own_hashes(context, &*shared.read()?, id), usage.take(&id.space()));
            found.spaces.push((id.number, Usage { marks, own }));
        }
        order::sort_by(&mut found.spaces, |left, right| left.0.cmp(&right.0));
        let mut sizes = Sizes::default();
        for (id, _) in &found.spaces {
            found.count(claimed, *id, &mut sizes);
        }
        for (rank, bytes) in sizes.blobs.values() {
            *sizes.ranks.entry(*rank).or_default() += bytes;
        }
        let total: u64 = sizes.ranks.values().sum();
        let salt = claimed.state.manifest_seen as u32;
        found.cut = cut(&sizes.ranks, total.saturating_sub(bytes_max), salt);
        let is_hit = |(lowest, _): &(Rank, u32)| found.cut.is_some_and(|cut| cut.reaches(*lowest));
        found.namespaces = sizes.lowest.into_iter().filter(is_hit).map(|(_, id)| id).collect();
        Ok(found)
    }

    /// Whether any entry is evicted.
    pub(crate) fn is_any(&self) -> bool {
        self.cut.is_some()
    }

    pub(crate) fn ranks<'a>(&'a self, id: u32, state: &'a State) -> Option<Ranks<'a>> {
        let at = self.spaces.binary_search_by_key(&id, |(number, _)| *number).ok()?;
        let (_, Usage { marks, own }) = self.spaces.get(at)?;
        Some(Ranks { cut: self.cut, today: self.today, marks: Cursor::new(marks), own, state })
    }

    /// Adds the entries of one namespace to `sizes`.
    fn count(&self, claimed: &ClaimedLogs, id: u32, sizes: &mut Sizes) {
        let (Some(namespace), Some(mut ranks)) =
            (claimed.state.namespace(id), self.ranks(id, &claimed.state))
        else {
            return;
        };
        let tables = namespace.tables.iter().filter(|live| claimed.may_merge(live.attached_by));
        let mut sources: Vec<Source<'_>> =
            tables.map(|live| Source::Table(Arc::clone(&live.table))).collect();
        sources.push(Source::memtable(&claimed.state.segments, claimed.entries(namespace)));
        let mut entries = Entries::new(namespace.hidden_below);
        let mut lowest: Option<Rank> = None;
        for range in Ranges::new(sources, 0) {
            let _all = entries.visit(&range, &mut |entry| {
                let Some(stored_bytes) = entry.stored_bytes().filter(|_| !entry.is_hidden) else {
                    return ControlFlow::Continue(());
                };
                let rank = ranks.rank(&entry);
                *sizes.ranks.entry(rank).or_default() +=
                    entry.key.len() as u64 + stored_bytes + ENTRY_BYTES;
                lowest = Some(lowest.map_or(rank, |lowest| rank.min(lowest)));
                let refs = if entry.names_blobs() {
                    entry.value().and_then(BlobRefs::parse)
                } else {
                    None
                };
                for file in refs.iter().flat_map(BlobRefs::blobs) {
                    // A blob stays until the last entry that names it is evicted.
                    let (highest, _) = sizes.blobs.entry(file.digest).or_insert((rank, file.bytes));
                    *highest = rank.max(*highest);
                }
                ControlFlow::Continue(())
            });
        }
        sizes.lowest.extend(lowest.map(|rank| (rank, id)));
    }
}

/// Bytes of entries by rank.
#[derive(Debug, Default)]
struct Sizes {
    ranks: BTreeMap<Rank, u64>,
    blobs: HashMap<Digest, (Rank, u64)>,
    /// The rank of each namespace that is evicted first.
    lowest: Vec<(Rank, u32)>,
}
