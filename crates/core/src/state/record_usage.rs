//! Records what this process reads: in memory while it runs, and in a usage record when it flushes or closes.

use crate::format::file_names::TableName;
use crate::format::namespace_ids::NamespaceId;
use crate::platform::sync::RwLock;
use crate::state::context::Context;
use crate::state::{Current, State};
use crate::usage::{Cursor, Day, Mark, Marks};
use std::collections::HashSet;

/// Whether reads may be worth recording.
pub(crate) fn is_due(context: &Context, state: &State) -> bool {
    let today = context.usage.today().filter(|_| !context.options.read_only);
    today.is_some_and(|today| reads_before(context, state, today) > 0)
}

fn reads_before(context: &Context, state: &State, today: Day) -> u64 {
    state.reads_before(today) + context.usage.reads()
}

/// Writes a record of the entries that were read and are not yet known to be used today; writes nothing if there are
/// none.
pub(crate) fn record_usage(context: &Context, state: &RwLock<State>) {
    let Some(today) = context.usage.today().filter(|_| !context.options.read_only) else { return };
    let (cache_id, read) = {
        let Ok(state) = state.read() else { return };
        let reads = reads_before(context, &state, today);
        if reads == 0 || context.usage.is_recorded(today, reads) {
            return;
        }
        let ids = state.current.values().map(|current| &current.id);
        let read: Vec<_> =
            ids.map(|id| (id.space(), read_before(context, &state, id, today))).collect();
        (state.manifest.cache_id, read)
    };
    if read.iter().all(|(_, hashes)| hashes.is_empty()) {
        return;
    }
    let known = context.usage_folder.read_since(cache_id, today);
    let mut marks = Marks::default();
    for (space, hashes) in read {
        let mut known = Cursor::new(known.of(&space));
        let new = hashes.into_iter().filter(|hash| known.find(*hash).is_none());
        let new = new.map(|hash| Mark::new(hash, today, true)).collect();
        marks.add(space, new);
    }
    if !marks.is_empty() {
        context.usage_folder.add(cache_id, marks, today);
    }
}

/// Hashes of entries of a namespace that were read and whose known day is before `today`, sorted.
fn read_before(context: &Context, state: &State, id: &NamespaceId, today: Day) -> Vec<u32> {
    let mut marks = state.reads_of(id.number, today, &HashSet::new());
    marks.extend(context.usage.read_of(id).into_iter().filter(|mark| mark.day() < today));
    let mut hashes: Vec<u32> = marks.into_iter().map(Mark::hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Hashes of the entries of a namespace that this process wrote or read, sorted. They are evicted last, whatever their
/// day.
pub(crate) fn own_hashes(context: &Context, state: &State, id: &NamespaceId) -> Vec<u32> {
    let mut hashes = context.usage.written_of(id);
    hashes.extend(context.usage.read_of(id).into_iter().map(Mark::hash));
    hashes.extend(state.reads_of(id.number, Day::MAX, &HashSet::new()).into_iter().map(Mark::hash));
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Keeps the reads of tables and logs that `fresh` no longer has, before `old` is dropped.
pub(crate) fn keep_reads(context: &Context, old: &State, fresh: &HashSet<TableName>) {
    for Current { id, .. } in old.current.values() {
        context.usage.read(id, old.reads_of(id.number, Day::MAX, fresh));
    }
}
