//! The simulation passes the contract, and its crashes, faults and damage are those it promises.

use super::*;
use crate::testing::contract::contract;
use std::collections::BTreeSet;
use std::io::ErrorKind;

fn create(vfs: &SimVfs, name: &str, bytes: &[u8]) -> Arc<dyn File> {
    let file = vfs.create_new(name).unwrap();
    file.append(&[bytes]).unwrap();
    file
}

/// Every content of a file that a crash at the end of the history could leave; `None` = it is missing.
fn outcomes(vfs: &SimVfs, name: &str) -> BTreeSet<Option<Vec<u8>>> {
    outcomes_of(vfs, Model::Posix, name)
}

fn outcomes_of(vfs: &SimVfs, model: Model, name: &str) -> BTreeSet<Option<Vec<u8>>> {
    let states = vfs.crash_states(model, vfs.operation_count(), 7, 20);
    states.map(|state| state.vfs.exists(name).unwrap().then(|| state.vfs.contents(name))).collect()
}

fn fault(call: Call, effect: Effect) -> Fault {
    Fault { call: Some(call), after: 0, forever: false, effect }
}

#[test]
fn the_simulated_file_system_keeps_the_contract() {
    contract(&|| Arc::new(SimVfs::new()));
    contract(&|| Arc::new(SimVfs::new().without_links()));
    contract(&|| Arc::new(SimVfs::new().without_locks()));
    contract(&|| Arc::new(SimVfs::new().lockless()));
    contract(&|| Arc::new(SimVfs::new().padded()));
    contract(&|| Arc::new(SimVfs::new().windows()));
}

#[test]
fn zeros_written_ahead_are_overwritten_in_place() {
    let vfs = SimVfs::new().padded();
    let file = create(&vfs, "a", b"");
    assert!(file.try_lock().unwrap());
    file.append_durable(&[b"one"]).unwrap();
    vfs.sync_folder().unwrap();
    file.append_durable(&[&[2; 600]]).unwrap();
    let image = |parts: &[(u8, usize)]| {
        parts.iter().flat_map(|&(byte, count)| vec![byte; count]).collect::<Vec<u8>>()
    };
    let with_one = |bytes: Vec<u8>| [b"one".to_vec(), bytes].concat();
    assert_eq!(vfs.contents("a"), with_one(image(&[(2, 600), (0, 4096 - 603)])));
    let torn: BTreeSet<Vec<u8>> = vfs
        .crash_states(Model::Posix, vfs.operation_count() - 1, 7, 20)
        .filter(|state| state.prefix < vfs.operation_count())
        .map(|state| state.vfs.contents("a"))
        .collect();
    assert!(torn.contains(&with_one(image(&[(0, 4096 - 3)]))), "nothing of it");
    assert!(torn.contains(&with_one(image(&[(2, 509), (0, 4096 - 512)]))), "the first sector");
    assert!(
        torn.contains(&with_one(image(&[(0, 509), (2, 91), (0, 4096 - 603)]))),
        "all but the first sector"
    );
    assert!(torn.iter().all(|bytes| bytes.len() == 4096), "sectors are whole");
    drop(file);
    assert_eq!(vfs.length("a"), 603);
}

#[test]
fn on_windows_a_removed_name_goes_with_the_last_handle() {
    let vfs = SimVfs::new().windows();
    create(&vfs, "a", b"one");
    let file = vfs.open("a", Access::Stream).unwrap();
    vfs.remove("a").unwrap();
    let refused =
        [vfs.open("a", Access::Stream).map(drop), vfs.remove("a"), vfs.create_new("a").map(drop)];
    let kinds = refused.map(|result| result.unwrap_err().kind());
    assert_eq!(kinds, [ErrorKind::NotFound, ErrorKind::NotFound, ErrorKind::AlreadyExists]);
    assert_eq!((&*file.read(0, 3).unwrap(), vfs.names()), (&b"one"[..], vec!["a".to_owned()]));
    drop(file);
    assert_eq!(vfs.names(), [""; 0]);
    create(&vfs, "b", b"two");
    vfs.watch(Some("b"));
    assert_eq!(vfs.rename("b", "c").unwrap_err().kind(), ErrorKind::ResourceBusy);
    vfs.watch(None);
    vfs.rename("b", "c").unwrap();
}

