//! `export/json/entries_1M`: writes all entries of one table to a file as a JSON array. Keys are paths of 50
//! characters, values 128 bytes of text. The file goes to the system's cache and is not synced. Every subject writes
//! the same bytes.

use super::{BLOCK_CACHE_BYTES, Trial, Unit};
use crate::data::Data;
use crate::measure::{peak_bytes, reset_peak, timed};
use std::fs::File;

const KEY_BYTES: usize = 50;
const VALUE_BYTES: usize = 128;

pub(super) fn trials(quick: bool) -> Vec<Trial> {
    let (count, name, rounds) = if quick { (100_000, "100k", 3) } else { (1_000_000, "1M", 7) };
    vec![trial(count, name, rounds)]
}

fn trial(count: usize, name: &str, rounds: usize) -> Trial {
    Trial {
        id: format!("export/json/entries_{name}"),
        unit: Unit::Ms,
        rounds,
        run: Box::new(move |subject, folder| {
            let mut store = subject.open(&folder.join("cache"), BLOCK_CACHE_BYTES);
            store.commit(Data::text(count, KEY_BYTES, VALUE_BYTES).entries(), false);
            store.compact(true);
            let mut target = File::create(folder.join("export.json")).expect("a file");
            reset_peak();
            let before = peak_bytes();
            let (mut sample, ()) = timed(|| store.export(&mut target));
            sample.extra.push(("memory", "MB", (peak_bytes() - before) / 1e6));
            let bytes = target.metadata().expect("its length").len();
            assert!(
                bytes as usize > count * (KEY_BYTES + VALUE_BYTES),
                "the file holds all entries"
            );
            store.close();
            sample
        }),
    }
}
