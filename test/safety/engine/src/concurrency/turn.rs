//! A folder whose users take turns: each call may pass the turn to another participant. Wraps `SimVfs`, in which
//! every call is atomic, and adds two calls that are not:
//! - a list of names is read in two parts, and the folder may change in between;
//! - an append may become visible in two parts, and its writer may be killed in between.

use super::world::{Machine, World};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;
use varve_core::testing::sim::Call;
use varve_core::vfs::{Access, File, Stat, Vfs};

/// The platform of one participant.
#[derive(Clone)]
pub(super) struct TurnVfs {
    inner: Arc<dyn Vfs>,
    world: Arc<World>,
    has_locks: bool,
}

impl TurnVfs {
    pub(super) fn new(world: &Arc<World>, has_locks: bool) -> Self {
        Self { inner: Arc::new(world.vfs.clone()), world: Arc::clone(world), has_locks }
    }

    fn turn(&self, call: &str, name: &str) {
        self.world.turn(call, name);
    }

    /// A turn before a call that may fail.
    fn risk(&self, call: Call, text: &str, name: &str) {
        self.world.turn(text, name);
        self.world.may_fail(call);
    }

    fn names(
        &self,
        call: &str,
        list: impl Fn(&dyn Vfs) -> io::Result<Vec<String>>,
    ) -> io::Result<Vec<String>> {
        self.risk(Call::List, call, "");
        let first = list(&*self.inner)?;
        if !self.world.tears_now() {
            return Ok(first);
        }
        self.turn("list on", "");
        let salt = self.world.random(u64::MAX);
        let is_late = |name: &String| mixed(name, salt) & 1 == 1;
        let late = list(&*self.inner)?.into_iter().filter(is_late);
        Ok(first.into_iter().filter(|name| !is_late(name)).chain(late).collect())
    }

    fn file(&self, name: &str, inner: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(TurnFile { inner, name: name.to_owned(), vfs: self.clone() })
    }
}

impl Vfs for TurnVfs {
    fn list(&self) -> io::Result<Vec<String>> {
        self.names("list", |folder| folder.list())
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        self.names("list folders", |folder| folder.folders())
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        self.risk(Call::Open, "open", name);
        Ok(self.file(name, self.inner.open(name, access)?))
    }

    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.risk(Call::CreateNew, "create", name);
        Ok(self.file(name, self.inner.create_new(name)?))
    }

    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        self.risk(Call::Stat, "stat", name);
        self.inner.stat(name)
    }

    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        self.risk(Call::Link, "link to", target);
        self.inner.link(source, target)
    }

    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        self.risk(Call::Rename, "rename to", target);
        self.inner.rename(source, target)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.risk(Call::Remove, "remove", name);
        self.inner.remove(name)
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        Ok(Arc::new(Self { inner: self.inner.folder(name)?, ..self.clone() }))
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.risk(Call::SyncFolder, "sync folder", "");
        self.inner.sync_folder()
    }
}

impl fmt::Debug for TurnVfs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(out)
    }
}

struct TurnFile {
    inner: Arc<dyn File>,
    name: String,
    vfs: TurnVfs,
}

impl File for TurnFile {
    fn len(&self) -> io::Result<u64> {
        self.vfs.turn("length of", &self.name);
        self.inner.len()
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        self.vfs.turn("read", &self.name);
        self.inner.read(offset, length)
    }

    fn append(&self, parts: &[&[u8]]) -> io::Result<()> {
        self.vfs.risk(Call::Append, "append to", &self.name);
        if !self.vfs.world.tears_now() {
            return self.inner.append(parts);
        }
        let bytes = parts.concat();
        let (first, rest) = bytes.split_at(self.vfs.world.random(bytes.len() as u64 + 1) as usize);
        self.inner.append(&[first])?;
        self.vfs.turn("append rest to", &self.name);
        self.inner.append(&[rest])
    }

    fn append_durable(&self, parts: &[&[u8]]) -> io::Result<()> {
        if self.vfs.world.machine != Machine::Padded {
            self.append(parts)?;
            return self.sync();
        }
        self.vfs.risk(Call::Append, "append and sync", &self.name);
        self.inner.append_durable(parts)
    }

    fn sync(&self) -> io::Result<()> {
        self.vfs.risk(Call::Sync, "sync", &self.name);
        self.inner.sync()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.vfs.turn("lock", &self.name);
        if self.vfs.has_locks {
            self.inner.try_lock()
        } else {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

impl fmt::Debug for TurnFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(out)
    }
}

/// FNV-1a, salted: which half of a list a name is in.
fn mixed(name: &str, salt: u64) -> u64 {
    let hash = name.bytes().fold(salt ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    hash >> 17
}