#[test]
fn synced_bytes_survive_every_crash() {
    let vfs = SimVfs::new();
    create(&vfs, "a", b"one").sync().unwrap();
    vfs.sync_folder().unwrap();
    assert_eq!(outcomes(&vfs, "a"), [Some(b"one".to_vec())].into());
}

#[test]
fn a_write_that_syncs_itself_leaves_earlier_bytes_unsynced() {
    let vfs = SimVfs::new();
    create(&vfs, "a", b"one").sync().unwrap();
    vfs.sync_folder().unwrap();
    vfs.write_at(0, 3, b"two".to_vec());
    vfs.write_at(0, 6, b"three".to_vec());
    vfs.sync_newest(0);
    for model in Model::ALL {
        let found = outcomes_of(&vfs, model, "a");
        assert!(found.contains(&Some(b"one\0\0\0three".to_vec())), "{model:?}: {found:?}");
        assert!(
            found.iter().flatten().all(|bytes| bytes.ends_with(b"three")),
            "{model:?}: {found:?}"
        );
    }
    vfs.sync_file(0);
    assert_eq!(outcomes(&vfs, "a"), [Some(b"onetwothree".to_vec())].into());
}

#[test]
fn unsynced_bytes_may_vanish_tear_or_become_zeros() {
    let vfs = SimVfs::new();
    create(&vfs, "a", b"abc");
    let found = outcomes(&vfs, "a");
    for bytes in [None, Some(&b""[..]), Some(b"a"), Some(b"ab"), Some(b"abc"), Some(b"\0\0\0")] {
        assert!(found.contains(&bytes.map(<[u8]>::to_vec)), "{bytes:?} in {found:?}");
    }
    assert_eq!(found.len(), 6);
}

#[test]
fn a_lost_append_before_a_kept_one_becomes_zeros() {
    let vfs = SimVfs::new();
    let file = create(&vfs, "a", b"one");
    vfs.sync_folder().unwrap();
    file.append(&[b"two"]).unwrap();
    assert!(outcomes(&vfs, "a").contains(&Some(b"\0\0\0two".to_vec())));
}

#[test]
fn torn_appends_are_cut_at_sectors_of_the_file() {
    let vfs = SimVfs::new();
    let file = create(&vfs, "a", &[1; 500]);
    file.sync().unwrap();
    vfs.sync_folder().unwrap();
    file.append(&[&[2; 600]]).unwrap();
    let found: BTreeSet<Vec<u8>> = outcomes(&vfs, "a").into_iter().flatten().collect();
    let image = |parts: &[(u8, usize)]| {
        parts.iter().flat_map(|&(byte, count)| vec![byte; count]).collect::<Vec<u8>>()
    };
    assert!(found.contains(&image(&[(1, 500), (2, 12)])), "cut at 512");
    assert!(found.contains(&image(&[(1, 500), (2, 524)])), "cut at 1024");
    assert!(
        found.contains(&image(&[(1, 500), (2, 12), (0, 512), (2, 76)])),
        "the middle sector is missing"
    );
    assert!(
        found.contains(&image(&[(1, 500), (0, 12), (2, 512), (0, 76)])),
        "only the middle sector is there"
    );
    assert!(found.iter().all(|bytes| bytes.starts_with(&[1; 500])));
}

#[test]
fn a_synced_file_may_lack_its_name_until_the_directory_is_synced() {
    let vfs = SimVfs::new();
    create(&vfs, "a", b"one").sync().unwrap();
    let whole = Some(b"one".to_vec());
    assert_eq!(outcomes(&vfs, "a"), [None, whole.clone()].into());
    assert_eq!(outcomes_of(&vfs, Model::Weak, "a"), [whole.clone()].into());
    assert_eq!(outcomes_of(&vfs, Model::Ordered, "a"), [whole].into());
}

