//! The promises of [`Vfs`] as a test suite. An implementation passes by `contract(&|| Arc::new(MyVfs::new(..)))`, where
//! each call returns a directory of its own that does not exist yet.
//!
//! One case tests one promise. A machine may lack an ability (hard links, locks, removing an open file on Windows). A
//! case then accepts only the error that `vfs.rs` names for it, and nothing may have changed. That bytes survive a
//! power failure cannot be tested on a real disk; `SimVfs` simulates it.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test suite fails by panic")]

use crate::platform::vfs::{Access, File, Vfs};
use std::io::ErrorKind;
use std::sync::Arc;

/// A promise: its name and a function that panics if `vfs` breaks it.
pub type Case = (&'static str, fn(vfs: &dyn Vfs));

/// Every promise, in the order of `vfs.rs`.
pub const CASES: &[Case] = &[
    ("a missing directory lists no files", missing_directory_lists_no_files),
    ("opening a missing file fails with NotFound", missing_file_is_not_found),
    ("create_new makes an empty file", create_new_makes_an_empty_file),
    ("create_new fails if the name exists", create_new_fails_if_the_name_exists),
    (
        "create_new succeeds for one of several callers",
        create_new_succeeds_for_one_of_several_callers,
    ),
    ("list returns every name once", list_returns_every_name_once),
    ("append adds all parts in order", append_adds_all_parts_in_order),
    ("append accepts many parts", append_accepts_many_parts),
    ("append fails on a file that was only opened", append_fails_on_a_file_that_was_only_opened),
    ("read returns exactly the requested bytes", read_returns_exactly_the_requested_bytes),
    ("a read past the end fails with UnexpectedEof", read_past_the_end_is_unexpected_eof),
    ("a stream sees appends of other handles", stream_sees_appends_of_other_handles),
    ("an empty file can be opened", empty_file_can_be_opened),
    ("sync succeeds and keeps the content", sync_succeeds_and_keeps_the_content),
    ("durable appends and other appends can alternate", durable_and_other_appends_can_alternate),
    ("an appended file is still the same file", appended_file_is_the_same),
    ("a file that takes the name of another one is another file", file_of_the_same_name_is_another),
    ("link adds a second name", link_adds_a_second_name),
    ("link fails if the target exists", link_fails_if_the_target_exists),
    ("link succeeds for one of several callers", link_succeeds_for_one_of_several_callers),
    ("rename moves a name", rename_moves_a_name),
    ("rename replaces its target", rename_replaces_its_target),
    ("remove frees the name", remove_frees_the_name),
    ("an open file outlives its name", open_file_outlives_its_name),
    ("an open file outlives its replacement", open_file_outlives_its_replacement),
    ("a nested directory has files of its own", nested_directory_has_files_of_its_own),
    ("directories are listed separately from files", directories_are_listed_separately),
    ("one handle holds the lock until it is dropped", one_handle_holds_the_lock),
    ("a lock follows its file through a rename", lock_follows_its_file),
];

/// Runs every case in a directory of its own.
pub fn contract(make: &dyn Fn() -> Arc<dyn Vfs>) {
    for (name, case) in CASES {
        let vfs = make();
        let broken =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(&*vfs))).is_err();
        assert!(!broken, "broken promise: {name} ({vfs:?})");
    }
}

fn missing_directory_lists_no_files(vfs: &dyn Vfs) {
    assert_eq!(names(vfs), [""; 0]);
    assert!(!vfs.exists("a").unwrap());
    vfs.sync_folder().expect("nothing to sync");
    assert_eq!(names(vfs), [""; 0]);
}

fn missing_file_is_not_found(vfs: &dyn Vfs) {
    for folder_exists in [false, true] {
        if folder_exists {
            write(vfs, "other", b"");
        }
        assert_eq!(kind(vfs.open("a", Access::Stream)), ErrorKind::NotFound);
        assert_eq!(kind(vfs.open("a", Access::Random)), ErrorKind::NotFound);
        assert_eq!(kind(vfs.remove("a")), ErrorKind::NotFound);
        assert_eq!(kind(vfs.rename("a", "b")), ErrorKind::NotFound);
        assert!(matches!(kind(vfs.link("a", "b")), ErrorKind::NotFound | ErrorKind::Unsupported));
        assert!(!vfs.exists("b").unwrap());
    }
}

