//! Layers: what is sealed is read below a cache, hidden by it entry by entry, and never written.

mod damage;
mod delta;
mod eviction;

use crate::history::{Expected, commit, compact, dump, open, open_with};
use crate::hooked::hooked;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use varve_core::testing::sim::{Model, SimVfs};
use varve_core::vfs::Vfs;
use varve_core::{Durability, Handle, LayerSource, Options, SealReport, TopOrder};

/// The smallest value that becomes a blob in these caches.
const BLOB_BYTES_MIN: usize = 3_000;

fn options(layers: &[&SimVfs]) -> Options {
    let source = |(index, vfs): (usize, &&SimVfs)| LayerSource {
        name: format!("/layer/{index}").into(),
        vfs: Arc::new((*vfs).clone()),
    };
    let layers = layers.iter().enumerate().map(source).collect();
    Options {
        block_cache_bytes: 1 << 20,
        blob_bytes_min: BLOB_BYTES_MIN,
        layers,
        ..Options::default()
    }
}

/// Opens a cache over layers, the newest first.
fn over(vfs: &SimVfs, layers: &[&SimVfs]) -> Handle {
    open_with(vfs, options(layers)).expect("open")
}

fn seal_to(handle: &Handle, target: &SimVfs, since: &[&SimVfs]) -> varve_core::Result<SealReport> {
    let target: Arc<dyn Vfs> = Arc::new(target.clone());
    handle.store().seal(&target, &options(since).layers, &|_, _| ControlFlow::Continue(()))
}

fn seal(handle: &Handle, since: &[&SimVfs]) -> SimVfs {
    let target = SimVfs::new();
    seal_to(handle, &target, since).expect("seal");
    target
}

fn change(handle: &mut Handle, version: &str, entries: &[(&str, Option<&[u8]>)]) {
    let id = handle.namespace("n", version).expect("namespace");
    for (key, value) in entries {
        match value {
            Some(value) => handle.put(id, key.as_bytes(), value).expect("put"),
            None => handle.delete(id, key.as_bytes()).expect("delete"),
        }
    }
    commit(handle, Durability::Durable).expect("commit");
}

fn values(handle: &mut Handle, version: &str) -> Expected {
    let id = handle.namespace("n", version).expect("namespace");
    let listed = dump(handle, id);
    for (key, value) in &listed {
        assert_eq!(
            handle.get(id, key, <[u8]>::to_vec).expect("get").as_ref(),
            Some(value),
            "a listing equals lookups"
        );
        assert!(handle.has(id, key).expect("has"));
    }
    listed
}

fn expected(entries: &[(&str, &[u8])]) -> Expected {
    entries.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.to_vec())).collect()
}

/// A layer with keys a, b and c; the last value is a blob.
fn base() -> SimVfs {
    let mut handle = over(&SimVfs::new(), &[]);
    change(
        &mut handle,
        "1",
        &[("a", Some(b"base a")), ("b", Some(b"base b")), ("c", Some(&[7; 5_000]))],
    );
    seal(&handle, &[])
}

/// Regression: a process marked the cache before its first log only, so one that was removed meanwhile had no mark. A
/// compaction without the layers dropped the delete.
#[test]
fn a_delete_over_layers_stays_although_the_cache_was_removed_before_it() {
    let (vfs, layer) = (SimVfs::new(), base());
    let mut handle = over(&vfs, &[&layer]);
    change(&mut handle, "1", &[("b", None)]);
    vfs.names().iter().for_each(|name| vfs.erase(name));
    change(&mut handle, "1", &[("a", None)]);
    handle.store().close().expect("close");
    compact(&over(&vfs, &[]), true).expect("compact");
    let found: Vec<Vec<u8>> = values(&mut over(&vfs, &[&layer]), "1").into_keys().collect();
    assert_eq!(found, [b"b", b"c"]);
}

