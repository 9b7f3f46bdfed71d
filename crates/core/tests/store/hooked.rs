//! A file system that runs a callback in the middle of calls, to reproduce races in one thread.

use crate::history::{commit, open, open_with};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::{Access, File, Stat, Vfs};
use varve_core::{Durability, Handle, Options, SerialPool, Store};

/// Receives the name of a call and of a file.
pub(crate) type Hook = Box<dyn FnMut(&str, &str) + Send>;

/// A directory that runs `hook` before it lists names, and before it opens, creates, measures, reads, links, renames or
/// removes a file.
struct Hooked {
    vfs: Arc<dyn Vfs>,
    hook: Arc<Mutex<Hook>>,
}

impl Hooked {
    fn new(vfs: &SimVfs, hook: Hook) -> Arc<Self> {
        Arc::new(Self { vfs: Arc::new(vfs.clone()), hook: Arc::new(Mutex::new(hook)) })
    }

    fn call_hook(&self, call: &str, name: &str) {
        self.hook.lock().expect("hook")(call, name);
    }
}

impl Vfs for Hooked {
    fn list(&self) -> io::Result<Vec<String>> {
        self.call_hook("list", "");
        self.vfs.list()
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        self.vfs.folders()
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        self.call_hook("open", name);
        let (file, hook) = (self.vfs.open(name, access)?, Arc::clone(&self.hook));
        Ok(Arc::new(HookedFile { file, name: name.to_owned(), hook }))
    }

    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.call_hook("create_new", name);
        self.vfs.create_new(name)
    }

    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        self.vfs.stat(name)
    }

    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        self.call_hook("link", target);
        self.vfs.link(source, target)
    }

    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        self.call_hook("rename", source);
        self.vfs.rename(source, target)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.call_hook("remove", name);
        self.vfs.remove(name)
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        Ok(Arc::new(Self { vfs: self.vfs.folder(name)?, hook: Arc::clone(&self.hook) }))
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.call_hook("sync_folder", "");
        self.vfs.sync_folder()
    }
}

impl fmt::Debug for Hooked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.vfs.fmt(out)
    }
}

/// An open file of a [`Hooked`] directory. Varve measures it before each scan.
struct HookedFile {
    file: Arc<dyn File>,
    name: String,
    hook: Arc<Mutex<Hook>>,
}

impl File for HookedFile {
    fn len(&self) -> io::Result<u64> {
        self.hook.lock().expect("hook")("len", &self.name);
        self.file.len()
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        self.hook.lock().expect("hook")("read", &self.name);
        self.file.read(offset, length)
    }

    fn append(&self, parts: &[&[u8]]) -> io::Result<()> {
        self.file.append(parts)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }
}

impl fmt::Debug for HookedFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(out)
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

/// A directory with one commit, whose writer is still alive.
pub(crate) fn with_a_commit() -> (SimVfs, Handle, u32) {
    with_a_commit_in(SimVfs::new())
}

pub(crate) fn with_a_commit_in(vfs: SimVfs) -> (SimVfs, Handle, u32) {
    let mut handle = open(&vfs).expect("open");
    let id = put(&mut handle, b"key");
    (vfs, handle, id)
}

/// Opens the directory as a new process whose calls run `hook`.
pub(crate) fn hooked(vfs: &SimVfs, hook: Hook) -> Handle {
    hooked_with(vfs, hook, 1)
}

/// Opens the directory as a new process, for tests that open several. `random` determines the names that it uses.
pub(crate) fn open_seeded(vfs: &SimVfs, random: u64) -> Handle {
    open_with(vfs, Options { random, ..Options::default() }).expect("open")
}

/// Like [`hooked`], for tests that open several. `random` determines the names that the process uses.
pub(crate) fn hooked_with(vfs: &SimVfs, hook: Hook, random: u64) -> Handle {
    hooked_by(vfs, hook, Options { random, ..Options::default() }).expect("open")
}

/// Like [`hooked`], with options.
pub(crate) fn hooked_by(vfs: &SimVfs, hook: Hook, options: Options) -> varve_core::Result<Handle> {
    Store::open(Hooked::new(vfs, hook), Arc::new(SerialPool), options).map(|store| store.handle())
}

/// Opens the directory while `hook` acts. Returns the value of `key` and the number of damaged places reported.
pub(crate) fn opened_with(vfs: &SimVfs, hook: Hook) -> (Option<Vec<u8>>, usize) {
    let mut handle = hooked(vfs, hook);
    let id = handle.namespace("n", "1").expect("namespace");
    (handle.get(id, b"key", <[u8]>::to_vec).expect("get"), handle.store().status().damage.len())
}

/// The start of a log, without its commits.
pub(crate) fn first_frame(log: &[u8]) -> Vec<u8> {
    let bytes = u32::from_le_bytes(log[4..8].try_into().expect("four bytes")) as usize;
    log[..(32 + bytes).next_multiple_of(32)].to_vec()
}
