//! Walking through everything that was committed at one moment: namespaces by name, entries in order of (upper half of
//! the hash, key). The caller stops when it has enough and goes on later, exactly after the entry it saw last; commits
//! and compactions meanwhile change nothing of what it sees.
//!
//! A walk holds a snapshot of the state: places of the entries of logs and the tables, no content. It reads a window of
//! hashes at a time, about as much as a caller takes at once; to stop inside one costs reading its keys again.

use crate::blobs::{Content, Files};
use crate::format::blob_refs::Filed;
use crate::format::namespace_ids::NamespaceId;
use crate::platform::failpoints;
use crate::read::entries::{Entries, HASHES, Range, Ranges, Source};
use crate::read::stats::with_tables;
use crate::state::context::Context;
use crate::state::{Current, Segments, State};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Keys and values of a window, about, and the entries it has at least and at most.
const WINDOW_BYTES: u64 = 256 << 10;
const WINDOW_ENTRIES_MIN: u64 = 64;
const WINDOW_ENTRIES_MAX: u64 = 8 << 10;

/// Mapped files count as memory of this process as far as they were read; after so many bytes they are let go.
const HELD_BYTES: usize = 8 << 20;

/// A position in a cache.
#[derive(Debug)]
pub struct Walk {
    state: State,
    files: Arc<Files>,
    with_values: bool,
    namespaces: Vec<WalkNamespace>,
    /// The entries of the logs, taken out of the state.
    segments: Arc<Segments>,
    /// The namespace it stands in, and the hash it has come to.
    at: usize,
    from: u64,
    /// The window in which it was stopped.
    stopped: Option<Stopped>,
    /// Bytes of keys and values since files were let go.
    held_bytes: usize,
    /// Of that namespace.
    entries: Entries,
}

/// A window that is not done.
#[derive(Debug)]
struct Stopped {
    range: Range<'static>,
    end: u64,
    /// The key that was seen last.
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
    /// Bytes of keys and values, those included that were overwritten and not yet compacted.
    bytes: u64,
    /// Hashes of one window.
    width: u64,
}

/// An entry of a walk.
#[derive(Clone, Copy, Debug)]
pub struct WalkEntry<'a> {
    /// Its namespace by number: they count from 0 in the order of the walk.
    pub number: usize,
    /// The namespace itself.
    pub namespace: &'a WalkNamespace,
    /// Its key.
    pub key: &'a [u8],
    /// Its value; empty in a walk without values.
    pub value: &'a [u8],
    /// Length of the value.
    pub value_bytes: usize,
}

impl Walk {
    /// Begins before the first entry; `only` leaves out every namespace but the one of this name. Without values, none
    /// is read.
    pub(crate) fn new(context: &Context, mut state: State, only: Option<&str>, with_values: bool) -> Self {
        state.sort_memory();
        // Entries are in memory already: their files must not stay open, and locked, for as long as a walk takes.
        state.logs.clear();
        let mut namespaces = Vec::new();
        for (name, Current { id, .. }) in state.current.iter().filter(|_| !state.lost) {
            if only.is_none_or(|only| only == name) {
                namespaces.push(WalkNamespace::new(&state, id));
            }
        }
        namespaces.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        let entries = entries_of(&state, namespaces.first());
        let segments = Arc::new(std::mem::take(&mut state.segments));
        Self {
            state,
            files: Arc::clone(&context.files),
            with_values,
            namespaces,
            segments,
            at: 0,
            from: 0,
            stopped: None,
            held_bytes: 0,
            entries,
        }
    }

    /// Bytes of keys and values done and in all, about: what was overwritten counts until it is compacted.
    pub fn progress(&self) -> (u64, u64) {
        let bytes = |namespaces: &[WalkNamespace]| namespaces.iter().map(|namespace| namespace.bytes).sum::<u64>();
        let part = |here: &WalkNamespace| (u128::from(here.bytes) * u128::from(self.from) / u128::from(HASHES)) as u64;
        let before = bytes(self.namespaces.get(..self.at).unwrap_or_default());
        (before + self.namespaces.get(self.at).map_or(0, part), bytes(&self.namespaces))
    }

