//! Caches over their size limit: what is evicted shows no older value of a layer.

use super::{base, change, options, over, seal, values};
use crate::history::{compact, open_with};
use varve_core::Options;
use varve_core::testing::sim::SimVfs;

/// A cache was over its cap and evicted a key that a layer has with an older value.
#[test]
fn an_evicted_entry_does_not_show_the_older_one_of_a_layer() {
    let (vfs, layer) = (SimVfs::new(), base());
    let capped = |layers: &[&SimVfs]| {
        open_with(&vfs, Options { bytes_max: 1 << 16, ..options(layers) }).expect("open")
    };
    let noise = |seed: u8| {
        (0..1_500usize)
            .map(|at| (at * 31 % 251) as u8 ^ seed.wrapping_mul(at as u8))
            .collect::<Vec<_>>()
    };
    change(&mut capped(&[&layer]), "1", &[("a", Some(b"newer a"))]);
    for round in 0..120u8 {
        let key = format!("key {round}");
        change(&mut capped(&[&layer]), "1", &[(&key, Some(&noise(round)))]);
        if round % 10 == 0 {
            let layers = [&layer];
            compact(&capped(&layers[..usize::from(round % 20 == 0)]), false).expect("compact");
        }
    }
    let mut handle = capped(&[&layer]);
    let id = handle.namespace("n", "1").expect("namespace");
    let found = handle.get(id, b"a", <[u8]>::to_vec).expect("get");
    assert!(found.is_none() || found.as_deref() == Some(b"newer a"), "an older value");
    let entries = values(&mut handle, "1").len();
    assert!(entries < 110, "{entries}: nothing was evicted");
}

/// Regression: the deletes of evicted entries took more than the size limit. So whole tables were evicted, and the keys
/// that they had were those of the layer again. Found by interleavings over layers.
#[test]
fn tables_that_are_evicted_as_a_whole_show_no_older_value_of_a_layer() {
    let keys: Vec<String> = (0..400).map(|key| format!("key {key:04}")).collect();
    let all = |value: &'static [u8]| {
        keys.iter().map(|key| (key.as_str(), Some(value))).collect::<Vec<_>>()
    };
    let mut handle = over(&SimVfs::new(), &[]);
    change(&mut handle, "1", &all(b"older"));
    let layer = seal(&handle, &[]);
    for compactor in [&[&layer][..], &[]] {
        let vfs = SimVfs::new();
        let capped = |layers: &[&SimVfs]| {
            open_with(&vfs, Options { bytes_max: 2_000, ..options(layers) }).expect("open")
        };
        change(&mut capped(&[&layer]), "1", &all(b"newer"));
        compact(&capped(compactor), true).expect("compact");
        let shown = values(&mut over(&vfs, &[&layer]), "1");
        assert!(
            shown.is_empty(),
            "{} of {} keys, {} layers",
            shown.len(),
            keys.len(),
            compactor.len()
        );
        change(&mut over(&vfs, &[&layer]), "1", &[("key 0000", Some(b"again"))]);
        compact(&over(&vfs, &[&layer]), true).expect("compact");
        assert_eq!(
            values(&mut over(&vfs, &[&layer]), "1").len(),
            1,
            "only what was put after that"
        );
        change(&mut over(&vfs, &[&layer]), "2", &[("key 0000", Some(b"second"))]);
        assert_eq!(
            values(&mut over(&vfs, &[&layer]), "1").len(),
            keys.len(),
            "a new version hides nothing of another"
        );
    }
}
