//! The largest entries, those unused for longest, or those never used since they were written. One pass over all keys
//! keeps the first ones.

use crate::read::stats::{EntrySummary, each_entry};
use crate::report::{TopEntry, TopOrder};
use crate::state::State;
use crate::state::context::Context;
use crate::usage::Marks;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Weight, then namespace and key, which make it unique.
type Place = (Reverse<u64>, String, Vec<u8>);

/// The first `limit` entries of all namespaces, or of the one of that name.
pub(crate) fn top(
    context: &Context,
    state: &State,
    order: TopOrder,
    only: Option<&str>,
    limit: usize,
) -> Vec<TopEntry> {
    let marks: Marks = context.usage_folder.read_all(state.manifest.cache_id);
    let mut first: BTreeMap<Place, TopEntry> = BTreeMap::new();
    for id in state.visible_ids().filter(|id| only.is_none_or(|only| only == id.name)) {
        let name = &id.name;
        each_entry(state, id.number, marks.of(&id.space()), &mut |entry| {
            let Some(weight) = weight(order, &entry) else { return };
            let is_late = first.last_key_value().is_some_and(|((last, _, _), _)| weight < last.0);
            if limit == 0 || (first.len() >= limit && is_late) {
                return;
            }
            let EntrySummary { key, value_bytes, written_ms, used_ms, .. } = entry;
            let found = TopEntry {
                namespace: name.clone(),
                key: key.to_vec(),
                value_bytes,
                written_ms,
                used_ms,
            };
            first.insert((Reverse(weight), name.clone(), key.to_vec()), found);
            if first.len() > limit {
                first.pop_last();
            }
        });
    }
    first.into_values().collect()
}

/// The weight of an entry, heaviest first; `None` = the order does not include it.
fn weight(order: TopOrder, entry: &EntrySummary<'_>) -> Option<u64> {
    match order {
        TopOrder::Largest => Some(entry.value_bytes),
        TopOrder::Oldest => Some(u64::MAX - entry.used_ms.unwrap_or(0).max(entry.written_ms)),
        TopOrder::NeverUsed => entry.used_ms.is_none().then_some(entry.value_bytes),
    }
}