    /// Hands out entries until `each` breaks; the next call goes on behind the entry that it broke at. `false` = that
    /// was all.
    pub fn go_on(&mut self, each: &mut dyn FnMut(WalkEntry<'_>) -> ControlFlow<()>) -> bool {
        while self.at < self.namespaces.len() {
            let outcome = self.window(each);
            self.release(if self.from < HASHES { HELD_BYTES } else { 0 });
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

    /// Lets go of the files of this namespace, if more was read than `bytes_max`.
    fn release(&mut self, bytes_max: usize) {
        if self.held_bytes <= bytes_max {
            return;
        }
        self.held_bytes = 0;
        let here = self.namespaces.get(self.at).and_then(|namespace| self.state.namespace(namespace.number));
        for live in here.map_or(&[][..], |namespace| &namespace.tables) {
            live.table.release();
        }
    }

    fn window(&mut self, each: &mut dyn FnMut(WalkEntry<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        failpoints::panics("walk");
        let Self { state, files, with_values, namespaces, segments, at, from, stopped, held_bytes, entries } = self;
        let (number, with_values) = (*at, *with_values);
        let Some(namespace) = namespaces.get(number) else { return ControlFlow::Continue(()) };
        let Some(in_state) = state.namespace(namespace.number) else { return ControlFlow::Continue(()) };
        let first = *from as u32;
        let (mut range, end, seen) = match stopped.take() {
            Some(Stopped { range, end, seen }) => (range, end, Some(seen)),
            None => {
                let end = from.saturating_add(namespace.width).min(HASHES);
                let memory = Source::sorted_memory(segments, in_state.memory_window(*from, end));
                (Ranges::new(with_tables(memory, in_state), first).up_to(end), end, None)
            }
        };
        let outcome = entries.visit(&range, |entry| {
            let was_seen = entry.hash == first && seen.as_deref().is_some_and(|seen| entry.key <= seen);
            if entry.is_hidden || was_seen {
                return ControlFlow::Continue(());
            }
            let (hash, key) = (entry.hash, entry.key);
            let Some(mut value_bytes) = entry.value_bytes() else { return ControlFlow::Continue(()) };
            let is_filed = entry.is_filed();
            let value = if with_values || is_filed { entry.value() } else { Some(&[][..]) };
            // A value that cannot be read is a miss.
            let Some(mut value) = value else { return ControlFlow::Continue(()) };
            let content;
            if is_filed {
                let Some(filed) = Filed::parse(value) else { return ControlFlow::Continue(()) };
                value_bytes = filed.value_bytes() as usize;
                content = if with_values { files.value(value) } else { Ok(Content::Whole(Vec::new())) };
                let Ok(Content::Whole(content)) = &content else { return ControlFlow::Continue(()) };
                value = content;
            }
            *held_bytes += key.len() + value.len();
            match each(WalkEntry { number, namespace, key, value, value_bytes }) {
                ControlFlow::Continue(()) => ControlFlow::Continue(()),
                ControlFlow::Break(()) => ControlFlow::Break((hash, key.to_vec())),
            }
        });
        match outcome {
            ControlFlow::Continue(()) => {
                *from = end;
                ControlFlow::Continue(())
            }
            ControlFlow::Break((hash, key)) => {
                range.pass(hash, &key);
                (*from, *stopped) = (u64::from(hash), Some(Stopped { range, end, seen: key }));
                ControlFlow::Break(())
            }
        }
    }
}

impl WalkNamespace {
    fn new(state: &State, id: &NamespaceId) -> Self {
        let (mut entries, mut bytes) = (0, 0);
        if let Some(namespace) = state.namespace(id.number) {
            for (_, found) in state.memory_entries(namespace) {
                entries += 1;
                bytes += found.entry().map_or(0, |entry| (entry.key.len() + entry.value.len()) as u64);
            }
            for live in &namespace.tables {
                entries += live.table.entries();
                bytes += live.table.meta.key_bytes + live.table.meta.value_bytes;
            }
        }
        let per_entry = (bytes / entries.max(1)).max(1);
        let wanted = (WINDOW_BYTES / per_entry).clamp(WINDOW_ENTRIES_MIN, WINDOW_ENTRIES_MAX);
        let width = (u128::from(HASHES) * u128::from(wanted) / u128::from(entries.max(1))) as u64;
        let (name, version) = (id.name.clone(), id.version.clone());
        Self { name, version, number: id.number, bytes, width: width.max(1) }
    }
}

fn entries_of(state: &State, namespace: Option<&WalkNamespace>) -> Entries {
    let hidden_below =
        namespace.and_then(|namespace| state.namespace(namespace.number)).map(|found| found.hidden_below);
    Entries::new(hidden_below.unwrap_or(0))
}
