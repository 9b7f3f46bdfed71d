//! What was read of this state, and since when its entries are known.

use super::{LiveTable, Namespace, State};
use crate::format::sequence::rank_of;
use crate::usage::{Day, Mark, day_of};
use std::collections::{HashMap, HashSet};

/// Times of commits: of each rank of writers the first of each day, by order.
#[derive(Clone, Debug, Default)]
pub(super) struct CommitTimes {
    writers: HashMap<u16, Vec<(u64, u64)>>,
}

impl CommitTimes {
    pub(super) fn note(&mut self, order: u64, time_ms: u64) {
        let times = self.writers.entry(rank_of(order)).or_default();
        if times.last().is_none_or(|(_, time)| day_of(*time) != day_of(time_ms)) {
            times.push((order, time_ms));
        }
    }

    fn of(&self, order: u64) -> u64 {
        let times = self.writers.get(&rank_of(order)).map_or(&[][..], Vec::as_slice);
        let after = times.partition_point(|(first, _)| *first <= order);
        after.checked_sub(1).and_then(|at| times.get(at)).map_or(0, |(_, time)| *time)
    }

    fn any_before(&self, today: Day) -> bool {
        self.writers.values().flatten().any(|(_, time)| day_of(*time) < today)
    }
}

impl State {
    /// The time of a commit of a log: the first of its writer on that day.
    pub(crate) fn time_of_commit(&self, order: u64) -> u64 {
        self.commit_times.of(order)
    }

    /// The day since which an entry is known, by the time of its table or else its commit.
    pub(crate) fn known_day(&self, table_ms: Option<u64>, order: u64) -> Day {
        day_of(table_ms.unwrap_or_else(|| self.commit_times.of(order)))
    }

    /// Entries of a namespace, those included that were overwritten.
    pub(crate) fn entries_of(&self, id: u32) -> u64 {
        let Some(namespace) = self.namespace(id) else { return 0 };
        let in_tables = namespace.tables.iter().map(|live| live.table.meta.entries).sum::<u64>();
        in_tables + self.memory_entries(namespace).count() as u64
    }

    /// Upper halves of the hashes of all keys of a namespace, in order; `None` = not all of them can be read.
    pub(crate) fn hashes_of(&self, id: u32) -> Option<Vec<u32>> {
        let namespace = self.namespace(id)?;
        let mut hashes: Vec<u32> = self.memory_entries(namespace).map(|(hash, _)| hash).collect();
        let all = namespace.tables.iter().all(|live| live.table.hashes(|hash| hashes.push(hash)));
        hashes.sort_unstable();
        all.then_some(hashes)
    }

    /// How many entries were read that are known since a day before `today`, about.
    pub(crate) fn reads_before(&self, today: Day) -> u64 {
        let is_before = |live: &&LiveTable| live.table.known_day() < today;
        let in_tables = |namespace: &Namespace| {
            namespace.tables.iter().filter(is_before).map(|live| live.table.reads()).sum::<u64>()
        };
        let in_memory = self.commit_times.any_before(today);
        let of = |namespace| in_tables(namespace) + if in_memory { namespace.memory.reads() } else { 0 };
        self.namespaces().map(of).sum()
    }

    /// What was read in a namespace, with the known day of each table or commit, without the tables of `except`. Of
    /// known days from `end` on nothing.
    pub(crate) fn reads_of(&self, id: u32, end: Day, except: &HashSet<String>) -> Vec<Mark> {
        let Some(namespace) = self.namespace(id) else { return Vec::new() };
        let mut marks = Vec::new();
        for LiveTable { table, .. } in &namespace.tables {
            let day = table.known_day();
            if day < end && !except.contains(&table.meta.name.to_string()) {
                table.hashes_read(|hash| marks.push(Mark::new(hash, day, true)));
            }
        }
        namespace.memory.each_read(&self.segments, |hash, order| {
            let day = day_of(self.time_of_commit(order));
            if day < end {
                marks.push(Mark::new(hash, day, true));
            }
        });
        marks
    }
}