#[test]
fn on_ordered_file_systems_names_change_in_order_and_files_grow_from_the_front() {
    let vfs = SimVfs::new();
    create(&vfs, "a", b"one").append(&[b"two"]).unwrap();
    create(&vfs, "b", b"");
    let states: Vec<SimVfs> = vfs
        .crash_states(Model::Ordered, vfs.operation_count(), 7, 99)
        .map(|state| state.vfs)
        .collect();
    let names: BTreeSet<_> = states.iter().map(SimVfs::names).collect();
    assert_eq!(names, [vec![], vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()]].into());
    let named = states.iter().filter(|state| !state.names().is_empty());
    let found: BTreeSet<_> = named.map(|state| state.contents("a")).collect();
    assert_eq!(found, (0..=6).map(|length| b"onetwo"[..length].to_vec()).collect());
    create(&vfs, "c", b"").sync().unwrap();
    let mut states = vfs.crash_states(Model::Ordered, vfs.operation_count(), 7, 9);
    assert!(
        states.all(|state| state.vfs.names() == ["a", "b", "c"]),
        "a sync brings all names before it"
    );
}

#[test]
fn after_a_crash_a_rename_has_happened_completely_or_not_at_all() {
    let vfs = SimVfs::new();
    create(&vfs, "a", b"one").sync().unwrap();
    vfs.sync_folder().unwrap();
    vfs.rename("a", "b").unwrap();
    let states: BTreeSet<_> = vfs
        .crash_states(Model::Posix, vfs.operation_count(), 1, 20)
        .map(|state| state.vfs.names())
        .collect();
    assert_eq!(states, [vec!["a".to_owned()], vec!["b".to_owned()]].into());
}

#[test]
fn a_history_has_many_crash_states_and_repeats_them_for_a_seed() {
    let vfs = SimVfs::new();
    for name in ["a", "b", "c"] {
        create(&vfs, name, &[7; 2_000]).append(&[b"tail"]).unwrap();
    }
    vfs.link("a", "d").unwrap();
    vfs.remove("b").unwrap();
    let prints = |seed| {
        vfs.crash_states(Model::Posix, 0, seed, 30)
            .map(|state| state.vfs.fingerprint())
            .collect::<Vec<_>>()
    };
    let distinct: BTreeSet<_> = prints(1).into_iter().collect();
    assert_eq!(prints(1), prints(1));
    assert_ne!(prints(1), prints(2));
    assert!(distinct.len() > 300, "{}", distinct.len());
}

#[test]
fn a_crash_state_is_independent_of_the_history() {
    let vfs = SimVfs::new();
    let writer = create(&vfs, "a", b"one");
    assert!(writer.try_lock().unwrap());
    let state = vfs
        .crash_states(Model::Posix, 2, 0, 0)
        .find(|state| state.vfs.fingerprint() == vfs.fingerprint())
        .unwrap();
    assert_eq!(state.vfs.operation_count(), 0);
    assert!(state.vfs.open("a", Access::Stream).unwrap().try_lock().unwrap(), "locks are free");
    assert_eq!(state.vfs.crash_states(Model::Posix, 0, 0, 5).count(), 1, "all of it is durable");
    state.vfs.remove("a").unwrap();
    assert_eq!(vfs.contents("a"), b"one");
    assert!(state.description().contains("append #0 0+3: Kept"), "{}", state.description());
}

