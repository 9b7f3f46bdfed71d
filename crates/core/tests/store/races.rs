//! Symptoms of races that `npm run test:soak` found (`interleavings`, `writers`). Somebody else acts in the middle of a
//! call: just before the file system is asked to open a file.

use crate::history::{commit, compact, open};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use varve_core::vfs::sim::SimVfs;
use varve_core::vfs::{Access, File, Vfs};
use varve_core::{Durability, Handle, Options, SerialPool, Store};

type Meddler = Box<dyn FnMut(&str) + Send>;

/// A folder in which `meddler` acts whenever a file is about to be opened.
struct Meddled {
    vfs: SimVfs,
    meddler: Mutex<Meddler>,
}

impl Vfs for Meddled {
    fn list(&self) -> io::Result<Vec<String>> {
        self.vfs.list()
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        self.meddler.lock().expect("meddler")(name);
        self.vfs.open(name, access)
    }

    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.vfs.create_new(name)
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        self.vfs.exists(name)
    }

    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        self.vfs.link(source, target)
    }

    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        self.vfs.rename(source, target)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.vfs.remove(name)
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        self.vfs.folder(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.vfs.sync_folder()
    }
}

impl fmt::Debug for Meddled {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.vfs.fmt(out)
    }
}

/// A folder with one commit, whose writer lives.
fn with_a_commit() -> (SimVfs, Handle, u32) {
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, b"key", b"value").expect("put");
    commit(&mut handle, Durability::Relaxed).expect("commit");
    (vfs, handle, id)
}

/// What somebody finds who opens the folder while `meddler` acts, and the damage that is told.
fn opened_with(vfs: &SimVfs, meddler: Meddler) -> (Option<Vec<u8>>, usize) {
    let vfs = Arc::new(Meddled { vfs: vfs.clone(), meddler: Mutex::new(meddler) });
    let store = Store::open(vfs, Arc::new(SerialPool), Options::default()).expect("open");
    let mut handle = store.handle();
    let id = handle.namespace("n", "1").expect("namespace");
    (handle.get(id, b"key", <[u8]>::to_vec).expect("get"), store.status().damage.len())
}

/// The log was listed, then taken, and its number created once more by somebody who had seen the folder when it was
/// empty. He would see that the number is used and go; whoever opened the cache at that moment missed the commits.
#[test]
fn a_commit_is_not_missed_while_its_log_is_taken_and_the_name_created_once_more() {
    let (vfs, _writer, _) = with_a_commit();
    let (other, mut is_done) = (vfs.clone(), false);
    let found = opened_with(
        &vfs,
        Box::new(move |name| {
            if name == "0.log" && !std::mem::replace(&mut is_done, true) {
                other.rename("0.log", "0-1.taken").expect("take");
                other.create_new("0.log").expect("create");
            }
        }),
    );
    assert_eq!(found, (Some(b"value".to_vec()), 0));
}

/// Each time that the manifest is about to be read, a compaction has replaced it.
#[test]
fn who_loses_every_race_against_compactions_tells_no_damage() {
    let (vfs, mut writer, id) = with_a_commit();
    compact(&writer, true).expect("compact");
    let mut races = 0u32;
    let found = opened_with(
        &vfs,
        Box::new(move |name| {
            if name.starts_with("manifest-") && races < 100 {
                races += 1;
                writer.put(id, b"other", &races.to_le_bytes()).expect("put");
                commit(&mut writer, Durability::Relaxed).expect("commit");
                compact(&writer, true).expect("compact");
            }
        }),
    );
    assert_eq!(found, (Some(b"value".to_vec()), 0));
}

/// A writer without a lock commits so much that it writes a table, and before it opens that table somebody has folded
/// its log and merged the table into another. It told the table as damaged and missed its own commit.
#[test]
fn who_has_just_committed_a_table_reads_it_although_it_is_merged_already() {
    let vfs = SimVfs::new().without_locks();
    let (other, mut is_done) = (vfs.clone(), false);
    let meddler: Meddler = Box::new(move |name| {
        if name.ends_with(".table") && !std::mem::replace(&mut is_done, true) {
            compact(&open(&other).expect("open"), true).expect("compact");
        }
    });
    let meddled = Arc::new(Meddled { vfs, meddler: Mutex::new(meddler) });
    let store = Store::open(meddled, Arc::new(SerialPool), Options::default()).expect("open");
    let mut handle = store.handle();
    let id = handle.namespace("n", "1").expect("namespace");
    let value = vec![7; 600 << 10];
    for round in 0..2u8 {
        for key in [b"large", b"great"] {
            handle.put(id, key, &value).expect("put");
        }
        handle.put(id, b"key", &[round]).expect("put");
        commit(&mut handle, Durability::Relaxed).expect("commit");
        assert_eq!(handle.get(id, b"key", <[u8]>::to_vec).expect("get"), Some(vec![round]));
        assert_eq!(handle.get(id, b"large", <[u8]>::len).expect("get"), Some(value.len()));
    }
    assert_eq!(store.status().damage.len(), 0);
}
