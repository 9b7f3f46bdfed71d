//! Damage in a layer: every lookup returns the correct value or a miss, with one report that names the layer.

use super::{base, change, expected, options, over, seal, values};
use crate::history::{Expected, commit, compact, open_with};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::sync::Arc;
use varve_core::testing::sim::{Call, Effect, Fault, SimVfs};
use varve_core::vfs::Vfs;
use varve_core::{BlobRef, BlobWriter, Durability, Handle, LayerSource, MacKey, Options};

/// Checks that each entry has its value or is missing, and returns the number of values.
fn check(handle: &mut Handle, all: &Expected, context: &str) -> usize {
    let found = values(handle, "1");
    for (key, value) in &found {
        assert_eq!(all.get(key), Some(value), "{context}");
    }
    found.len()
}

#[test]
fn a_flipped_bit_anywhere_in_a_layer_is_a_miss_and_one_report() {
    let layer = base();
    let all = expected(&[("a", b"base a"), ("b", b"base b"), ("c", &[7; 5_000])]);
    let mut files = layer.list().expect("list");
    files.sort();
    assert_eq!(files, ["1-1.table", "manifest-1"]);
    for file in files {
        for at in 0..layer.contents(&file).len() as u64 {
            let damaged = layer.fork();
            damaged.flip(&file, at, (at % 8) as u32);
            let context = format!("{file}, byte {at}");
            let mut handle = over(&SimVfs::new(), &[&damaged]);
            let found = check(&mut handle, &all, &context);
            let report = handle.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify");
            // The start of a table only shows who wrote it; lookups do not read it.
            let is_start = file == "1-1.table" && at < 8;
            assert!(!report.sound && (found < 3 || is_start), "{context}: {found} values");
            assert!(
                report.damage[0].file.starts_with("/layer/0"),
                "{context}: {:?}",
                report.damage
            );
            let places = handle.store().status().damage;
            check(&mut handle, &all, &context);
            assert_eq!(handle.store().status().damage, places, "{context}: reported twice");
        }
    }
}

#[test]
fn damage_in_a_newer_layer_does_not_show_the_value_of_an_older_one() {
    let old = base();
    let mut handle = over(&SimVfs::new(), &[&old]);
    change(
        &mut handle,
        "1",
        &[("a", Some(b"new a, which is longer than any value inside a key block"))],
    );
    let delta = seal(&handle, &[&old]);
    for at in 0..delta.contents("1-1.table").len() as u64 {
        let damaged = delta.fork();
        damaged.flip("1-1.table", at, 0);
        let found = values(&mut over(&SimVfs::new(), &[&damaged, &old]), "1");
        assert_ne!(found.get(&b"a"[..]).map(Vec::as_slice), Some(&b"base a"[..]), "byte {at}");
    }
}

/// A block of the cache itself was damaged. The compaction that drops it has to hide what layers have in its place.
#[test]
fn damage_in_the_cache_does_not_show_the_value_of_a_layer_before_or_after_the_repair() {
    let layer = base();
    let vfs = SimVfs::new();
    change(&mut over(&vfs, &[&layer]), "1", &[("a", Some(b"new")), ("b", Some(b"newer"))]);
    compact(&over(&vfs, &[&layer]), true).expect("compact");
    let name = vfs
        .list()
        .expect("list")
        .into_iter()
        .find(|name| name.ends_with(".table"))
        .expect("a table");
    for known in [false, true] {
        let vfs = vfs.fork();
        vfs.flip(&name, 30, 0);
        let mut handle = over(&vfs, &[&layer]);
        if known {
            assert_eq!(
                values(&mut handle, "1").len(),
                0,
                "a hole in the cache hides all levels below"
            );
        }
        change(&mut handle, "1", &[("z", Some(b"kept"))]);
        compact(&handle, true).expect("compact");
        drop(handle);
        let left = values(&mut over(&vfs, &[&layer]), "1");
        assert_eq!(left, expected(&[("z", b"kept")]), "known before the compaction: {known}");
    }
}

