//! Which tables to merge. Pure: numbers in, numbers out.
//!
//! - During heavy writing, large tables cost more to copy than to read (`state/table_index.rs`). They are merged once
//!   [`RUN`] of similar size exist, so that each byte is copied once for every [`RUN`]-fold of the data.
//! - If a quarter of all bytes is overwritten or deleted, everything is merged: the reclaimed space pays for the
//!   copying.

use crate::format::order;

/// A small table is merged if it is at most this many times as large as all smaller ones.
const RATIO: u64 = 2;
/// The least size that counts: a table has a directory and a footer.
const WEIGHT_MIN: u64 = 64 << 10;

/// A table of at least this size is large, and so is a checkpoint.
const LARGE_BYTES: u64 = 24 << 20;
const LARGE_CHECKPOINT_BYTES: u64 = 16 << 20;

/// Number of large tables that are merged together, and how much larger than the smallest of them each may be.
const RUN: usize = 12;
const RUN_RATIO: u64 = 2;

/// Everything is merged if more than one byte in this many is garbage.
const GARBAGE_PART: u64 = 4;

/// How much a compaction merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything, into one table for each namespace.
    Full,
    /// What pays.
    Due,
    /// The same for a process that closes. Once another process was faster, it goes on with `Logs`: builds that end at
    /// the same moment would merge the same tables, and each other's, one after the other.
    Closing,
    /// Only what must be merged.
    Logs,
}

impl Extent {
    /// The extent of the next try after another process was faster.
    pub(crate) fn after_loss(self) -> Self {
        if self == Self::Closing { Self::Logs } else { self }
    }
}

/// The properties of a table that decide.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Candidate {
    pub(crate) bytes: u64,
    /// Bytes of entries that newer ones overwrite, estimated from a sample.
    pub(crate) garbage_bytes: u64,
    pub(crate) is_damaged: bool,
    /// Its namespace has entries to evict.
    pub(crate) has_evictions: bool,
    /// It has hidden entries.
    pub(crate) is_hidden: bool,
    /// It has nothing that another merge could drop.
    pub(crate) is_settled: bool,
    /// The compaction that wrote it; `None` = a commit wrote it. A merge of many GiB writes several tables, whose keys
    /// do not overlap.
    pub(crate) merge: Option<u32>,
}

/// Indexes of the tables to merge with `checkpoint_bytes` from logs.
pub(crate) fn pick(
    tables: &[Candidate],
    checkpoint_bytes: u64,
    extent: Extent,
    alone: bool,
) -> Vec<usize> {
    let everything = || (0..tables.len()).collect::<Vec<_>>();
    if tables.iter().any(|table| table.is_damaged || table.has_evictions) {
        return everything();
    }
    if extent == Extent::Logs {
        return Vec::new();
    }
    if extent == Extent::Full {
        let one_settled = matches!(tables, [table] if table.is_settled);
        let nothing_to_gain =
            checkpoint_bytes == 0 && (one_settled || (!alone && tables.len() <= 1));
        return if nothing_to_gain { Vec::new() } else { everything() };
    }
    let sum = |bytes: fn(&Candidate) -> u64| tables.iter().map(bytes).sum::<u64>();
    if sum(|table| table.garbage_bytes) > sum(|table| table.bytes) / GARBAGE_PART {
        return everything();
    }
    let by_size = by_size(tables);
    let mut picked = small(tables, &by_size, checkpoint_bytes);
    picked.extend(large_run(tables, &by_size, checkpoint_bytes));
    let one_merge = picked.iter().filter_map(|index| tables.get(*index)).is_sorted_by(of_one_merge);
    let one_alone = checkpoint_bytes == 0 && (picked.len() == 1 || one_merge);
    if one_alone && !tables.iter().any(|table| table.is_hidden) { Vec::new() } else { picked }
}

/// Whether the tables are parts of one merge, which count as one table.
fn of_one_merge(left: &&Candidate, right: &&Candidate) -> bool {
    left.merge.is_some() && left.merge == right.merge
}

/// Bytes of the table and of the other parts of its merge.
fn merged_bytes(tables: &[Candidate], table: &Candidate) -> u64 {
    let parts = tables.iter().filter(|other| of_one_merge(other, &table));
    if table.merge.is_none() { table.bytes } else { parts.map(|part| part.bytes).sum() }
}

