//! A file system in the middle of whose calls somebody else acts: what races look like in one thread.

use crate::history::{commit, open};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::{Access, File, Stat, Vfs};
use varve_core::{Durability, Handle, Options, SerialPool, Store};

/// Hears of a call and the name of a file.
pub(crate) type Meddler = Box<dyn FnMut(&str, &str) + Send>;

/// A folder in which `meddler` acts whenever names are about to be listed, or one to be opened, linked, renamed or
/// removed.
struct Meddled {
    vfs: Arc<dyn Vfs>,
    meddler: Arc<Mutex<Meddler>>,
}

impl Meddled {
    fn new(vfs: &SimVfs, meddler: Meddler) -> Arc<Self> {
        Arc::new(Self { vfs: Arc::new(vfs.clone()), meddler: Arc::new(Mutex::new(meddler)) })
    }

    fn meddle(&self, call: &str, name: &str) {
        self.meddler.lock().expect("meddler")(call, name);
    }
}

impl Vfs for Meddled {
    fn list(&self) -> io::Result<Vec<String>> {
        self.meddle("list", "");
        self.vfs.list()
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        self.vfs.folders()
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        self.meddle("open", name);
        self.vfs.open(name, access)
    }

    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.vfs.create_new(name)
    }

    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        self.vfs.stat(name)
    }

    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        self.meddle("link", target);
        self.vfs.link(source, target)
    }

    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        self.meddle("rename", source);
        self.vfs.rename(source, target)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.meddle("remove", name);
        self.vfs.remove(name)
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        Ok(Arc::new(Self { vfs: self.vfs.folder(name)?, meddler: Arc::clone(&self.meddler) }))
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.meddle("sync_folder", "");
        self.vfs.sync_folder()
    }
}

impl fmt::Debug for Meddled {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.vfs.fmt(out)
    }
}

pub(crate) fn put(handle: &mut Handle, key: &[u8]) -> u32 {
    put_with(handle, key, Durability::Durable)
}

pub(crate) fn put_with(handle: &mut Handle, key: &[u8], durability: Durability) -> u32 {
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, key, b"value").expect("put");
    commit(handle, durability).expect("commit");
    id
}

/// A folder with one commit, whose writer lives.
pub(crate) fn with_a_commit() -> (SimVfs, Handle, u32) {
    with_a_commit_in(SimVfs::new())
}

pub(crate) fn with_a_commit_in(vfs: SimVfs) -> (SimVfs, Handle, u32) {
    let mut handle = open(&vfs).expect("open");
    let id = put(&mut handle, b"key");
    (vfs, handle, id)
}

/// Opens the folder as a new participant, beside whom `meddler` acts.
pub(crate) fn meddled(vfs: &SimVfs, meddler: Meddler) -> Handle {
    meddled_with(vfs, meddler, 1)
}

/// The same, of those with names of their own.
pub(crate) fn meddled_with(vfs: &SimVfs, meddler: Meddler, random: u64) -> Handle {
    let options = Options { random, ..Options::default() };
    Store::open(Meddled::new(vfs, meddler), Arc::new(SerialPool), options).expect("open").handle()
}

/// What somebody finds who opens the folder while `meddler` acts, and the damage that is told.
pub(crate) fn opened_with(vfs: &SimVfs, meddler: Meddler) -> (Option<Vec<u8>>, usize) {
    let mut handle = meddled(vfs, meddler);
    let id = handle.namespace("n", "1").expect("namespace");
    (handle.get(id, b"key", <[u8]>::to_vec).expect("get"), handle.store().status().damage.len())
}
