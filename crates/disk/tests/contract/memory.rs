//! Pages of mapped files count as memory of the process, so a pass over a large table gives back those behind it.

use crate::truncated::{CHILD, run_alone};
use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_core::Options;
use varve_disk::SharedStore;

const ENTRIES: u64 = 16_384;
/// A value of this length has a block of its own.
const VALUE: usize = 4 << 10;
/// Entries between two looks at the memory.
const STRIDE: u64 = 512;

#[test]
fn merging_and_walking_a_table_of_64_mib_keeps_few_of_its_pages_in_memory() {
    if std::env::var_os(CHILD).is_none() {
        let name = "memory::merging_and_walking_a_table_of_64_mib_keeps_few_of_its_pages_in_memory";
        return assert!(run_alone(name).success());
    }
    let folder = tempfile::tempdir().unwrap();
    let shared = SharedStore::open(folder.path(), &Options::default()).unwrap();
    let mut handle = shared.store().handle();
    let id = handle.namespace("n", "1").unwrap();
    let mut random = 1_u64;
    for number in 0..ENTRIES {
        handle.put(id, &number.to_le_bytes(), &random_bytes(&mut random)).unwrap();
    }
    handle.begin_commit().unwrap().run(None, 1_000).unwrap();
    let most = AtomicU64::new(0);
    let look = || {
        most.fetch_max(mapped_bytes(), Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let before = mapped_bytes();
    handle.put(id, b"one more", b"").unwrap();
    handle.begin_commit().unwrap().run(None, 2_000).unwrap();
    shared.store().compact(true, &|_, _| look()).unwrap();
    let merging = most.swap(0, Ordering::Relaxed).saturating_sub(before);
    let mut count = 0;
    let mut walk = shared.store().walk(None, true).unwrap();
    while walk.go_on(&mut |_| {
        count += 1;
        if count % STRIDE == 0 { look() } else { ControlFlow::Continue(()) }
    }) {}
    let walking = most.into_inner().saturating_sub(before);
    assert_eq!(count, ENTRIES + 1);
    assert!(merging.max(walking) < 16 << 20, "{merging} while merging, {walking} while walking");
}

fn random_bytes(state: &mut u64) -> Vec<u8> {
    let next = |_| {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        state.to_le_bytes()
    };
    (0..VALUE / 8).flat_map(next).collect()
}

/// Bytes of files that are mapped and in memory.
fn mapped_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}