/// Indexes by size. The parts of one merge stay together, by the size of all.
fn by_size(tables: &[Candidate]) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..tables.len()).collect();
    let keys: Vec<_> =
        tables.iter().map(|table| (merged_bytes(tables, table), table.merge)).collect();
    order::sort_by(&mut indexes, |left, right| keys.get(*left).cmp(&keys.get(*right)));
    indexes
}

/// The smaller tables up to the last one that is not much larger than all before it, and tables with hidden entries.
/// The parts of one merge count as one.
fn small(tables: &[Candidate], by_size: &[usize], checkpoint_bytes: u64) -> Vec<usize> {
    let mut gathered = if checkpoint_bytes > 0 { checkpoint_bytes.max(WEIGHT_MIN) } else { 0 };
    let (mut seen, mut count) = (0, 0);
    let parts = |left: &usize, right: &usize| {
        tables
            .get(*left)
            .zip(tables.get(*right))
            .is_some_and(|(left, right)| of_one_merge(&left, &right))
    };
    for run in by_size.chunk_by(parts) {
        let all = || run.iter().filter_map(|index| tables.get(*index));
        let is_hidden = all().any(|table| table.is_hidden);
        let bytes = all().map(|table| table.bytes.max(WEIGHT_MIN)).sum::<u64>();
        if checkpoint_bytes >= LARGE_CHECKPOINT_BYTES && bytes >= LARGE_BYTES && !is_hidden {
            break;
        }
        seen += run.len();
        if gathered == 0 || bytes <= gathered * RATIO || is_hidden {
            count = seen;
        }
        gathered += bytes;
    }
    by_size.get(..count).unwrap_or_default().to_vec()
}