fn nested_directory_has_files_of_its_own(vfs: &dyn Vfs) {
    let inner = vfs.folder("files").unwrap().folder("a0").unwrap();
    missing_directory_lists_no_files(&*inner);
    write(&*inner, "one", b"inner");
    write(vfs, "one", b"outer");
    assert_eq!(names(&*inner), ["one"]);
    assert_eq!(names(vfs), ["one"]);
    assert_eq!(read(&*inner, "one"), b"inner");
    inner.rename("one", "two").unwrap();
    inner.sync_folder().unwrap();
    let again = vfs.folder("files").unwrap().folder("a0").unwrap();
    assert_eq!(read(&*again, "two"), b"inner");
    again.remove("two").unwrap();
    assert_eq!(names(&*inner), [""; 0]);
    assert_eq!(read(vfs, "one"), b"outer");
}

fn directories_are_listed_separately(vfs: &dyn Vfs) {
    let files = vfs.folder("files").unwrap();
    assert_eq!(folders(vfs), [""; 0]);
    assert_eq!(folders(&*files), [""; 0]);
    for name in ["a0", "ff"] {
        write(&*files.folder(name).unwrap(), "one", b"inner");
    }
    write(&*files, "a1", b"no folder");
    assert_eq!(folders(vfs), ["files"]);
    assert_eq!(folders(&*files), ["a0", "ff"]);
    assert_eq!(names(&*files), ["a1"]);
}

fn create_new_makes_an_empty_file(vfs: &dyn Vfs) {
    let file = vfs.create_new("a").unwrap();
    assert_eq!(file.len().unwrap(), 0);
    assert!(file.is_empty().unwrap());
    assert!(vfs.exists("a").unwrap());
    assert!(!vfs.exists("b").unwrap());
}

fn create_new_fails_if_the_name_exists(vfs: &dyn Vfs) {
    write(vfs, "a", b"first");
    assert_eq!(kind(vfs.create_new("a")), ErrorKind::AlreadyExists);
    assert_eq!(read(vfs, "a"), b"first");
}

fn create_new_succeeds_for_one_of_several_callers(vfs: &dyn Vfs) {
    assert_eq!(race(|_| vfs.create_new("a").map(drop)), 1);
}

fn list_returns_every_name_once(vfs: &dyn Vfs) {
    for name in ["manifest-2", "0000000a.log", "0000000a-1.table", "x.tmp"] {
        write(vfs, name, name.as_bytes());
    }
    assert_eq!(names(vfs), ["0000000a-1.table", "0000000a.log", "manifest-2", "x.tmp"]);
}

fn append_adds_all_parts_in_order(vfs: &dyn Vfs) {
    let file = vfs.create_new("a").unwrap();
    file.append(&[b"one", b"", b"two"]).unwrap();
    file.append(&[]).unwrap();
    file.append(&[b"three"]).unwrap();
    assert_eq!(file.len().unwrap(), 11);
    assert_eq!(&*file.read(0, 11).unwrap(), b"onetwothree");
    assert_eq!(read(vfs, "a"), b"onetwothree");
}

/// More parts than a system call takes (1024), and more bytes than a slow disk writes at once.
fn append_accepts_many_parts(vfs: &dyn Vfs) {
    let expected: Vec<u8> = (0..3_000_u32 * 700).map(|at| (at % 251) as u8).collect();
    let parts: Vec<&[u8]> = expected.chunks(700).collect();
    vfs.create_new("a").unwrap().append(&parts).unwrap();
    assert!(read(vfs, "a") == expected);
}

fn append_fails_on_a_file_that_was_only_opened(vfs: &dyn Vfs) {
    write(vfs, "a", b"whole");
    assert!(vfs.open("a", Access::Stream).unwrap().append(&[b"more"]).is_err());
    assert_eq!(read(vfs, "a"), b"whole");
}

