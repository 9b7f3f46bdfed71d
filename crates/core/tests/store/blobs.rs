//! Blobs: each content is stored once, stays as long as an entry names it, and is collected afterwards. Other processes
//! may act at the same time.

use crate::history::{commit, compact, open, open_with, open_with_blobs};
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use varve_core::testing::sim::{Call, Effect, Fault, Model, SimVfs};
use varve_core::vfs::{Access, File, Stat, Vfs};
use varve_core::{BlobRef, BlobWriter, Durability, Handle, Options, Pin, SerialPool, Store};

const BLOB_BYTES_MIN: usize = 64;

fn value(number: u8) -> Vec<u8> {
    (0..200u8).map(|index| index.wrapping_mul(number).wrapping_add(index >> 3)).collect()
}

fn files_of(vfs: &SimVfs) -> Vec<String> {
    vfs.names().into_iter().filter(|name| name.starts_with("files/")).collect()
}

/// Commits an entry.
pub(crate) fn put(handle: &mut Handle, key: &[u8], value: &[u8]) {
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, key, value).expect("put");
    commit(handle, Durability::Relaxed).expect("commit");
}

/// Looks up a key.
pub(crate) fn get(handle: &mut Handle, key: &[u8]) -> Option<Vec<u8>> {
    let id = handle.namespace("n", "1").expect("namespace");
    handle.get(id, key, <[u8]>::to_vec).expect("get")
}

/// Stores contents one by one.
fn store(handle: &Handle, contents: &[&[u8]]) -> (Vec<BlobRef>, Pin) {
    let intake = BlobWriter::new(handle.store()).expect("hold");
    let files = contents.iter().map(|content| intake.store(content).expect("store")).collect();
    (files, intake.into_pin())
}

fn is_sound(handle: &Handle) -> bool {
    handle.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify").sound
}

#[test]
fn equal_large_values_share_one_blob_until_the_last_entry_is_deleted() {
    let vfs = SimVfs::new();
    let mut handle = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
    for key in [b"a", b"b", b"c"] {
        put(&mut handle, key, &value(1));
    }
    put(&mut handle, b"small", b"value");
    compact(&handle, true).expect("compact");
    assert_eq!(files_of(&vfs).len(), 1);
    for (key, left) in [(b"a", 1), (b"b", 1), (b"c", 0)] {
        assert_eq!(get(&mut handle, key), Some(value(1)));
        let id = handle.namespace("n", "1").expect("namespace");
        handle.delete(id, key).expect("delete");
        commit(&mut handle, Durability::Relaxed).expect("commit");
        compact(&handle, true).expect("compact");
        assert_eq!(files_of(&vfs).len(), left);
        assert_eq!(get(&mut handle, key), None);
    }
    assert_eq!(get(&mut handle, b"small").as_deref(), Some(&b"value"[..]));
    assert!(is_sound(&handle));
}

#[test]
fn stored_blobs_stay_until_an_entry_names_them_and_as_long_as_it_does() {
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let (files, hold) = store(&handle, &[b"one", b"two", b"one"]);
    assert_eq!(files, [BlobRef::of(b"one"), BlobRef::of(b"two"), BlobRef::of(b"one")]);
    handle.keep(hold);
    // No compaction, of this process or another, collects them before an entry names them.
    put(&mut open(&vfs).expect("open"), b"other", b"entry");
    compact(&handle, true).expect("compact");
    compact(&open(&vfs).expect("open"), true).expect("compact by another process");
    assert_eq!(files_of(&vfs).len(), 2);
    handle.put_with_blobs(id, b"outputs", b"manifest", &files).expect("put");
    assert_eq!(get(&mut handle, b"outputs").as_deref(), Some(&b"manifest"[..]));
    commit(&mut handle, Durability::Durable).expect("commit");
    for _ in 0..2 {
        compact(&handle, true).expect("compact");
        compact(&open(&vfs).expect("open"), true).expect("compact by another process");
        assert_eq!(get(&mut handle, b"outputs").as_deref(), Some(&b"manifest"[..]));
        assert_eq!(
            handle.store().read_blob(&files[1]).expect("read").as_deref(),
            Some(&b"two"[..])
        );
    }
    handle.delete(id, b"outputs").expect("delete");
    commit(&mut handle, Durability::Relaxed).expect("commit");
    compact(&handle, true).expect("compact");
    assert_eq!(files_of(&vfs), [""; 0]);
    assert_eq!(handle.store().read_blob(&files[1]).expect("read"), None);
}

