//! `compaction/key_8/value_4/entries_N/commits_C/{partial,full}`: fills a directory in C commits, closes and reopens
//! it, and times only the compaction.

use super::{BLOCK_CACHE_BYTES, Trial, Unit, binary};
use crate::data::Data;
use crate::measure::timed;

pub(super) fn trials(quick: bool) -> Vec<Trial> {
    let all = [(4 << 20, 8), (4 << 20, 32), (16 << 20, 128)];
    let sizes = if quick { &all[..1] } else { &all[..] };
    let kinds = [true, false];
    let rounds = if quick { 3 } else { 5 };
    sizes.iter().flat_map(|size| kinds.map(|full| trial(size.0, size.1, full, rounds))).collect()
}

fn trial(count: usize, commits: usize, full: bool, rounds: usize) -> Trial {
    let kind = if full { "full" } else { "partial" };
    Trial {
        id: format!("compaction/key_8/value_4/entries_{}/commits_{commits}/{kind}", binary(count)),
        unit: Unit::Ms,
        rounds,
        run: Box::new(move |subject, folder| {
            let data = Data::new(count, 8, 4);
            let mut store = subject.open_quiet(folder, BLOCK_CACHE_BYTES);
            for part in data.entries().parts(commits) {
                store.commit(part, false);
            }
            store.close();
            let mut store = subject.open_quiet(folder, BLOCK_CACHE_BYTES);
            let (sample, ()) = timed(|| store.compact(full));
            store.close();
            sample
        }),
    }
}