fn read_returns_exactly_the_requested_bytes(vfs: &dyn Vfs) {
    let expected: Vec<u8> = (0..20_000_u32).map(|at| (at % 253) as u8).collect();
    write(vfs, "a", &expected);
    for access in [Access::Stream, Access::Random] {
        let file = vfs.open("a", access).unwrap();
        assert_eq!(file.len().unwrap(), 20_000);
        for released in [false, true] {
            if released {
                file.release();
            }
            for (offset, length) in
                [(0, 0), (0, 1), (0, 20_000), (4_095, 2), (19_999, 1), (20_000, 0)]
            {
                let window = expected.get(offset..offset + length).unwrap();
                assert!(
                    *file.read(offset as u64, length).unwrap() == *window,
                    "{access:?} {offset} {length} {released}"
                );
            }
        }
    }
}

/// The last lengths cannot be allocated: an error, without an abort or an overflow.
fn read_past_the_end_is_unexpected_eof(vfs: &dyn Vfs) {
    write(vfs, "a", b"0123456789");
    for access in [Access::Stream, Access::Random] {
        let file = vfs.open("a", access).unwrap();
        for (offset, length) in
            [(0, 11), (10, 1), (11, 0), (0, usize::MAX), (u64::MAX, 0), (u64::MAX, usize::MAX)]
        {
            assert_eq!(
                kind(file.read(offset, length)),
                ErrorKind::UnexpectedEof,
                "{access:?} {offset} {length}"
            );
        }
    }
}

fn stream_sees_appends_of_other_handles(vfs: &dyn Vfs) {
    let writer = vfs.create_new("a").unwrap();
    let reader = vfs.open("a", Access::Stream).unwrap();
    assert_eq!(reader.len().unwrap(), 0);
    writer.append(&[b"one"]).unwrap();
    assert_eq!(&*reader.read(0, 3).unwrap(), b"one");
    writer.append(&[b"two"]).unwrap();
    assert_eq!(reader.len().unwrap(), 6);
    assert_eq!(&*reader.read(2, 4).unwrap(), b"etwo");
}

fn empty_file_can_be_opened(vfs: &dyn Vfs) {
    write(vfs, "a", b"");
    for access in [Access::Stream, Access::Random] {
        let file = vfs.open("a", access).unwrap();
        assert_eq!(&*file.read(0, 0).unwrap(), b"");
        assert_eq!(kind(file.read(0, 1)), ErrorKind::UnexpectedEof);
    }
}

fn sync_succeeds_and_keeps_the_content(vfs: &dyn Vfs) {
    let file = vfs.create_new("a").unwrap();
    file.sync().expect("an empty file");
    file.append(&[b"one"]).unwrap();
    file.sync().unwrap();
    vfs.sync_folder().unwrap();
    file.append(&[b"two"]).unwrap();
    assert_eq!(read(vfs, "a"), b"onetwo");
}

/// Each way to append continues at the end of the last append, over the zeros there; a reader sees all of it.
fn durable_and_other_appends_can_alternate(vfs: &dyn Vfs) {
    for locked in [false, true] {
        let name = format!("mixed-{locked}");
        let file = vfs.create_new(&name).expect("creates");
        if locked {
            try_lock(&*file);
        }
        let mut expected: Vec<u8> = Vec::new();
        for (index, length) in
            [10, 5_000, 4_096, 1, 0, 3_000, 4_086, 100_000, 7, 50_000, 200_000, 3]
                .into_iter()
                .enumerate()
        {
            let part = vec![index as u8 + 1; length];
            let outcome = if index % 4 == 3 {
                file.append(&[&part])
            } else {
                file.append_durable(&[b"-", &part])
            };
            outcome.expect("appends");
            expected.extend_from_slice(if index % 4 == 3 { b"" } else { b"-" });
            expected.extend_from_slice(&part);
            let other = vfs.open(&name, Access::Stream).expect("opens");
            let bytes = other.read(0, other.len().expect("has a length") as usize).expect("reads");
            let (head, tail) = bytes.split_at(expected.len());
            assert!(head == expected, "{length} bytes more, locked {locked}");
            assert!(tail.iter().all(|byte| *byte == 0), "zeros until the next append");
        }
        drop(file);
        assert_eq!(read(vfs, &name), expected, "no zeros once it is dropped");
    }
}

fn appended_file_is_the_same(vfs: &dyn Vfs) {
    let file = vfs.create_new("a").unwrap();
    let before = vfs.stat("a").unwrap().unwrap();
    file.append(&[b"one"]).unwrap();
    file.sync().unwrap();
    let after = vfs.stat("a").unwrap().unwrap();
    assert_eq!((before.bytes, after.bytes, after.file), (0, 3, before.file));
}

