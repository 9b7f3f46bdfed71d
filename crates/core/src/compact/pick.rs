//! Which tables to merge. Pure: numbers in, numbers out.
//!
//! - During heavy writing, large tables cost more to copy than to read (`state/table_index.rs`). They are merged once
//!   [`RUN`] of similar size exist, so that each byte is copied once for every [`RUN`]-fold of the data.
//! - If a quarter of all bytes is overwritten or deleted, everything is merged: the reclaimed space pays for the
//!   copying.

const RATIO: u64 = 3;
const WEIGHT_MIN: u64 = 64 << 10;

/// A table of at least this size is large, and so is a checkpoint.
const LARGE_BYTES: u64 = 24 << 20;
const LARGE_CHECKPOINT_BYTES: u64 = 16 << 20;

/// Number of large tables that are merged together, and how much larger than the smallest of them each may be.
const RUN: usize = 12;
const RUN_RATIO: u64 = 2;

/// Everything is merged if more than one byte in this many is garbage.
const GARBAGE_PART: u64 = 4;

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
}

/// Indexes of the tables to merge with `checkpoint_bytes` from logs.
pub(crate) fn pick(tables: &[Candidate], checkpoint_bytes: u64, full: bool, alone: bool) -> Vec<usize> {
    let everything = || (0..tables.len()).collect::<Vec<_>>();
    if tables.iter().any(|table| table.is_damaged || table.has_evictions) {
        return everything();
    }
    if full {
        let one_settled = matches!(tables, [table] if table.is_settled);
        let nothing_to_gain = checkpoint_bytes == 0 && (one_settled || (!alone && tables.len() <= 1));
        return if nothing_to_gain { Vec::new() } else { everything() };
    }
    let sum = |bytes: fn(&Candidate) -> u64| tables.iter().map(bytes).sum::<u64>();
    if sum(|table| table.garbage_bytes) > sum(|table| table.bytes) / GARBAGE_PART {
        return everything();
    }
    let mut by_size = everything();
    by_size.sort_by_key(|index| tables.get(*index).map_or(0, |table| table.bytes));
    let mut picked = small(tables, &by_size, checkpoint_bytes);
    picked.extend(large_run(tables, &by_size, checkpoint_bytes));
    let one_table_alone = checkpoint_bytes == 0 && picked.len() == 1 && !tables.iter().any(|table| table.is_hidden);
    if one_table_alone { Vec::new() } else { picked }
}

/// Small tables, each not much larger than all before it, and tables with hidden entries.
fn small(tables: &[Candidate], by_size: &[usize], checkpoint_bytes: u64) -> Vec<usize> {
    let mut gathered = if checkpoint_bytes > 0 { checkpoint_bytes.max(WEIGHT_MIN) } else { 0 };
    let mut picked = Vec::new();
    for index in by_size {
        let Some(table) = tables.get(*index) else { continue };
        let weight = table.bytes.max(WEIGHT_MIN);
        let waits = checkpoint_bytes >= LARGE_CHECKPOINT_BYTES && table.bytes >= LARGE_BYTES;
        let too_large = waits || (gathered > 0 && weight > gathered * RATIO);
        if too_large && !table.is_hidden {
            break;
        }
        gathered += weight;
        picked.push(*index);
    }
    picked
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
        .filter(|index| tables.get(*index).is_some_and(|table| table.bytes >= LARGE_BYTES && !table.is_hidden))
        .collect();
    (0..large.len())
        .map(|start| {
            let run = large.get(start..).unwrap_or_default();
            let most = run.first().map_or(0, bytes).saturating_mul(RUN_RATIO);
            run.iter().copied().take_while(|index| bytes(index) <= most).collect::<Vec<_>>()
        })
        .find(|run| run.len() + usize::from(run.first().map_or(0, bytes) <= checkpoint_bytes * RUN_RATIO) >= RUN)
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
        assert_eq!(pick(&mib(&[1_000, 10, 12]), 8 << 20, false, true), [1, 2]);
        assert_eq!(pick(&mib(&[1_000]), 8 << 20, false, true), Vec::<usize>::new());
        assert_eq!(pick(&mib(&[20]), 8 << 20, false, true), [0]);
        assert_eq!(pick(&mib(&[20]), 0, false, true), Vec::<usize>::new());
    }

    #[test]
    fn large_tables_are_copied_only_a_few_times() {
        let (mut sizes, mut copied): (Vec<u64>, u64) = (Vec::new(), 0);
        for _ in 0..100 {
            let checkpointed = 32 << 20;
            let picked = pick(&tables(&sizes), checkpointed, false, true);
            let merged = checkpointed + picked.iter().map(|index| sizes[*index]).sum::<u64>();
            copied += merged - checkpointed;
            let kept = sizes.iter().enumerate().filter(|(index, _)| !picked.contains(index));
            sizes = kept.map(|(_, size)| *size).collect();
            sizes.push(merged);
            assert!(sizes.len() <= 24, "{sizes:?}");
        }
        assert!(copied <= 2 * (3_200 << 20), "{copied}");
    }

    #[test]
    fn a_table_with_much_garbage_is_merged() {
        let garbage = |bytes| [Candidate { bytes: 100 << 20, garbage_bytes: bytes, ..Candidate::default() }; 1];
        assert_eq!(pick(&garbage(20 << 20), 1 << 20, false, true), Vec::<usize>::new());
        assert_eq!(pick(&garbage(30 << 20), 1 << 20, false, true), [0]);
    }

    /// Regression: a thousand processes with one tiny commit each left a table for every third of them. The
    /// checkpointed bytes were small beside a table's own directory and footer.
    #[test]
    fn ten_thousand_checkpoints_of_any_size_leave_few_tables() {
        for checkpointed in [20, 100, 5_000, 1 << 20] {
            let mut sizes: Vec<u64> = Vec::new();
            for _ in 0..10_000 {
                let picked = pick(&tables(&sizes), checkpointed, false, true);
                let merged = checkpointed + 200 + picked.iter().map(|index| sizes[*index]).sum::<u64>();
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
        assert_eq!(pick(&[settled], 0, true, true), Vec::<usize>::new());
        assert_eq!(pick(&[settled], 5, true, true), [0]);
        assert_eq!(pick(&[settled, settled], 0, true, true), [0, 1]);
    }

    #[test]
    fn a_damaged_table_is_merged_with_all_others() {
        let mut both = tables(&[1_000, 1]);
        both[1].is_damaged = true;
        assert_eq!(pick(&both, 0, false, false), [0, 1]);
    }
}