/// Regression: a compactor without layers looked for the mark of a cache over layers before it read the logs. A process
/// with layers that began in between lost its delete.
#[test]
fn a_delete_over_a_layer_stays_whenever_a_process_without_layers_compacts() {
    let (mut at, mut calls) = (0, 1);
    while at < calls {
        let (vfs, layer, count) = (SimVfs::new(), base(), Arc::new(AtomicU32::new(0)));
        change(&mut over(&vfs, &[]), "1", &[("own", Some(b"own"))]);
        let (directory, below, counted) = (vfs.clone(), layer.clone(), Arc::clone(&count));
        let compactor = hooked(
            &vfs,
            Box::new(move |_, _| {
                if counted.fetch_add(1, Ordering::Relaxed) == at {
                    let seeded = Options { random: 7, ..options(&[&below]) };
                    let mut other = open_with(&directory, seeded).expect("open");
                    change(&mut other, "1", &[("a", None)]);
                    other.store().close().expect("close");
                }
            }),
        );
        compact(&compactor, true).expect("compact");
        calls = count.load(Ordering::Relaxed);
        compact(&over(&vfs, &[]), true).expect("compact");
        let found: Vec<Vec<u8>> = values(&mut over(&vfs, &[&layer]), "1").into_keys().collect();
        assert_eq!(found, [&b"b"[..], b"c", b"own"], "a was deleted before call {at} of {calls}");
        at += 1;
    }
    assert!(calls > 10, "{calls} calls");
}