fn file_of_the_same_name_is_another(vfs: &dyn Vfs) {
    write(vfs, "a", b"one");
    let before = vfs.stat("a").unwrap().unwrap();
    vfs.rename("a", "b").unwrap();
    assert_eq!(vfs.stat("a").unwrap(), None);
    write(vfs, "a", b"two");
    assert_ne!(vfs.stat("a").unwrap().unwrap().file, before.file);
    assert_eq!(vfs.stat("b").unwrap().unwrap().file, before.file);
}

fn link_adds_a_second_name(vfs: &dyn Vfs) {
    write(vfs, "a", b"one");
    if !link(vfs, "a", "b") {
        return assert_eq!(names(vfs), ["a"]);
    }
    assert_eq!(names(vfs), ["a", "b"]);
    vfs.remove("a").unwrap();
    assert_eq!(names(vfs), ["b"]);
    assert_eq!(read(vfs, "b"), b"one");
}

fn link_fails_if_the_target_exists(vfs: &dyn Vfs) {
    write(vfs, "a", b"one");
    write(vfs, "b", b"two");
    assert!(matches!(kind(vfs.link("a", "b")), ErrorKind::AlreadyExists | ErrorKind::Unsupported));
    assert_eq!(read(vfs, "a"), b"one");
    assert_eq!(read(vfs, "b"), b"two");
}

fn link_succeeds_for_one_of_several_callers(vfs: &dyn Vfs) {
    write(vfs, "probe", b"");
    if !link(vfs, "probe", "probe2") {
        return;
    }
    let contents = [b"0", b"1", b"2", b"3"];
    for (racer, content) in contents.iter().enumerate() {
        write(vfs, &format!("{racer}.tmp"), *content);
    }
    assert_eq!(race(|racer| vfs.link(&format!("{racer}.tmp"), "manifest-1")), 1);
    assert!(contents.iter().any(|content| read(vfs, "manifest-1") == *content));
}

fn rename_moves_a_name(vfs: &dyn Vfs) {
    write(vfs, "a", b"one");
    vfs.rename("a", "b").unwrap();
    assert_eq!(names(vfs), ["b"]);
    assert_eq!(read(vfs, "b"), b"one");
}

fn rename_replaces_its_target(vfs: &dyn Vfs) {
    write(vfs, "a", b"one");
    write(vfs, "b", b"two");
    vfs.rename("a", "b").unwrap();
    assert_eq!(names(vfs), ["b"]);
    assert_eq!(read(vfs, "b"), b"one");
}

fn remove_frees_the_name(vfs: &dyn Vfs) {
    write(vfs, "a", b"one");
    vfs.remove("a").unwrap();
    assert_eq!(names(vfs), [""; 0]);
    assert_eq!(kind(vfs.remove("a")), ErrorKind::NotFound);
    write(vfs, "a", b"two");
    assert_eq!(read(vfs, "a"), b"two");
}

fn open_file_outlives_its_name(vfs: &dyn Vfs) {
    for access in [Access::Stream, Access::Random] {
        write(vfs, "a", b"one");
        let file = vfs.open("a", access).unwrap();
        if !allowed_while_open(vfs.rename("a", "b")) || !allowed_while_open(vfs.remove("b")) {
            assert_eq!(names(vfs), ["a"]);
            drop(file);
            vfs.remove("a").expect("no handle is left");
            continue;
        }
        name_is_gone(vfs, "b");
        file.sync().expect("others may remove a file before it is synced");
        write(vfs, "a", b"two");
        assert_eq!(&*file.read(0, 3).unwrap(), b"one");
        vfs.remove("a").unwrap();
    }
}

/// The name of a removed file, which is still open. Wine keeps such a file usable until it is closed.
fn name_is_gone(vfs: &dyn Vfs, name: &str) {
    if cfg!(windows) && vfs.exists(name).unwrap() {
        return;
    }
    assert_eq!(vfs.stat(name).unwrap(), None);
    let attempts =
        [vfs.open(name, Access::Stream).map(drop), vfs.rename(name, "other"), vfs.remove(name)];
    attempts.into_iter().for_each(|attempt| assert_eq!(kind(attempt), ErrorKind::NotFound));
    assert!(matches!(kind(vfs.link(name, "other")), ErrorKind::NotFound | ErrorKind::Unsupported));
    match vfs.create_new(name) {
        Ok(_) => vfs.remove(name).unwrap(),
        Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists),
    }
}

