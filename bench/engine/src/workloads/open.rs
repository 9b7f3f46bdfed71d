//! `open/entries_1Mi/commits_{1,128}/{warm,cold}`: opens a directory and looks up one key. Cold: the system has dropped
//! the files from its cache.
#![expect(unsafe_code, reason = "posix_fadvise is a system call without a safe form")]

use super::{BLOCK_CACHE_BYTES, Trial, Unit};
use crate::data::Data;
use crate::measure::timed;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;

pub(super) fn trials(quick: bool) -> Vec<Trial> {
    let cases = [(1, false), (1, true), (128, false), (128, true)];
    cases.map(|(commits, cold)| trial(commits, cold, if quick { 7 } else { 21 })).into()
}

fn trial(commits: usize, cold: bool, rounds: usize) -> Trial {
    let kind = if cold { "cold" } else { "warm" };
    Trial {
        id: format!("open/entries_1Mi/commits_{commits}/{kind}"),
        unit: Unit::Us,
        rounds,
        run: Box::new(move |subject, folder| {
            let data = Data::new(1 << 20, 8, 4);
            let mut store = subject.open(folder, BLOCK_CACHE_BYTES);
            for part in data.entries().parts(commits) {
                store.commit(part, false);
            }
            store.close();
            if cold {
                drop_from_cache(folder);
            }
            let (sample, mut store) = timed(|| subject.open(folder, BLOCK_CACHE_BYTES));
            assert_eq!(
                store.lookup(data.entries().keys, 8, &[12_345]),
                1,
                "the committed entry is found"
            );
            store.close();
            sample
        }),
    }
}

fn drop_from_cache(folder: &Path) {
    for entry in fs::read_dir(folder).expect("lists").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            drop_from_cache(&entry);
        } else if let Ok(file) = File::open(&entry) {
            file.sync_all().expect("syncs");
            // SAFETY: the descriptor is open; the call only gives advice.
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        }
    }
}
