//! What a process has open and has read, and need not open and read again when it loads a newer state. A compaction of
//! any process publishes a manifest, and most tables and logs stay the same.

use super::{LogView, Segments, State};
use crate::error::Result;
use crate::format::file_names::FileName;
use crate::log::Stop;
use crate::state::context::Context;
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Open tables, and logs as far as they were read.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The cache that the logs belong to.
    cache_id: u64,
    last_sequence: u64,
    pub(super) tables: Vec<Arc<Table>>,
    /// By writer.
    logs: BTreeMap<u32, LogView>,
    /// The commits of the logs.
    segments: Segments,
}

impl Known {
    /// The log that has this name by now, as far as it was read. After a failed sync, the disk may have less.
    pub(super) fn log(
        &self,
        context: &Context,
        cache_id: u64,
        name: FileName,
    ) -> Result<Option<LogView>> {
        let known = name.log_writer().and_then(|writer| self.logs.get(&writer));
        let is_sound =
            |known: &&LogView| cache_id == self.cache_id && !context.failed_syncs.has(known.writer);
        let Some(known) = known.filter(is_sound) else { return Ok(None) };
        let log = LogView { name, ..known.clone() };
        let checksum = context.checksum.of_file(cache_id, FileName::Log(log.writer));
        Ok(if log.is_in_place(&*context.vfs, &checksum)? { Some(log) } else { None })
    }
}

impl State {
    /// Everything that this process has open and has read.
    pub(crate) fn known(&self) -> Known {
        let newest = self.newest();
        Known { tables: self.tables(), segments: newest.segments.clone(), ..newest.known_logs() }
    }

    /// What `outline` needs of it.
    pub(crate) fn known_logs(&self) -> Known {
        let mut logs = BTreeMap::new();
        let is_sound =
            |view: &&LogView| matches!(view.stop, Stop::End | Stop::Sealed) && view.commits > 0;
        for view in self.logs.iter().filter(is_sound).filter(|_| !self.unrecoverable) {
            if logs.insert(view.writer, view.clone()).is_some() {
                // Only one log of a number can count.
                return Known::default();
            }
        }
        Known {
            cache_id: self.manifest.cache_id,
            last_sequence: self.last_sequence,
            logs,
            ..Known::default()
        }
    }

    /// Applies the commits of these logs that are known.
    pub(super) fn apply_known(
        &mut self,
        context: &Context,
        logs: &[LogView],
        known: &Known,
    ) -> Result<()> {
        let writers: BTreeSet<u32> =
            logs.iter().filter(|view| view.commits > 0).map(|view| view.writer).collect();
        if self.is_outline {
            let last = if writers.is_empty() { 0 } else { known.last_sequence };
            self.last_sequence = self.last_sequence.max(last);
            return Ok(());
        }
        self.segments = known.segments.of(&writers);
        for (writer, place, commit) in self.segments.clone().commits() {
            self.apply_at(context, writer, &commit, place)?;
        }
        Ok(())
    }

    /// The tables that are open.
    fn tables(&self) -> Vec<Arc<Table>> {
        let states = std::iter::once(self).chain(self.newer.as_deref());
        states.flat_map(Self::live_tables).map(|live| Arc::clone(&live.table)).collect()
    }
}
