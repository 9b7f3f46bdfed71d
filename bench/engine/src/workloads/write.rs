//! `write/key_K/value_V/entries_N`: opens an empty directory, puts all entries in one batch, commits it durably, and
//! closes.

use super::{BLOCK_CACHE_BYTES, Trial, Unit};
use crate::data::Data;
use crate::measure::timed;

/// Key bytes, value bytes, number of entries, and the name of that number.
const SIZES: [(usize, usize, usize, &str); 4] = [
    (8, 4, 873_813, "853Ki"),
    (4, 32 << 10, 31, "31"),
    (4, 32 << 10, 319, "319"),
    (4, 32 << 10, 3_199, "3.12Ki"),
];

pub(super) fn trials(quick: bool) -> Vec<Trial> {
    SIZES.into_iter().map(|size| trial(size, if quick { 5 } else { 11 })).collect()
}

fn trial(
    (key_bytes, value_bytes, count, name): (usize, usize, usize, &str),
    rounds: usize,
) -> Trial {
    let value_name =
        if value_bytes == 32 << 10 { "32Ki".to_owned() } else { value_bytes.to_string() };
    Trial {
        id: format!("write/key_{key_bytes}/value_{value_name}/entries_{name}"),
        unit: Unit::Ms,
        rounds,
        run: Box::new(move |subject, folder| {
            let data = Data::new(count, key_bytes, value_bytes);
            let work = || {
                let mut store = subject.open(folder, BLOCK_CACHE_BYTES);
                store.commit(data.entries(), true);
                store.close();
            };
            timed(work).0
        }),
    }
}