fn open_file_outlives_its_replacement(vfs: &dyn Vfs) {
    for access in [Access::Stream, Access::Random] {
        write(vfs, "old", b"one");
        write(vfs, "new", b"two");
        let file = vfs.open("old", access).unwrap();
        let replaced = allowed_while_open(vfs.rename("new", "old"));
        assert_eq!(&*file.read(0, 3).unwrap(), b"one");
        assert_eq!(read(vfs, "old"), if replaced { b"two" } else { b"one" });
        drop(file);
        names(vfs).iter().for_each(|name| vfs.remove(name).unwrap());
    }
}

fn one_handle_holds_the_lock(vfs: &dyn Vfs) {
    let writer = vfs.create_new("a").unwrap();
    let Some(taken) = try_lock(&*writer) else { return };
    assert!(taken);
    assert!(writer.try_lock().unwrap(), "the holder may lock again");
    let other = vfs.open("a", Access::Stream).unwrap();
    assert!(!other.try_lock().unwrap());
    writer.append(&[b"one"]).expect("the holder writes");
    assert_eq!(&*other.read(0, 3).unwrap(), b"one", "a lock does not prevent reads");
    drop(writer);
    assert!(other.try_lock().unwrap());
    assert!(!vfs.open("a", Access::Stream).unwrap().try_lock().unwrap());
}

fn lock_follows_its_file(vfs: &dyn Vfs) {
    let writer = vfs.create_new("a").unwrap();
    let Some(true) = try_lock(&*writer) else { return };
    if allowed_while_open(vfs.rename("a", "b")) {
        assert!(!vfs.open("b", Access::Stream).unwrap().try_lock().unwrap());
        assert!(vfs.create_new("a").unwrap().try_lock().unwrap(), "the new file is another one");
    }
}

fn names(vfs: &dyn Vfs) -> Vec<String> {
    let mut names = vfs.list().unwrap();
    names.sort();
    names
}

fn folders(vfs: &dyn Vfs) -> Vec<String> {
    let mut folders = vfs.folders().unwrap();
    folders.sort();
    folders
}

fn write(vfs: &dyn Vfs, name: &str, bytes: &[u8]) {
    vfs.create_new(name).unwrap().append(&[bytes]).unwrap();
}

fn read(vfs: &dyn Vfs, name: &str) -> Vec<u8> {
    let file = vfs.open(name, Access::Stream).unwrap();
    let length = usize::try_from(file.len().unwrap()).unwrap();
    file.read(0, length).unwrap().into_owned()
}

fn kind<T>(result: std::io::Result<T>) -> ErrorKind {
    result.err().expect("an error").kind()
}

/// `false` = the file system has no hard links.
fn link(vfs: &dyn Vfs, source: &str, target: &str) -> bool {
    match vfs.link(source, target) {
        Err(error) if error.kind() == ErrorKind::Unsupported => false,
        result => result.map(|()| true).unwrap(),
    }
}

/// `None` = the file system has no locks.
fn try_lock(file: &dyn File) -> Option<bool> {
    match file.try_lock() {
        Err(error) if error.kind() == ErrorKind::Unsupported => None,
        result => Some(result.unwrap()),
    }
}

/// `false` = the system refuses to change the name of an open file.
fn allowed_while_open(result: std::io::Result<()>) -> bool {
    match result {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => false,
        result => result.map(|()| true).unwrap(),
    }
}

/// How many of four concurrent callers succeed; all others must get `AlreadyExists`. Runs them one after the other if
/// there are no threads.
fn race(attempt: impl Fn(usize) -> std::io::Result<()> + Sync) -> usize {
    let won = std::sync::atomic::AtomicUsize::new(0);
    let run = &|racer| match attempt(racer) {
        Ok(()) => drop(won.fetch_add(1, std::sync::atomic::Ordering::Relaxed)),
        Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists),
    };
    std::thread::scope(|scope| {
        for racer in 0..4 {
            if std::thread::Builder::new().spawn_scoped(scope, move || run(racer)).is_err() {
                run(racer);
            }
        }
    });
    won.into_inner()
}