#[test]
fn a_cache_over_a_layer_reads_its_entries_and_writes_nothing() {
    let (vfs, layer) = (SimVfs::new(), base().read_only());
    let operations = layer.operation_count();
    let mut handle = over(&vfs, &[&layer]);
    let all = expected(&[("a", b"base a"), ("b", b"base b"), ("c", &[7; 5_000])]);
    assert_eq!(values(&mut handle, "1"), all);
    let id = handle.namespace("n", "1").expect("namespace");
    let mut found = Vec::new();
    let keys: [&[u8]; 3] = [b"c", b"absent", b"a"];
    handle
        .get_many(id, keys.into_iter(), |value| found.push(value.map(<[u8]>::len)))
        .expect("get_many");
    assert_eq!(found, [Some(5_000), None, Some(6)]);
    let stats = handle.store().stats().expect("stats");
    assert_eq!(
        (stats.namespaces.len(), stats.namespaces[0].entries, stats.layers[0].entries),
        (1, 3, 3)
    );
    assert_eq!(handle.store().top(TopOrder::Largest, None, 1).expect("top")[0].key, b"c");
    assert_eq!(handle.store().version_of("n").expect("version").as_deref(), Some("1"));
    assert!(handle.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify").sound);
    handle.store().refresh().expect("refresh");
    assert_eq!(values(&mut handle, "1"), all, "a refresh keeps the layers");
    handle.store().flush().expect("flush");
    handle.store().close().expect("close");
    assert_eq!((vfs.operation_count(), layer.operation_count()), (0, operations));
}

#[test]
fn each_layer_counts_the_lookups_that_it_answers() {
    let (vfs, older) = (SimVfs::new(), base());
    let mut writer = over(&SimVfs::new(), &[&older]);
    change(&mut writer, "1", &[("b", Some(b"newer b")), ("c", None)]);
    let newer = seal(&writer, &[&older]);
    change(&mut over(&vfs, &[&newer, &older]), "1", &[("own", Some(b"of the cache"))]);
    let mut handle = over(&vfs, &[&newer, &older]);
    let id = handle.namespace("n", "1").expect("namespace");
    for (key, found) in
        [("a", true), ("a", true), ("b", true), ("c", false), ("absent", false), ("own", true)]
    {
        assert_eq!(handle.get(id, key.as_bytes(), |_| ()).expect("get").is_some(), found, "{key}");
    }
    let hits = |handle: &Handle| {
        handle.store().status().layers.iter().map(|layer| layer.hits).collect::<Vec<_>>()
    };
    assert_eq!(hits(&handle), [1, 2]);
    change(&mut handle, "1", &[("more", Some(b"more"))]);
    compact(&handle, true).expect("compact");
    assert_eq!(hits(&handle), [1, 2], "neither a commit nor a compaction counts, or begins again");
}

#[test]
fn a_put_and_a_delete_hide_what_a_layer_has_and_stay_after_every_compaction() {
    let (vfs, layer) = (SimVfs::new(), base());
    change(
        &mut over(&vfs, &[&layer]),
        "1",
        &[("a", Some(b"new")), ("b", None), ("c", Some(b"short"))],
    );
    change(&mut over(&vfs, &[&layer]), "1", &[("c", None)]);
    let left = expected(&[("a", b"new")]);
    for full in [false, true, true] {
        assert_eq!(values(&mut over(&vfs, &[&layer]), "1"), left);
        compact(&over(&vfs, &[&layer]), full).expect("compact");
    }
    // The key has to stay hidden after a compaction that does not know the layers.
    compact(&open(&vfs).expect("open"), true).expect("compact");
    change(&mut open(&vfs).expect("open"), "1", &[("d", Some(b"more"))]);
    compact(&open(&vfs).expect("open"), true).expect("compact");
    let left = expected(&[("a", b"new"), ("d", b"more")]);
    assert_eq!(values(&mut over(&vfs, &[&layer]), "1"), left);
    assert_eq!(
        values(&mut open(&vfs).expect("open"), "1"),
        left,
        "without the layer, nothing of it is visible"
    );
}

#[test]
fn a_delete_that_no_layer_needs_is_dropped() {
    let (vfs, layer) = (SimVfs::new(), base());
    change(&mut over(&vfs, &[&layer]), "1", &[("x", Some(b"1")), ("y", Some(b"2"))]);
    change(&mut over(&vfs, &[&layer]), "1", &[("x", None), ("b", None)]);
    compact(&over(&vfs, &[&layer]), true).expect("compact");
    let report = seal_to(&over(&vfs, &[]), &SimVfs::new(), &[&layer]).expect("seal");
    assert_eq!(
        (report.entries, report.deletes),
        (1, 3),
        "y is new; a, b and c are not in the cache alone"
    );
    let other = base();
    let over_other = values(&mut over(&vfs, &[&other]), "1");
    assert_eq!(over_other.len(), 3, "a, c and y: the delete of b stayed");
}

/// A newer version of a namespace hides the older one of a layer, and an older layer that has the version counts again
/// in no cache.
#[test]
fn another_version_hides_what_older_layers_have() {
    let old = base();
    let mut handle = over(&SimVfs::new(), &[&old]);
    change(&mut handle, "2", &[("a", Some(b"second"))]);
    let delta = seal(&handle, &[&old]);
    let mut both = over(&SimVfs::new(), &[&delta, &old]);
    assert_eq!(values(&mut both, "2"), expected(&[("a", b"second")]));
    assert_eq!(values(&mut both, "1"), Expected::new());
    assert_eq!(both.store().version_of("n").expect("version").as_deref(), Some("2"));
    // A cache that has another version than the layers still reads their version.
    let vfs = SimVfs::new();
    change(&mut over(&vfs, &[]), "0", &[("a", Some(b"before"))]);
    let mut handle = over(&vfs, &[&delta, &old]);
    assert_eq!(values(&mut handle, "2"), expected(&[("a", b"second")]));
    change(&mut handle, "2", &[("z", Some(b"own"))]);
    assert_eq!(values(&mut handle, "2"), expected(&[("a", b"second"), ("z", b"own")]));
}

#[test]
fn equal_entries_give_equal_layers_whatever_their_history() {
    let bytes = |vfs: &SimVfs| {
        let mut names = vfs.list().expect("list");
        names.sort();
        names.into_iter().map(|name| (vfs.contents(&name), name)).collect::<Vec<_>>()
    };
    let vfs = SimVfs::new();
    let mut handle = over(&vfs, &[]);
    for round in 0..5u8 {
        change(
            &mut handle,
            "1",
            &[("c", Some(&[round; 4_000])), ("a", Some(&[round])), ("gone", Some(b"x"))],
        );
        compact(&handle, round % 2 == 0).expect("compact");
    }
    change(&mut handle, "1", &[("gone", None), ("c", Some(&[7; 5_000])), ("b", Some(b"base b"))]);
    change(&mut handle, "1", &[("a", Some(b"base a"))]);
    assert_eq!(bytes(&seal(&handle, &[])), bytes(&base()));
    assert_eq!(
        bytes(&seal(&over(&SimVfs::new(), &[&base()]), &[])),
        bytes(&base()),
        "a seal of a layer is that layer"
    );
}

#[test]
fn a_crash_while_sealing_leaves_no_half_layer_and_the_next_seal_works() {
    let cache = SimVfs::new();
    change(
        &mut over(&cache, &[]),
        "1",
        &[("a", Some(b"base a")), ("b", Some(b"base b")), ("c", Some(&[7; 5_000]))],
    );
    let handle = over(&cache, &[]);
    let target = SimVfs::new();
    let report = seal_to(&handle, &target, &[]).expect("seal");
    let all = expected(&[("a", b"base a"), ("b", b"base b"), ("c", &[7; 5_000])]);
    let mut whole = 0;
    for model in [Model::Posix, Model::Journaled] {
        for state in
            (0..=target.operation_count()).flat_map(|end| target.crash_states(model, end, 1, 60))
        {
            let mut reader = over(&SimVfs::new(), &[&state.vfs]);
            let found = values(&mut reader, "1");
            if found == all {
                whole += 1;
                continue;
            }
            let damage = reader.store().status().damage;
            assert_eq!((found.len(), damage.len()), (0, 1), "{}: {damage:?}", state.description());
            assert_eq!(damage[0].what, "missing layer", "{}", state.description());
            assert_eq!(
                seal_to(&handle, &state.vfs, &[]).expect("seal again"),
                report,
                "{}",
                state.description()
            );
            assert_eq!(values(&mut over(&SimVfs::new(), &[&state.vfs]), "1"), all);
        }
    }
    assert!(whole > 0);
    for end in [target.operation_count()] {
        for state in target.crash_states(Model::Posix, end, 1, 60) {
            assert_eq!(
                values(&mut over(&SimVfs::new(), &[&state.vfs]), "1"),
                all,
                "a finished seal is durable"
            );
        }
    }
}

#[test]
fn a_directory_with_a_cache_or_a_layer_is_refused_as_a_target() {
    let (vfs, layer) = (SimVfs::new(), base());
    let mut handle = over(&vfs, &[]);
    change(&mut handle, "1", &[("a", Some(b"1"))]);
    for target in [&vfs, &layer] {
        let before = target.operation_count();
        assert_eq!(seal_to(&handle, target, &[]).expect_err("refused").code(), "INVALID_ARGUMENT");
        assert_eq!(target.operation_count(), before);
    }
    let error = seal_to(&handle, &SimVfs::new(), &[&vfs]).expect_err("the base is not a layer");
    assert_eq!(error.code(), "INVALID_ARGUMENT");
}

#[test]
fn a_layer_that_is_opened_as_a_cache_is_read_only() {
    let layer = base();
    let operations = layer.operation_count();
    let mut handle = over(&layer, &[]);
    assert_eq!(values(&mut handle, "1").len(), 3);
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, b"a", b"changed").expect("put");
    assert_eq!(commit(&mut handle, Durability::Relaxed).expect_err("sealed").code(), "READ_ONLY");
    assert_eq!(compact(&handle, true).expect_err("sealed").code(), "READ_ONLY");
    handle.store().set_now(1_700_000_000_000);
    handle.store().close().expect("close");
    assert_eq!(layer.operation_count(), operations);
}