/// Regression: a compactor that does not know all layers dropped a damaged block, and the layer's values came back.
#[test]
fn damage_in_the_cache_does_not_show_the_value_of_a_layer_that_the_compactor_lacks() {
    let (layer, missing) = (base(), SimVfs::new());
    let sound = SimVfs::new();
    change(&mut over(&sound, &[&layer]), "1", &[("a", Some(b"new")), ("b", Some(b"newer"))]);
    compact(&over(&sound, &[&layer]), true).expect("compact");
    let name = sound
        .list()
        .expect("list")
        .into_iter()
        .find(|name| name.ends_with(".table"))
        .expect("a table");
    for compactor in [&[][..], &[&missing]] {
        let vfs = sound.fork();
        vfs.flip(&name, 30, 0);
        change(&mut over(&vfs, &[&layer]), "1", &[("z", Some(b"kept"))]);
        compact(&over(&vfs, compactor), true).expect("compact");
        assert_eq!(
            values(&mut over(&vfs, &[&layer]), "1"),
            expected(&[("z", b"kept")]),
            "{} layers",
            compactor.len()
        );
    }
}

/// Regression: a process whose stored blob was collected put an entry that names it, because a layer has it, too. A
/// process without that layer reported damage. Found by interleavings over layers.
#[test]
fn an_entry_names_no_blob_that_only_a_layer_has() {
    let put = |handle: &mut Handle, blobs: &[BlobRef]| {
        let id = handle.namespace("n", "1").expect("namespace");
        handle.put_with_blobs(id, b"output", b"value", blobs).expect("put");
        commit(handle, Durability::Relaxed).expect("commit");
    };
    let store = |handle: &Handle| {
        let intake = BlobWriter::new(handle.store()).expect("pin");
        (intake.store(&[7; 5_000]).expect("store"), intake.into_pin())
    };
    let mut handle = over(&SimVfs::new(), &[]);
    let (blob, _pin) = store(&handle);
    put(&mut handle, &[blob]);
    let layer = seal(&handle, &[]);
    let vfs = SimVfs::new();
    let mut handle = over(&vfs, &[&layer]);
    let (_, _pin) = store(&handle);
    // The writer leaves the log that pins the blob.
    vfs.fail(Fault {
        call: Some(Call::Stat),
        after: 0,
        forever: false,
        effect: Effect::Error(ErrorKind::Other),
    });
    BlobWriter::new(handle.store()).expect_err("the log cannot be checked");
    compact(&over(&vfs, &[]), true).expect("compact");
    put(&mut handle, &[blob]);
    for layers in [&[][..], &[&layer]] {
        let mut reader = over(&vfs, layers);
        assert_eq!(values(&mut reader, "1"), Expected::new(), "{} layers", layers.len());
        assert!(reader.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify").sound);
        assert_eq!(reader.store().read_blob(&blob).expect("read").is_some(), !layers.is_empty());
    }
}

#[test]
fn a_missing_layer_is_a_miss_and_one_report() {
    let vfs = SimVfs::new();
    let mut handle = over(&vfs, &[&SimVfs::new(), &base()]);
    assert_eq!(values(&mut handle, "1").len(), 3, "the other layer counts");
    let status = handle.store().status();
    assert_eq!(
        status.layers.iter().map(|layer| layer.problem).collect::<Vec<_>>(),
        [Some("missing layer"), None]
    );
    assert_eq!((status.damage.len(), status.damage[0].file.as_str()), (1, "/layer/0"));
    let cache = SimVfs::new();
    change(&mut over(&cache, &[]), "1", &[("a", Some(b"1"))]);
    let mut handle = over(&vfs, &[&cache]);
    assert_eq!(values(&mut handle, "1").len(), 0, "a cache that can change is not a layer");
    assert_eq!(handle.store().status().damage[0].what, "directory that is not a sealed layer");
}

#[test]
fn a_layer_of_a_cache_with_a_secret_counts_only_with_that_secret() {
    let key = |number: u8| Some(MacKey::new(&[number; 32]).expect("long enough"));
    let with = |vfs: &SimVfs, layers: &[&SimVfs], number: u8| {
        open_with(vfs, Options { mac_key: key(number), ..options(layers) }).expect("open")
    };
    let mut handle = with(&SimVfs::new(), &[], 1);
    change(&mut handle, "1", &[("a", Some(b"secret"))]);
    let layer = seal(&handle, &[]);
    assert_eq!(values(&mut with(&SimVfs::new(), &[&layer], 1), "1").len(), 1);
    for mut other in [with(&SimVfs::new(), &[&layer], 2), over(&SimVfs::new(), &[&layer])] {
        assert_eq!(values(&mut other, "1").len(), 0);
        assert_eq!(other.store().status().damage.len(), 1);
    }
    let source = LayerSource { name: "/open".into(), vfs: Arc::new(base()) };
    let options = Options { mac_key: key(1), layers: vec![source], ..Options::default() };
    assert_eq!(
        values(&mut open_with(&SimVfs::new(), options).expect("open"), "1").len(),
        0,
        "forged without the secret"
    );
}