/// The first large tables of similar size that, with the checkpoint, are enough for a run.
fn large_run(tables: &[Candidate], by_size: &[usize], checkpoint_bytes: u64) -> Vec<usize> {
    if checkpoint_bytes < LARGE_CHECKPOINT_BYTES {
        return Vec::new();
    }
    let bytes = |index: &usize| tables.get(*index).map_or(0, |table| table.bytes);
    let large: Vec<usize> = by_size
        .iter()
        .copied()
        .filter(|index| {
            tables.get(*index).is_some_and(|table| {
                table.bytes >= LARGE_BYTES
                    && !table.is_hidden
                    && merged_bytes(tables, table) == table.bytes
            })
        })
        .collect();
    (0..large.len())
        .map(|start| {
            let run = large.get(start..).unwrap_or_default();
            let most = run.first().map_or(0, bytes).saturating_mul(RUN_RATIO);
            run.iter().copied().take_while(|index| bytes(index) <= most).collect::<Vec<_>>()
        })
        .find(|run| {
            run.len() + usize::from(run.first().map_or(0, bytes) <= checkpoint_bytes * RUN_RATIO)
                >= RUN
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(sizes: &[u64]) -> Vec<Candidate> {
        sizes.iter().map(|bytes| Candidate { bytes: *bytes, ..Candidate::default() }).collect()
    }

    #[test]
    fn small_tables_are_merged_and_a_large_one_is_left() {
        let mib = |sizes: &[u64]| tables(&sizes.iter().map(|size| size << 20).collect::<Vec<_>>());
        assert_eq!(pick(&mib(&[1_000, 10, 12]), 8 << 20, Extent::Due, true), [1, 2]);
        assert_eq!(pick(&mib(&[1_000]), 8 << 20, Extent::Due, true), Vec::<usize>::new());
        assert_eq!(pick(&mib(&[15]), 8 << 20, Extent::Due, true), [0]);
        assert_eq!(pick(&mib(&[20]), 0, Extent::Due, true), Vec::<usize>::new());
    }

    #[test]
    fn large_tables_are_copied_only_a_few_times() {
        let (mut sizes, mut copied): (Vec<u64>, u64) = (Vec::new(), 0);
        for _ in 0..100 {
            let checkpointed = 32 << 20;
            let picked = pick(&tables(&sizes), checkpointed, Extent::Due, true);
            let merged = checkpointed + picked.iter().map(|index| sizes[*index]).sum::<u64>();
            copied += merged - checkpointed;
            let kept = sizes.iter().enumerate().filter(|(index, _)| !picked.contains(index));
            sizes = kept.map(|(_, size)| *size).collect();
            sizes.push(merged);
            assert!(sizes.len() <= 24, "{sizes:?}");
        }
        assert!(copied <= 2 * (3_200 << 20), "{copied}");
    }

    /// Regression: the table of a build's last, small commit was too small for the next one, so that no table was ever
    /// merged again.
    #[test]
    fn one_tiny_table_does_not_keep_larger_ones_from_being_merged() {
        let mib = |sizes: &[u64]| tables(&sizes.iter().map(|size| size << 20).collect::<Vec<_>>());
        assert_eq!(pick(&mib(&[6, 1, 6, 6]), 0, Extent::Due, true), [1, 0, 2, 3]);
        assert_eq!(pick(&mib(&[1, 4]), 0, Extent::Due, true), Vec::<usize>::new());
        assert_eq!(pick(&mib(&[1_000, 1, 6, 6]), 0, Extent::Due, true), [1, 2, 3]);
    }

    /// Regression: the tables of 1 GiB of one merge looked similar, and were merged again with every build.
    #[test]
    fn small_builds_on_a_cache_of_many_gigabytes_copy_a_few_times_what_they_write() {
        let part = Candidate { bytes: 1 << 30, merge: Some(7), ..Candidate::default() };
        assert_eq!(pick(&[part; 3], 0, Extent::Due, true), Vec::<usize>::new());
        assert_eq!(pick(&[part; 20], 64 << 20, Extent::Due, true), Vec::<usize>::new());
        let (mut all, mut copied) = (vec![part; 6], 0);
        for _ in 0..10 {
            all.extend(tables(&[12 << 20, 48 << 20]));
            let picked = pick(&all, 0, Extent::Due, true);
            let merged = picked.iter().map(|index| all[*index].bytes).sum::<u64>();
            copied += merged;
            let kept =
                (0..all.len()).filter(|index| !picked.contains(index)).map(|index| all[index]);
            all =
                kept.chain(tables(&[merged]).into_iter().filter(|table| table.bytes > 0)).collect();
            assert!(all.len() <= 6 + 4, "{all:?}");
        }
        assert!(copied <= 4 * 10 * (60 << 20), "{copied}");
    }

    #[test]
    fn a_table_with_much_garbage_is_merged() {
        let garbage = |bytes| {
            [Candidate { bytes: 100 << 20, garbage_bytes: bytes, ..Candidate::default() }; 1]
        };
        assert_eq!(pick(&garbage(20 << 20), 1 << 20, Extent::Due, true), Vec::<usize>::new());
        assert_eq!(pick(&garbage(30 << 20), 1 << 20, Extent::Due, true), [0]);
    }

    /// Regression: a thousand processes with one tiny commit each left a table for every third of them. The
    /// checkpointed bytes were small beside a table's own directory and footer.
    #[test]
    fn ten_thousand_checkpoints_of_any_size_leave_few_tables() {
        for checkpointed in [20, 100, 5_000, 1 << 20] {
            let mut sizes: Vec<u64> = Vec::new();
            for _ in 0..10_000 {
                let picked = pick(&tables(&sizes), checkpointed, Extent::Due, true);
                let merged =
                    checkpointed + 200 + picked.iter().map(|index| sizes[*index]).sum::<u64>();
                let kept = sizes.iter().enumerate().filter(|(index, _)| !picked.contains(index));
                sizes = kept.map(|(_, size)| *size).collect();
                sizes.push(merged);
                assert!(sizes.len() <= 8, "{sizes:?}");
            }
        }
    }

    #[test]
    fn a_full_compaction_of_a_settled_table_does_nothing() {
        let settled = Candidate { bytes: 10, is_settled: true, ..Candidate::default() };
        assert_eq!(pick(&[settled], 0, Extent::Full, true), Vec::<usize>::new());
        assert_eq!(pick(&[settled], 5, Extent::Full, true), [0]);
        assert_eq!(pick(&[settled, settled], 0, Extent::Full, true), [0, 1]);
    }

    #[test]
    fn a_damaged_table_is_merged_with_all_others() {
        let mut both = tables(&[1_000, 1]);
        both[1].is_damaged = true;
        assert_eq!(pick(&both, 0, Extent::Due, false), [0, 1]);
    }
}
