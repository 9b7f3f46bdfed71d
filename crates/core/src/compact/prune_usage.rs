//! Usage records after a compaction: adds marks for entries that were merged with older ones, and drops marks without
//! an entry.

use crate::state::context::Context;
use crate::state::{Current, State};
use crate::usage::{Day, Marks, day_of};

/// Marks without an entry are searched for once a namespace has this many times as many marks as entries.
const MARKS_PER_ENTRY: u64 = 2;

/// Adds `marks`; `thorough` = search for marks without an entry in any case.
pub(crate) fn prune_usage_records(context: &Context, state: &State, marks: Marks, thorough: bool) {
    let today = context.usage.today().unwrap_or_else(|| newest_day(state));
    context.usage_folder.prune(state.manifest.cache_id, marks, today, &mut |marks: &mut Marks| {
        marks.retain(|(name, version), _| {
            state.current.get(name).is_some_and(|current| current.id.version == *version)
        });
        for Current { id, .. } in state.current.values() {
            let space = id.space();
            let count = marks.of(&space).len() as u64;
            if count > 0
                && (thorough || count > state.entries_of(id.number).saturating_mul(MARKS_PER_ENTRY))
            {
                let Some(hashes) = state.hashes_of(id.number) else { continue };
                let mut kept = marks.take(&space);
                kept.retain(|mark| hashes.binary_search(&mark.hash()).is_ok());
                marks.add(space, kept);
            }
        }
    });
}

fn newest_day(state: &State) -> Day {
    day_of(state.namespaces().map(|namespace| namespace.newest_ms).max().unwrap_or(0))
}
