//! Which entries of this state were read, and the known day of its entries.

use super::{LiveTable, Namespace, State};
use crate::format::file_names::TableName;
use crate::format::sequence::rank_of;
use crate::usage::{Day, Mark, day_of};
use std::collections::{HashMap, HashSet};

/// Times of commits: for each rank of writers, the first commit of each day, by sequence number.
#[derive(Clone, Debug, Default)]
pub(super) struct CommitTimes {
    writers: HashMap<u16, Vec<(u64, u64)>>,
}

impl CommitTimes {
    pub(super) fn record(&mut self, sequence: u64, time_ms: u64) {
        let times = self.writers.entry(rank_of(sequence)).or_default();
        if times.last().is_none_or(|(_, time)| day_of(*time) != day_of(time_ms)) {
            times.push((sequence, time_ms));
        }
    }

    fn of(&self, sequence: u64) -> u64 {
        let times = self.writers.get(&rank_of(sequence)).map_or(&[][..], Vec::as_slice);
        let after = times.partition_point(|(first, _)| *first <= sequence);
        after.checked_sub(1).and_then(|at| times.get(at)).map_or(0, |(_, time)| *time)
    }

    fn any_before(&self, today: Day) -> bool {
        self.writers.values().flatten().any(|(_, time)| day_of(*time) < today)
    }
}

impl State {
    /// The time of a commit in a log: that of the first commit of its writer on the same day.
    pub(crate) fn time_of_commit(&self, sequence: u64) -> u64 {
        self.commit_times.of(sequence)
    }

    /// The known day of an entry: that of its table's time, or else of its commit.
    pub(crate) fn known_day(&self, table_ms: Option<u64>, sequence: u64) -> Day {
        day_of(table_ms.unwrap_or_else(|| self.commit_times.of(sequence)))
    }

    /// Number of entries in a namespace, overwritten ones included.
    pub(crate) fn entries_of(&self, id: u32) -> u64 {
        let Some(namespace) = self.namespace(id) else { return 0 };
        let in_tables = namespace.tables.iter().map(|live| live.table.meta.entries).sum::<u64>();
        in_tables + self.memtable_entries(namespace).count() as u64
    }

    /// Upper halves of the hashes of all keys of a namespace, sorted; `None` = a table cannot be read.
    pub(crate) fn hashes_of(&self, id: u32) -> Option<Vec<u32>> {
        let namespace = self.namespace(id)?;
        let mut hashes: Vec<u32> = self.memtable_entries(namespace).map(|(hash, _)| hash).collect();
        let all = namespace.tables.iter().all(|live| live.table.hashes(|hash| hashes.push(hash)));
        hashes.sort_unstable();
        all.then_some(hashes)
    }

    /// Approximate number of reads of entries whose known day is before `today`.
    pub(crate) fn reads_before(&self, today: Day) -> u64 {
        let is_before = |live: &&LiveTable| live.table.known_day() < today;
        let in_tables = |namespace: &Namespace| {
            namespace.tables.iter().filter(is_before).map(|live| live.table.reads()).sum::<u64>()
        };
        let in_memtables = self.commit_times.any_before(today);
        let of = |namespace| {
            in_tables(namespace) + if in_memtables { namespace.memtable.reads() } else { 0 }
        };
        self.namespaces().map(of).sum()
    }

    /// The entries read in a namespace, each with the known day of its table or commit, if that day is before `end`.
    /// Tables in `except` are skipped.
    pub(crate) fn reads_of(&self, id: u32, end: Day, except: &HashSet<TableName>) -> Vec<Mark> {
        let Some(namespace) = self.namespace(id) else { return Vec::new() };
        let mut marks = Vec::new();
        for LiveTable { table, .. } in &namespace.tables {
            let day = table.known_day();
            if day < end && !except.contains(&table.meta.name) {
                table.hashes_read(|hash| marks.push(Mark::new(hash, day, true)));
            }
        }
        namespace.memtable.each_read(&self.segments, |hash, sequence| {
            let day = day_of(self.time_of_commit(sequence));
            if day < end {
                marks.push(Mark::new(hash, day, true));
            }
        });
        marks
    }
}
