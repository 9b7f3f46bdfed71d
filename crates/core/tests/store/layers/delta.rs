//! Deltas: a layer since another one has what differs, and over its base it reads like the cache it was sealed from.

use super::{base, change, expected, over, seal, seal_to, values};
use crate::history::{compact, random_key, random_value};
use varve_core::testing::sim::SimVfs;

#[test]
fn a_delta_over_its_base_equals_the_cache_and_hides_what_was_deleted() {
    let old = base();
    let vfs = SimVfs::new();
    let mut handle = over(&vfs, &[&old]);
    change(&mut handle, "1", &[("a", Some(b"new")), ("b", None), ("d", Some(&[9; 4_000]))]);
    let target = SimVfs::new();
    let report = seal_to(&handle, &target, &[&old]).expect("seal");
    assert_eq!((report.entries, report.deletes, report.blobs), (2, 1, 1));
    let all = expected(&[("a", b"new"), ("c", &[7; 5_000]), ("d", &[9; 4_000])]);
    assert_eq!(values(&mut over(&SimVfs::new(), &[&target, &old]), "1"), all);
    assert_eq!(values(&mut over(&SimVfs::new(), &[&old]), "1").len(), 3, "the base is unchanged");
}

#[test]
fn a_delta_of_nothing_new_is_empty() {
    let old = base();
    let report = seal_to(&over(&SimVfs::new(), &[&old]), &SimVfs::new(), &[&old]).expect("seal");
    assert_eq!((report.entries, report.deletes, report.bytes), (0, 0, 0));
}

/// Random histories: sealed in steps, each step a delta over all before it.
#[test]
fn a_chain_of_deltas_reads_like_the_cache_that_wrote_them() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let vfs = SimVfs::new();
        let mut layers: Vec<SimVfs> = Vec::new();
        for step in 0..4 {
            // Alternately a cache of its own, and one over the layers sealed so far.
            let own = SimVfs::new();
            let refs: Vec<&SimVfs> = layers.iter().collect();
            let (mut handle, is_own) = match step % 2 {
                0 => (over(&vfs, &[]), true),
                _ => (over(&own, &refs), false),
            };
            let id = handle.namespace("n", "1").expect("namespace");
            for _ in 0..random.usize(1..30) {
                let key = random_key(&mut random);
                match random.u32(..4) {
                    0 => handle.delete(id, &key).expect("delete"),
                    _ => handle.put(id, &key, &random_value(&mut random)).expect("put"),
                }
            }
            crate::history::commit(&mut handle, varve_core::Durability::Relaxed).expect("commit");
            if random.bool() {
                compact(&handle, random.bool()).expect("compact");
            }
            let content = values(&mut handle, "1");
            let delta = seal(&handle, &refs);
            layers.insert(0, delta);
            let refs: Vec<&SimVfs> = layers.iter().collect();
            let read = values(&mut over(&SimVfs::new(), &refs), "1");
            assert!(read == content, "seed {seed}, step {step}, own {is_own}");
        }
    }
}
