//! Walks through everything that was committed at one moment: namespaces by name, entries in order of (upper half of
//! the hash, key). The caller can stop at any entry and continue exactly after it. Later commits and compactions do not
//! change what it sees.
//!
//! A walk has a snapshot of the state: the tables and the places of memtable entries, no content. It reads one window
//! of hashes at a time, about as much as a caller takes at once. Stopping inside a window costs reading its keys again.

use crate::blobs::{Blobs, Content};
use crate::format::blob_refs::BlobRefs;
use crate::format::namespace_ids::NamespaceId;
use crate::format::order;
use crate::platform::failpoints;
use crate::read::entries::{Entries, HASHES, Range, Ranges, Source};
use crate::read::stats::with_tables;
use crate::state::context::Context;
use crate::state::{Segments, State};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Approximate bytes of a window, and its least and most entries.
const WINDOW_BYTES: u64 = 256 << 10;
const WINDOW_ENTRIES_MIN: u64 = 64;
const WINDOW_ENTRIES_MAX: u64 = 8 << 10;

/// A position in a cache.
#[derive(Debug)]
pub struct Walk {
    state: State,
    blobs: Arc<Blobs>,
    with_values: bool,
    namespaces: Vec<WalkNamespace>,
    /// The memtable's bytes, taken out of the state.
    segments: Arc<Segments>,
    /// Index of the current namespace, and the hash from which to go on.
    at: usize,
    from: u64,
    /// The window in which the caller stopped.
    stopped: Option<Stopped>,
    /// Newest entries of the current namespace.
    entries: Entries,
}

/// A window in which the caller stopped.
#[derive(Debug)]
struct Stopped {
    range: Range<'static>,
    end: u64,
    /// The key visited last.
    seen: Vec<u8>,
}

/// A namespace of a walk.
#[derive(Debug)]
pub struct WalkNamespace {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    number: u32,
    /// Bytes of keys and values, including overwritten ones that are not compacted yet.
    bytes: u64,
    /// Number of hashes in a window.
    width: u64,
}

/// An entry of a walk.
#[derive(Clone, Copy, Debug)]
pub struct WalkEntry<'a> {
    /// Index of its namespace in the order of the walk, from 0.
    pub number: usize,
    /// Its namespace.
    pub namespace: &'a WalkNamespace,
    /// Its key.
    pub key: &'a [u8],
    /// Its value; empty in a walk without values.
    pub value: &'a [u8],
    /// Length of the value.
    pub value_bytes: usize,
}

impl Walk {
    /// Begins before the first entry; `only` restricts the walk to the namespace of this name. Without values, none is
    /// read.
    pub(crate) fn new(
        context: &Context,
        mut state: State,
        only: Option<&str>,
        with_values: bool,
    ) -> Self {
        state.sort_memtables();
        // The entries are in memory, so the walk must not keep the logs open, and locked, for as long as it takes.
        state.logs.clear();
        let mut namespaces = Vec::new();
        if !state.unrecoverable {
            let chosen = state.visible_ids().filter(|id| only.is_none_or(|only| only == id.name));
            namespaces.extend(chosen.map(|id| WalkNamespace::new(&state, id)));
        }
        order::sort_by(&mut namespaces, |left, right| left.name.cmp(&right.name));
        let entries = entries_of(&state, namespaces.first());
        let segments = Arc::new(std::mem::take(&mut state.segments));
        Self {
            state,
            blobs: Arc::clone(&context.blobs),
            with_values,
            namespaces,
            segments,
            at: 0,
            from: 0,
            stopped: None,
            entries,
        }
    }

    /// Approximate bytes of keys and values visited and in total; overwritten entries count until they are compacted.
    pub fn progress(&self) -> (u64, u64) {
        let bytes = |namespaces: &[WalkNamespace]| {
            namespaces.iter().map(|namespace| namespace.bytes).sum::<u64>()
        };
        let part = |here: &WalkNamespace| {
            (u128::from(here.bytes) * u128::from(self.from) / u128::from(HASHES)) as u64
        };
        let before = bytes(self.namespaces.get(..self.at).unwrap_or_default());
        (before + self.namespaces.get(self.at).map_or(0, part), bytes(&self.namespaces))
    }

