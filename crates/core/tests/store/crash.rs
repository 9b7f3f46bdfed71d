//! Crashes that once went wrong. All crash states of many histories: `npm run test:power-loss`.

use crate::history::{Expected, commit, compact, dump, open, open_filing};
use std::io::ErrorKind;
use varve_core::testing::sim::{Call, Effect, Fault, LostPages, Model, SimVfs};
use varve_core::vfs::Vfs;
use varve_core::{Durability, Handle};

fn put(handle: &mut Handle, key: &[u8], value: &[u8], durability: Durability) {
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, key, value).expect("put");
    commit(handle, durability).expect("commit");
}

/// While damage is set aside the power fails: of what was written only the temporary manifest arrived. Its writer's
/// number is free again, and the next one to set the damage aside could not create a file of that name.
#[test]
fn a_temporary_manifest_that_outlived_its_writer_is_in_nobodys_way() {
    let vfs = SimVfs::new();
    put(&mut open(&vfs).expect("open"), b"key", b"value", Durability::Durable);
    vfs.flip("0.log", 80, 0);
    vfs.create_new("manifest.1.tmp").expect("create");
    put(&mut open(&vfs).expect("open"), b"key", b"new", Durability::Durable);
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    assert_eq!(dump(&handle, id), Expected::from([(b"key".to_vec(), b"new".to_vec())]));
}

/// A commit that is not durable yet was of a new version and hid a value that is a file. Another process removed the
/// file; then the power failed, the old version was back, and the file was not.
#[test]
fn a_file_stays_until_the_version_that_hides_it_is_durable() {
    let vfs = SimVfs::new();
    let old = [7; 200];
    let mut writer = open_filing(&vfs, 64).expect("open");
    put(&mut writer, b"key", &old, Durability::Durable);
    let newer = writer.namespace("n", "2").expect("namespace");
    writer.put(newer, b"key", b"new").expect("put");
    commit(&mut writer, Durability::Relaxed).expect("commit");
    compact(&open_filing(&vfs, 64).expect("open"), true).expect("compact by another process");
    for state in vfs.crash_states(Model::Posix, vfs.operation_count(), 1, 9) {
        let mut handle = open(&state.vfs).expect("open");
        let version = handle.store().version_of("n").expect("version").expect("one");
        let id = handle.namespace("n", &version).expect("namespace");
        let found = handle.get(id, b"key", <[u8]>::to_vec).expect("get");
        let expected = if version == "1" { old.to_vec() } else { b"new".to_vec() };
        assert_eq!(found, Some(expected), "{}", state.description());
    }
}

/// A sync failed and the system forgot what it should have written. The next one succeeded, without those bytes, and
/// was believed: `flush` said that all was well, and after a loss of power the commit was gone.
#[test]
fn what_a_failed_sync_has_dropped_is_not_taken_for_durable_by_the_next_one() {
    let next: [fn(&mut Handle); 3] = [
        |handle| handle.store().flush().expect("flush"),
        |handle| put(handle, b"next", b"value", Durability::Durable),
        |handle| handle.store().close().expect("close"),
    ];
    for next in next {
        let vfs = SimVfs::new();
        let mut handle = open(&vfs).expect("open");
        put(&mut handle, b"key", b"value", Durability::Relaxed);
        let effect = Effect::Lose { pages: LostPages::Cached, error: ErrorKind::Other };
        vfs.fail(Fault { call: Some(Call::Sync), after: 0, forever: false, effect });
        handle.store().flush().expect_err("the sync fails");
        next(&mut handle);
        for state in vfs.crash_states(Model::Posix, vfs.operation_count(), 1, 9) {
            let mut handle = open(&state.vfs).expect("open");
            let id = handle.namespace("n", "1").expect("namespace");
            assert!(handle.get(id, b"key", |_| ()).expect("get").is_some(), "{}", state.description());
        }
    }
}