#[test]
fn a_fault_fails_one_call_or_all_later_ones() {
    let vfs = SimVfs::new();
    let effect = Effect::Error(ErrorKind::StorageFull);
    vfs.fail(Fault { call: Some(Call::Append), after: 1, forever: false, effect });
    let file = create(&vfs, "a", b"one");
    assert_eq!(file.append(&[b"two"]).unwrap_err().kind(), ErrorKind::StorageFull);
    file.append(&[b"three"]).unwrap();
    assert_eq!(vfs.contents("a"), b"onethree");
    assert_eq!((vfs.call_count(Some(Call::Append)), vfs.call_count(None)), (3, 4));
    vfs.fail(Fault { call: None, after: 0, forever: true, effect });
    assert!(vfs.list().is_err() && vfs.list().is_err() && file.len().is_err());
    vfs.clear_faults();
    assert!(vfs.list().is_ok());
}

#[test]
fn a_failed_call_may_have_done_part_or_all_of_its_work() {
    let vfs = SimVfs::new();
    let file = create(&vfs, "a", b"one");
    vfs.fail(fault(Call::Append, Effect::Short { bytes: 2, error: ErrorKind::StorageFull }));
    assert!(file.append(&[b"t", b"wo"]).is_err());
    assert_eq!(vfs.contents("a"), b"onetw");
    vfs.fail(fault(Call::Link, Effect::After(ErrorKind::Other)));
    assert!(vfs.link("a", "b").is_err());
    assert_eq!(vfs.names(), ["a", "b"]);
}

#[test]
fn bytes_lost_by_a_failed_sync_stay_lost() {
    for (pages, live) in [
        (LostPages::Gone, &b"onethree"[..]),
        (LostPages::Zeroed, b"one\0\0\0three"),
        (LostPages::Cached, b"onetwothree"),
    ] {
        let vfs = SimVfs::new();
        let file = create(&vfs, "a", b"one");
        file.sync().unwrap();
        vfs.sync_folder().unwrap();
        file.append(&[b"two"]).unwrap();
        vfs.fail(fault(Call::Sync, Effect::Lose { pages, error: ErrorKind::Other }));
        assert!(file.sync().is_err());
        file.append(&[b"three"]).unwrap();
        file.sync().unwrap();
        assert_eq!(vfs.contents("a"), live, "{pages:?}");
        let after_crash = if pages == LostPages::Gone { live } else { b"one\0\0\0three" };
        assert_eq!(outcomes(&vfs, "a"), [Some(after_crash.to_vec())].into(), "{pages:?}");
    }
}

#[test]
fn open_handles_see_damage_which_is_not_in_the_journal() {
    let vfs = SimVfs::new();
    let file = create(&vfs, "a", b"one");
    vfs.flip("a", 0, 0);
    assert_eq!(&*file.read(0, 3).unwrap(), b"nne");
    vfs.truncate("a", 1);
    assert_eq!(file.read(0, 3).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    vfs.truncate("a", 2);
    assert_eq!((vfs.contents("a"), vfs.length("a")), (b"n\0".to_vec(), 2));
    vfs.set_contents("b", b"planted".to_vec());
    vfs.erase("a");
    assert_eq!((vfs.names(), vfs.operation_count()), (vec!["b".to_owned()], 0));
}

#[test]
fn a_read_only_directory_refuses_every_change() {
    let vfs = SimVfs::new();
    let file = create(&vfs, "a", b"one");
    let vfs = vfs.read_only();
    let refused = [
        file.append(&[b"x"]),
        vfs.create_new("b").map(drop),
        vfs.link("a", "b"),
        vfs.rename("a", "b"),
        vfs.remove("a"),
    ];
    assert!(
        refused
            .iter()
            .all(|result| result.as_ref().unwrap_err().kind() == ErrorKind::ReadOnlyFilesystem)
    );
    assert_eq!(vfs.contents("a"), b"one");
}

#[test]
fn a_fork_is_independent_of_its_origin() {
    let vfs = SimVfs::new();
    create(&vfs, "a", b"one");
    let fork = vfs.fork();
    assert_eq!(fork.fingerprint(), vfs.fingerprint());
    fork.rename("a", "b").unwrap();
    assert_ne!(fork.fingerprint(), vfs.fingerprint());
    assert_eq!(vfs.names(), ["a"]);
}
