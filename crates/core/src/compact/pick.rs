//! Which tables to merge. Pure: numbers in, numbers out.
//!
//! Tables are taken from the smallest up, as long as the next one is at most [`RATIO`] times what was gathered before
//! it. So each table left is more than three times as large as all smaller ones together: their number grows with the
//! logarithm of the data, and what they hold twice is at most a third plus a ninth plus ... of it. A table is a file
//! and a probe for each lookup, however small; so none weighs less than [`WEIGHT_MIN`].

const RATIO: u64 = 3;
const WEIGHT_MIN: u64 = 64 << 10;

/// A table as far as the decision needs it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Candidate {
    pub(crate) bytes: u64,
    pub(crate) is_damaged: bool,
    /// Has entries that nobody sees.
    pub(crate) is_hidden: bool,
    /// Holds nothing that another merge could drop.
    pub(crate) is_settled: bool,
}

/// Indexes of the tables to merge with `folded_bytes` from logs.
pub(crate) fn pick(tables: &[Candidate], folded_bytes: u64, full: bool, alone: bool) -> Vec<usize> {
    let everything = || (0..tables.len()).collect::<Vec<_>>();
    if tables.iter().any(|table| table.is_damaged) {
        return everything();
    }
    if full {
        let one_settled = matches!(tables, [table] if table.is_settled);
        let nothing_to_gain = folded_bytes == 0 && (one_settled || (!alone && tables.len() <= 1));
        return if nothing_to_gain { Vec::new() } else { everything() };
    }
    let mut by_size = everything();
    by_size.sort_by_key(|index| tables.get(*index).map_or(0, |table| table.bytes));
    let mut gathered = if folded_bytes > 0 { folded_bytes.max(WEIGHT_MIN) } else { 0 };
    let mut picked = Vec::new();
    for index in by_size {
        let Some(table) = tables.get(index) else { continue };
        let weight = table.bytes.max(WEIGHT_MIN);
        if gathered > 0 && weight > gathered * RATIO && !table.is_hidden {
            break;
        }
        gathered += weight;
        picked.push(index);
    }
    let one_table_alone = folded_bytes == 0 && picked.len() == 1 && !tables.iter().any(|table| table.is_hidden);
    if one_table_alone { Vec::new() } else { picked }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(sizes: &[u64]) -> Vec<Candidate> {
        sizes.iter().map(|bytes| Candidate { bytes: *bytes, ..Candidate::default() }).collect()
    }

    #[test]
    fn small_tables_go_together_and_a_large_one_is_left() {
        let mib = |sizes: &[u64]| tables(&sizes.iter().map(|size| size << 20).collect::<Vec<_>>());
        assert_eq!(pick(&mib(&[1_000, 10, 12]), 8 << 20, false, true), [1, 2]);
        assert_eq!(pick(&mib(&[1_000]), 8 << 20, false, true), Vec::<usize>::new());
        assert_eq!(pick(&mib(&[20]), 8 << 20, false, true), [0]);
        assert_eq!(pick(&mib(&[20]), 0, false, true), Vec::<usize>::new());
    }

    /// A thousand processes with one tiny commit each once left a table for every third of them: next to a table's own
    /// directory and footer, what was folded looked like nothing.
    #[test]
    fn any_number_of_folds_leaves_few_tables_and_little_twice() {
        for folded in [20, 100, 5_000, 1 << 20] {
            let mut sizes: Vec<u64> = Vec::new();
            for _ in 0..10_000 {
                let picked = pick(&tables(&sizes), folded, false, true);
                let merged = folded + 200 + picked.iter().map(|index| sizes[*index]).sum::<u64>();
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
    fn damage_is_healed_by_merging_everything() {
        let mut both = tables(&[1_000, 1]);
        both[1].is_damaged = true;
        assert_eq!(pick(&both, 0, false, false), [0, 1]);
    }
}