#[test]
fn blobs_that_a_crashed_process_stored_without_an_entry_are_collected() {
    let vfs = SimVfs::new();
    let dead = open(&vfs).expect("open");
    let stored = store(&dead, &[b"one", b"two"]);
    drop((stored, dead));
    compact(&open(&vfs).expect("open"), true).expect("compact");
    assert_eq!(files_of(&vfs), [""; 0]);
}

/// The reader moved on to the newest state by itself. Keys read before and after that came from different commits.
#[test]
fn a_reader_whose_blob_was_collected_gets_a_miss_and_keeps_its_state() {
    let vfs = SimVfs::new();
    let mut writer = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
    put(&mut writer, b"key", &value(1));
    put(&mut writer, b"small", b"1");
    let mut reader = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
    put(&mut writer, b"key", &value(2));
    put(&mut writer, b"small", b"2");
    compact(&writer, true).expect("compact");
    assert_eq!(files_of(&vfs).len(), 1);
    assert_eq!((get(&mut reader, b"key"), get(&mut reader, b"small")), (None, Some(b"1".to_vec())));
    assert!(reader.store().status().damage.is_empty());
    assert!(reader.store().refresh().expect("refresh"));
    assert_eq!(
        (get(&mut reader, b"key"), get(&mut reader, b"small")),
        (Some(value(2)), Some(b"2".to_vec()))
    );
    assert!(reader.store().status().damage.is_empty());
}

