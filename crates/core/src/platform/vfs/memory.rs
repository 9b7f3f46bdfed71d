//! Files in memory: a cache without a disk, as in a browser. They are discarded when the process exits, so a sync does
//! nothing.
//!
//! A file opened with [`Access::Random`] never changes again by contract. So its handle has the bytes of the moment
//! when it was opened and lends them without a copy. [`Access::Stream`] sees appends and therefore copies. An append
//! while a lending handle is open copies the bytes first, which is slow but correct.

use super::{Access, File, Stat, Vfs};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One directory in memory. A clone is the same directory.
#[derive(Clone, Debug, Default)]
pub struct MemVfs {
    names: Arc<Mutex<BTreeMap<String, Arc<Inode>>>>,
    folders: Arc<Mutex<BTreeMap<String, MemVfs>>>,
}

/// A file; it lives as long as one of its names or handles.
#[derive(Debug, Default)]
struct Inode {
    bytes: Mutex<Arc<Vec<u8>>>,
    locked: AtomicBool,
}

impl MemVfs {
    /// An empty directory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is a file in it or below it.
    fn is_used(&self) -> bool {
        !self.names().is_empty() || lock(&self.folders).values().any(Self::is_used)
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Inode>>> {
        lock(&self.names)
    }
}

impl Vfs for MemVfs {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.names().keys().cloned().collect())
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        let folders = lock(&self.folders);
        Ok(folders
            .iter()
            .filter(|(_, folder)| folder.is_used())
            .map(|(name, _)| name.clone())
            .collect())
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        let inode = self.names().get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(match access {
            Access::Stream => Arc::new(StreamFile::new(inode, false)),
            Access::Random => {
                let bytes = lock(&inode.bytes).clone();
                Arc::new(RandomFile { stream: StreamFile::new(inode, false), bytes })
            }
        })
    }

    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut names = self.names();
        if names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = Arc::<Inode>::default();
        names.insert(name.to_owned(), inode.clone());
        Ok(Arc::new(StreamFile::new(inode, true)))
    }

    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        let inode = self.names().get(name).cloned();
        Ok(inode.map(|inode| Stat {
            file: Arc::as_ptr(&inode).addr() as u64,
            bytes: lock(&inode.bytes).len() as u64,
            changed: 0,
        }))
    }

    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        let mut names = self.names();
        let inode = names.get(source).cloned().ok_or(io::ErrorKind::NotFound)?;
        if names.contains_key(target) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        names.insert(target.to_owned(), inode);
        Ok(())
    }

    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        let mut names = self.names();
        let inode = names.remove(source).ok_or(io::ErrorKind::NotFound)?;
        names.insert(target.to_owned(), inode);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.names().remove(name).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        Ok(Arc::new(lock(&self.folders).entry(name.to_owned()).or_default().clone()))
    }

    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A handle that reads the current content.
#[derive(Debug)]
struct StreamFile {
    inode: Arc<Inode>,
    writable: bool,
    holds_lock: AtomicBool,
}

impl StreamFile {
    fn new(inode: Arc<Inode>, writable: bool) -> Self {
        Self { inode, writable, holds_lock: AtomicBool::new(false) }
    }
}

impl File for StreamFile {
    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.inode.bytes).len() as u64)
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        let bytes = lock(&self.inode.bytes);
        Ok(Cow::Owned(window(&bytes, offset, length)?.to_vec()))
    }

    fn append(&self, parts: &[&[u8]]) -> io::Result<()> {
        if !self.writable {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut bytes = lock(&self.inode.bytes);
        let bytes = Arc::make_mut(&mut bytes);
        let added: usize = parts.iter().map(|part| part.len()).sum();
        bytes.try_reserve(added).map_err(|_| io::ErrorKind::OutOfMemory)?;
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        if self.holds_lock.load(Ordering::Acquire) {
            return Ok(true);
        }
        let taken = self
            .inode
            .locked
            .compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if taken {
            self.holds_lock.store(true, Ordering::Release);
        }
        Ok(taken)
    }
}

impl Drop for StreamFile {
    fn drop(&mut self) {
        if self.holds_lock.load(Ordering::Acquire) {
            self.inode.locked.store(false, Ordering::Release);
        }
    }
}

/// A handle that lends the bytes that the file had when it was opened.
#[derive(Debug)]
struct RandomFile {
    stream: StreamFile,
    bytes: Arc<Vec<u8>>,
}

impl File for RandomFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        window(&self.bytes, offset, length).map(Cow::Borrowed)
    }

    fn append(&self, parts: &[&[u8]]) -> io::Result<()> {
        self.stream.append(parts)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.stream.try_lock()
    }
}

fn window(bytes: &[u8], offset: u64, length: usize) -> io::Result<&[u8]> {
    let start = usize::try_from(offset).ok();
    start
        .and_then(|start| bytes.get(start..start.checked_add(length)?))
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// A panic elsewhere leaves every value here complete, so a poisoned lock can be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::contract::contract;

    #[test]
    fn the_memory_file_system_keeps_the_contract() {
        contract(&|| Arc::new(MemVfs::new()));
    }

    #[test]
    fn a_random_access_handle_lends_its_bytes_without_a_copy() {
        let folder = MemVfs::new();
        folder.create_new("a").unwrap().append(&[b"abc"]).unwrap();
        let file = folder.open("a", Access::Random).unwrap();
        assert!(matches!(file.read(1, 2).unwrap(), Cow::Borrowed(b"bc")));
    }
}
