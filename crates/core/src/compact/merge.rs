//! Merging the logs' entries and some tables of one namespace into new tables, in order of (hash, key).
//!
//! Of entries with one key the newest wins. It is left out if nobody may see it (`hidden_below`), if it lies in a hole
//! that a damaged block left in a table that may have had something newer, or if it is a delete that hides nothing
//! any more. A value that cannot be read becomes a delete, so that no older one takes its place.

use super::take::Taken;
use crate::context::Context;
use crate::entries::{Entries, Source};
use crate::error::{Error, Result};
use crate::format::names::TableName;
use crate::options::Watch;
use crate::table::{TableMeta, TableScan, TableWriter};
use std::ops::ControlFlow;

/// A table is closed when it has this many bytes.
const TABLE_BYTES: u64 = 1 << 30;

/// Entries between two looks at the watch.
const WATCH_ENTRIES: u64 = 512;

/// What to merge.
#[derive(Debug)]
pub(crate) struct Merge<'a> {
    pub(crate) id: u16,
    /// Indexes of the namespace's tables.
    pub(crate) tables: &'a [usize],
    /// Forget orders: nothing older can ever come.
    pub(crate) settle: bool,
    /// Leave deletes out: nothing is left that they could hide.
    pub(crate) drop_deletes: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) tables: Vec<TableMeta>,
    pub(crate) dropped: u64,
}

/// Tells the caller how far the work is.
pub(crate) struct Progress<'a> {
    watch: Watch<'a>,
    done: u64,
    total: u64,
    entries: u64,
}

impl<'a> Progress<'a> {
    pub(crate) fn new<'p>(watch: Watch<'a>, taken: &Taken, plans: impl Iterator<Item = (u16, &'p [usize])>) -> Self {
        let mut total = taken.log_bytes();
        for (id, tables) in plans {
            if let Some(namespace) = taken.state.namespace(id) {
                let picked = tables.iter().filter_map(|index| namespace.tables.get(*index));
                total += picked.map(|live| live.table.meta.key_bytes + live.table.meta.value_bytes).sum::<u64>();
            }
        }
        Self { watch, done: 0, total, entries: 0 }
    }

    fn step(&mut self, bytes: usize) -> Result<()> {
        self.done += bytes as u64;
        self.entries += 1;
        if self.entries % WATCH_ENTRIES == 1 {
            let outcome = (self.watch)(self.done.min(self.total), self.total);
            if outcome == ControlFlow::Break(()) {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }
}

/// Merges and writes; `name` gives the names of new tables.
pub(crate) fn merge(
    context: &Context,
    taken: &Taken,
    plan: &Merge<'_>,
    name: &mut dyn FnMut() -> TableName,
    progress: &mut Progress<'_>,
) -> Result<Merged> {
    let Some(namespace) = taken.state.namespace(plan.id) else { return Ok(Merged::default()) };
    let mut folded = taken.state.memory_sorted(namespace);
    folded.retain(|(_, found)| taken.is_folded_order(found.order));
    let mut times = Times { oldest_ms: namespace.oldest_ms, newest_ms: 0 };
    if !folded.is_empty() {
        times.newest_ms = namespace.newest_ms;
    }
    let mut sources = vec![Source::memory(folded, 0)];
    for live in plan.tables.iter().filter_map(|index| namespace.tables.get(*index)) {
        times.newest_ms = times.newest_ms.max(live.table.meta.newest_ms);
        sources.push(Source::Table(TableScan::new(live.table.clone(), context.blocks.clone(), 0)));
    }
    let mut entries = Entries::new(sources, namespace.hidden_below);
    let mut output = Output { context, name, writer: None, merged: Merged::default(), times };
    while entries.next() {
        let (hash, hidden) = (entries.hash(), entries.is_hidden());
        let order = if plan.settle { 0 } else { entries.order() };
        let kept = entries.with_value(|key, value| {
            progress.step(key.len() + value.map_or(0, <[u8]>::len))?;
            let needless = hidden || (value.is_none() && plan.drop_deletes);
            if !needless {
                output.add(hash, key, order, value)?;
            }
            Ok(!needless)
        })?;
        output.merged.dropped += entries.shadowed() + u64::from(!kept);
    }
    output.close()?;
    Ok(output.merged)
}

#[derive(Clone, Copy, Debug)]
struct Times {
    oldest_ms: u64,
    newest_ms: u64,
}

/// The tables being written.
struct Output<'a> {
    context: &'a Context,
    name: &'a mut dyn FnMut() -> TableName,
    writer: Option<(TableName, TableWriter)>,
    merged: Merged,
    times: Times,
}

impl Output<'_> {
    fn add(&mut self, hash: u64, key: &[u8], order: u64, value: Option<&[u8]>) -> Result<()> {
        if self.writer.as_ref().is_some_and(|(_, writer)| writer.bytes() >= TABLE_BYTES) {
            self.close()?;
        }
        let (name, writer) = match &mut self.writer {
            Some(open) => open,
            None => {
                let name = (self.name)();
                let file = self.context.vfs.create_new(&name.to_string());
                let file = file.map_err(|source| Error::io("create", &name.to_string(), source))?;
                self.writer.insert((name, TableWriter::new(name, file)))
            }
        };
        writer.add(hash, key, order, value).map_err(|source| Error::io("write", &name.to_string(), source))
    }

    fn close(&mut self) -> Result<()> {
        if let Some((name, writer)) = self.writer.take() {
            let meta = writer.finish(0, self.times.oldest_ms, self.times.newest_ms);
            self.merged.tables.push(meta.map_err(|source| Error::io("write", &name.to_string(), source))?);
        }
        Ok(())
    }
}