#[test]
fn a_blob_missing_in_the_newest_state_is_reported_as_damage() {
    let vfs = SimVfs::new();
    put(&mut open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open"), b"key", &value(1));
    let mut reader = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
    let file = files_of(&vfs).remove(0);
    vfs.remove(&file).expect("remove");
    assert_eq!(get(&mut reader, b"key"), None);
    assert_eq!(reader.store().status().damage[0].file, file);
}

/// The blob was quarantined because its length was not the one that the caller's manifest gave.
#[test]
fn an_entry_with_a_wrong_blob_size_does_not_quarantine_the_blob() {
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let (files, hold) = store(&handle, &[b"content"]);
    handle.keep(hold);
    handle.put_with_blobs(id, b"key", b"manifest", &files).expect("put");
    commit(&mut handle, Durability::Durable).expect("commit");
    for bytes in [0, 6, 8, u64::MAX] {
        let wrong = BlobRef { bytes, ..files[0] };
        assert_eq!(handle.store().read_blob(&wrong).expect("read"), None);
        assert!(handle.store().status().damage.is_empty(), "{bytes}");
    }
    assert_eq!(
        handle.store().read_blob(&files[0]).expect("read").as_deref(),
        Some(&b"content"[..])
    );
    // An entry that names the wrong size is a miss and affects no other entry.
    let wrong = [BlobRef { bytes: 3, ..files[0] }];
    handle.put_with_blobs(id, b"wrong", b"manifest", &wrong).expect("put");
    commit(&mut handle, Durability::Durable).expect("commit");
    assert_eq!(handle.store().read_blob(&wrong[0]).expect("read"), None);
    compact(&handle, true).expect("compact");
    assert_eq!((get(&mut handle, b"key").is_some(), get(&mut handle, b"wrong")), (true, None));
    assert_eq!(
        handle.store().read_blob(&files[0]).expect("read").as_deref(),
        Some(&b"content"[..])
    );
}

/// Another thread of the process commits while the first blob is read. The remaining lookups returned the new commit.
#[test]
fn get_many_reads_one_state_although_another_thread_commits_while_a_blob_is_read() {
    let vfs = SimVfs::new();
    let mut writer = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
    let id = writer.namespace("n", "1").expect("namespace");
    for (key, value) in [(b"a", &value(1)[..]), (b"b", b"1"), (b"c", &value(3)), (b"d", b"1")] {
        put(&mut writer, key, value);
    }
    let mut other = writer.store().handle();
    let (mut answers, keys) = (Vec::new(), [b"a", b"x", b"b", b"c", b"d"]);
    let mut rest = Some(&mut other);
    let reads = writer.get_many(id, keys.iter().map(|key| &key[..]), |found| {
        if let Some(other) = rest.take() {
            put(other, b"b", b"2");
            put(other, b"d", b"2");
        }
        answers.push(found.map(<[u8]>::to_vec));
    });
    reads.expect("reads");
    let expected = [Some(value(1)), None, Some(b"1".to_vec()), Some(value(3)), Some(b"1".to_vec())];
    assert_eq!(answers, expected);
}

#[test]
fn a_damaged_blob_is_quarantined_and_stored_again_by_the_same_process() {
    let vfs = SimVfs::new();
    put(&mut open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open"), b"key", &value(1));
    let file = files_of(&vfs).remove(0);
    vfs.flip(&file, 100, 3);
    let mut handle = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
    assert_eq!(get(&mut handle, b"key"), None);
    assert_eq!(handle.store().status().damage[0].file, file);
    put(&mut handle, b"key", &value(1));
    assert_eq!(get(&mut open(&vfs).expect("open"), b"key"), Some(value(1)));
    compact(&handle, true).expect("compact");
    assert_eq!(files_of(&vfs), [file]);
    assert!(is_sound(&open(&vfs).expect("open")));
}

/// Regression: two processes found a damaged blob and stored it again at once. On Windows, the second one could not
/// rename the file to the name that the first one had just used, and its commit failed. Found by interleavings.
#[test]
fn a_damaged_blob_that_two_processes_store_again_at_once_fails_neither() {
    for machine in MACHINES.into_iter().chain([(|| SimVfs::new().windows()) as fn() -> SimVfs]) {
        for at in 0.. {
            let vfs = machine();
            put(&mut open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open"), b"kept", &value(2));
            vfs.flip(&files_of(&vfs).remove(0), 100, 3);
            let other = vfs.clone();
            let (mut handle, calls) = open_interrupted(&vfs, at, move || {
                put(
                    &mut open_with_blobs(&other, BLOB_BYTES_MIN).expect("open"),
                    b"other",
                    &value(2),
                );
            });
            put(&mut handle, b"kept", &value(2));
            let is_done = calls.load(Ordering::Relaxed) <= at;
            drop(handle);
            let mut reader = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
            assert_eq!(get(&mut reader, b"kept"), Some(value(2)), "before call {at}");
            if is_done {
                break;
            }
            assert_eq!(get(&mut reader, b"other"), Some(value(2)), "before call {at}");
        }
    }
}

#[test]
fn blobs_count_towards_the_size_cap() {
    let vfs = SimVfs::new();
    let options =
        Options { bytes_max: 2_000, blob_bytes_min: BLOB_BYTES_MIN, ..Options::default() };
    let mut handle = open_with(&vfs, options).expect("open");
    let mut random = vec![0; 5_000];
    fastrand::Rng::with_seed(1).fill(&mut random);
    put(&mut handle, b"key", &random);
    compact(&handle, true).expect("compact");
    assert_eq!((get(&mut handle, b"key").is_some(), files_of(&vfs).len()), (false, 0));
}

/// A directory in which another process acts just before the n-th call.
#[derive(Clone)]
struct Interrupted {
    folder: Arc<dyn Vfs>,
    calls: Arc<AtomicUsize>,
    at: usize,
    act: Arc<Mutex<dyn FnMut() + Send>>,
}

impl Interrupted {
    fn pass(&self) -> &dyn Vfs {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.at {
            self.act.lock().expect("not poisoned")();
        }
        &*self.folder
    }
}

impl std::fmt::Debug for Interrupted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.folder.fmt(out)
    }
}

impl Vfs for Interrupted {
    fn list(&self) -> io::Result<Vec<String>> {
        self.pass().list()
    }
    fn folders(&self) -> io::Result<Vec<String>> {
        self.pass().folders()
    }
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        self.pass().open(name, access)
    }
    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.pass().create_new(name)
    }
    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        self.pass().stat(name)
    }
    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        self.pass().link(source, target)
    }
    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        self.pass().rename(source, target)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.pass().remove(name)
    }
    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        Ok(Arc::new(Self { folder: self.folder.folder(name)?, ..self.clone() }))
    }
    fn sync_folder(&self) -> io::Result<()> {
        self.pass().sync_folder()
    }
}

