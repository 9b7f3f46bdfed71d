//! Usage records after a compaction: adds marks for entries that were merged with older ones, and drops marks without
//! an entry.

use crate::state::context::Context;
use crate::state::{Current, State};
use crate::usage::{Day, Marks, Space, day_of};
use std::collections::HashMap;

/// Marks without an entry are searched for once a namespace has this many times as many marks as entries.
const MARKS_PER_ENTRY: u64 = 2;

/// Adds `marks`; `thorough` = search for marks without an entry in any case.
pub(crate) fn prune_usage_records(context: &Context, state: &State, marks: Marks, thorough: bool) {
    let today = context.usage.today().unwrap_or_else(|| newest_day(state));
    let ids: HashMap<Space, u32> = state.current.values().map(|Current { id, .. }| (id.space(), id.number)).collect();
    context.usage_folder.prune(state.manifest.cache_id, marks, today, &mut |marks: &mut Marks| {
        marks.retain(|space, _| ids.contains_key(space));
        for (space, id) in &ids {
            let count = marks.of(space).len() as u64;
            if count > 0 && (thorough || count > state.entries_of(*id).saturating_mul(MARKS_PER_ENTRY)) {
                let Some(hashes) = state.hashes_of(*id) else { continue };
                let mut kept = marks.take(space);
                kept.retain(|mark| hashes.binary_search(&mark.hash()).is_ok());
                marks.add(space.clone(), kept);
            }
        }
    });
}

fn newest_day(state: &State) -> Day {
    day_of(state.namespaces().map(|namespace| namespace.newest_ms).max().unwrap_or(0))
}