    /// Visits entries until `each` breaks; the next call continues after that entry. `false` = all were visited.
    pub fn go_on(&mut self, each: &mut dyn FnMut(WalkEntry<'_>) -> ControlFlow<()>) -> bool {
        while self.at < self.namespaces.len() {
            let outcome = self.window(each);
            if outcome.is_break() {
                return true;
            }
            if self.from >= HASHES {
                self.at += 1;
                self.from = 0;
                self.entries = entries_of(&self.state, self.namespaces.get(self.at));
            }
        }
        false
    }

    fn window(
        &mut self,
        each: &mut dyn FnMut(WalkEntry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        failpoints::panics("walk");
        let Self { state, blobs, with_values, namespaces, segments, at, from, stopped, entries } =
            self;
        let (number, with_values) = (*at, *with_values);
        let Some(namespace) = namespaces.get(number) else { return ControlFlow::Continue(()) };
        let first = *from as u32;
        let (mut range, end, seen) = match stopped.take() {
            Some(Stopped { range, end, seen }) => (range, end, Some(seen)),
            None => {
                let end = from.saturating_add(namespace.width).min(HASHES);
                let window = state
                    .namespace(namespace.number)
                    .map(|found| found.memtable_window(*from, end));
                let memtable = window.map(|window| Source::sorted_memtable(segments, window));
                (
                    Ranges::new(with_tables(memtable, state, namespace.number), first).up_to(end),
                    end,
                    None,
                )
            }
        };
        let mut last = None;
        let outcome = entries.visit(&range, &mut |entry| {
            let was_seen =
                entry.hash == first && seen.as_deref().is_some_and(|seen| entry.key <= seen);
            if entry.is_hidden || was_seen {
                return ControlFlow::Continue(());
            }
            let (hash, key) = (entry.hash, entry.key);
            let Some(mut value_bytes) = entry.value_bytes() else {
                return ControlFlow::Continue(());
            };
            let names_blobs = entry.names_blobs();
            let value = if with_values || names_blobs { entry.value() } else { Some(&[][..]) };
            // A value that cannot be read is a miss.
            let Some(mut value) = value else { return ControlFlow::Continue(()) };
            let content;
            if names_blobs {
                let Some(refs) = BlobRefs::parse(value) else { return ControlFlow::Continue(()) };
                value_bytes = refs.value_bytes() as usize;
                content =
                    if with_values { blobs.value(value) } else { Ok(Content::Whole(Vec::new())) };
                let Ok(Content::Whole(content)) = &content else {
                    return ControlFlow::Continue(());
                };
                value = content;
            }
            let outcome = each(WalkEntry { number, namespace, key, value, value_bytes });
            last = outcome.is_break().then(|| (hash, key.to_vec()));
            outcome
        });
        *from = end;
        if let Some((hash, key)) = last {
            range.pass(hash, &key);
            (*from, *stopped) = (u64::from(hash), Some(Stopped { range, end, seen: key }));
        }
        outcome
    }
}

impl WalkNamespace {
    fn new(state: &State, id: &NamespaceId) -> Self {
        let (mut entries, mut bytes) = (0, 0);
        if let Some(namespace) = state.namespace(id.number) {
            for (_, found) in state.memtable_entries(namespace) {
                entries += 1;
                bytes +=
                    found.entry().map_or(0, |entry| (entry.key.len() + entry.value.len()) as u64);
            }
            for live in &namespace.tables {
                entries += live.table.entries();
                bytes += live.table.meta.key_bytes + live.table.meta.value_bytes;
            }
        }
        for table in state.tables_below(id.number) {
            entries += table.entries();
            bytes += table.meta.key_bytes + table.meta.value_bytes;
        }
        let per_entry = (bytes / entries.max(1)).max(1);
        let wanted = (WINDOW_BYTES / per_entry).clamp(WINDOW_ENTRIES_MIN, WINDOW_ENTRIES_MAX);
        let width = (u128::from(HASHES) * u128::from(wanted) / u128::from(entries.max(1))) as u64;
        let (name, version) = (id.name.clone(), id.version.clone());
        Self { name, version, number: id.number, bytes, width: width.max(1) }
    }
}

fn entries_of(state: &State, namespace: Option<&WalkNamespace>) -> Entries {
    let hidden_below = namespace
        .and_then(|namespace| state.namespace(namespace.number))
        .map(|found| found.hidden_below);
    Entries::new(hidden_below.unwrap_or(0))
}