fn open_interrupted(
    vfs: &SimVfs,
    at: usize,
    act: impl FnMut() + Send + 'static,
) -> (Handle, Arc<AtomicUsize>) {
    let calls: Arc<AtomicUsize> = Arc::default();
    let folder = Interrupted {
        folder: Arc::new(vfs.clone()),
        calls: Arc::clone(&calls),
        at,
        act: Arc::new(Mutex::new(act)),
    };
    let options = Options { blob_bytes_min: BLOB_BYTES_MIN, ..Options::default() };
    (Store::open(Arc::new(folder), Arc::new(SerialPool), options).expect("open").handle(), calls)
}

/// A directory with one blob that no entry names any more and one that an entry names.
fn with_garbage(vfs: SimVfs) -> SimVfs {
    let mut handle = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
    put(&mut handle, b"old", &value(1));
    put(&mut handle, b"kept", &value(2));
    put(&mut handle, b"old", b"small now");
    handle.store().close().expect("close");
    vfs
}

const MACHINES: [fn() -> SimVfs; 4] = [
    SimVfs::new,
    || SimVfs::new().without_locks(),
    || SimVfs::new().without_links(),
    || SimVfs::new().without_links().without_locks(),
];

/// Another process stores the same content again before each step of a collection. Nothing is lost.
#[test]
fn a_blob_committed_during_a_collection_stays() {
    for machine in MACHINES {
        for at in 0.. {
            let vfs = with_garbage(machine());
            let other = vfs.clone();
            let (handle, calls) = open_interrupted(&vfs, at, move || {
                put(&mut open_with_blobs(&other, BLOB_BYTES_MIN).expect("open"), b"new", &value(1));
            });
            compact(&handle, true).expect("compact");
            let done = calls.load(Ordering::Relaxed) <= at;
            drop(handle);
            check_interrupted(&vfs, !done, &format!("commit before call {at} of the collection"));
            if done {
                break;
            }
        }
    }
}

/// The collector gave the blob its name back and removed the other one. A power failure took the first change and not
/// the second, so a durable entry was a miss.
#[test]
fn a_blob_committed_durably_during_a_collection_survives_a_power_failure() {
    for machine in MACHINES {
        for at in 0.. {
            let vfs = with_garbage(machine());
            let (other, committed) = (vfs.clone(), Arc::<AtomicUsize>::default());
            let count = Arc::clone(&committed);
            let (handle, calls) = open_interrupted(&vfs, at, move || {
                let mut handle = open_with_blobs(&other, BLOB_BYTES_MIN).expect("open");
                let id = handle.namespace("n", "1").expect("namespace");
                handle.put(id, b"new", &value(1)).expect("put");
                commit(&mut handle, Durability::Durable).expect("commit");
                count.store(other.operation_count(), Ordering::Relaxed);
            });
            compact(&handle, true).expect("compact");
            if calls.load(Ordering::Relaxed) <= at {
                break;
            }
            for state in vfs.crash_states(Model::Posix, committed.load(Ordering::Relaxed), 1, 9) {
                let found =
                    get(&mut open_with_blobs(&state.vfs, BLOB_BYTES_MIN).expect("open"), b"new");
                assert_eq!(
                    found,
                    Some(value(1)),
                    "commit before call {at}; {}",
                    state.description()
                );
            }
        }
    }
}

/// Like the first of these tests, but the entry is committed only after the collection.
#[test]
fn blobs_stored_during_a_collection_stay_until_an_entry_names_them() {
    // Without a lock, this very compaction may checkpoint the log that pins the blobs.
    for machine in [SimVfs::new, || SimVfs::new().without_links()] as [fn() -> SimVfs; 2] {
        for at in 0.. {
            let vfs = with_garbage(machine());
            let other = vfs.clone();
            let stored = Arc::new(Mutex::new(None));
            let storing = Arc::clone(&stored);
            let (handle, calls) = open_interrupted(&vfs, at, move || {
                let handle = open_with_blobs(&other, BLOB_BYTES_MIN).expect("open");
                let (files, hold) = store(&handle, &[&value(1)]);
                *storing.lock().expect("not poisoned") = Some((handle, files, hold));
            });
            compact(&handle, true).expect("compact");
            let Some((mut other, files, hold)) = stored.lock().expect("not poisoned").take() else {
                assert!(calls.load(Ordering::Relaxed) <= at);
                break;
            };
            other.keep(hold);
            let id = other.namespace("n", "1").expect("namespace");
            other.put_with_blobs(id, b"new", &value(1), &files).expect("put");
            commit(&mut other, Durability::Relaxed).expect("commit");
            compact(&handle, true).expect("compact");
            drop((handle, other));
            check_interrupted(
                &vfs,
                true,
                &format!("files stored before call {at} of the collection"),
            );
        }
    }
}

/// A call failed after the blob was stored, so the writer left the log that pinned it. A compaction collected the blob,
/// and the next commit put an entry without it, which later processes reported as damage.
#[test]
fn an_entry_is_a_miss_if_its_blob_was_collected_after_a_call_had_failed() {
    let vfs = SimVfs::new();
    let mut handle = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
    let (files, pin) = store(&handle, &[&value(1)]);
    vfs.fail(Fault {
        call: Some(Call::Stat),
        after: 0,
        forever: false,
        effect: Effect::Error(io::ErrorKind::Other),
    });
    BlobWriter::new(handle.store()).expect_err("the log cannot be checked");
    compact(&open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open"), true).expect("compact");
    let id = handle.namespace("n", "1").expect("namespace");
    handle.keep(pin);
    handle.put_with_blobs(id, b"output", &value(1), &files).expect("put");
    handle.put(id, b"other", b"value").expect("put");
    commit(&mut handle, Durability::Relaxed).expect("commit");
    let mut reader = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
    assert_eq!(
        (get(&mut reader, b"output"), get(&mut reader, b"other")),
        (None, Some(b"value".to_vec()))
    );
    assert!(is_sound(&reader));
}

/// Another process collects before each step of a commit.
#[test]
fn a_collection_during_a_commit_keeps_its_blob() {
    for machine in MACHINES {
        for at in 0.. {
            let vfs = with_garbage(machine());
            let other = vfs.clone();
            let (mut handle, calls) = open_interrupted(&vfs, at, move || {
                compact(&open_with_blobs(&other, BLOB_BYTES_MIN).expect("open"), true)
                    .expect("compact");
            });
            put(&mut handle, b"new", &value(1));
            let done = calls.load(Ordering::Relaxed) <= at;
            drop(handle);
            check_interrupted(&vfs, true, &format!("collection before call {at} of the commit"));
            if done {
                break;
            }
        }
    }
}

fn check_interrupted(vfs: &SimVfs, is_put: bool, context: &str) {
    for _ in 0..2 {
        let mut handle = open_with_blobs(vfs, BLOB_BYTES_MIN).expect("open");
        assert_eq!(get(&mut handle, b"new"), is_put.then(|| value(1)), "{context}");
        assert_eq!(get(&mut handle, b"kept"), Some(value(2)), "{context}");
        assert!(is_sound(&handle), "{context}");
        compact(&handle, true).expect("compact");
    }
    let files = files_of(vfs);
    assert!(files.len() == 1 + usize::from(is_put), "{context}: {files:?}");
}
