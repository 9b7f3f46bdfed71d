//! Defects in the use of files. The engine above and the files below are correct; the call between them is omitted,
//! made too late, or its result is ignored.

use super::chosen::is;
use crate::platform::vfs::{Access, File, Stat, Vfs};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

const DEFECTS: [&str; 7] = [
    "skip-table-sync",
    "skip-folder-sync",
    "link-before-sync",
    "accept-short-write",
    "ack-before-sync",
    "retry-sync",
    "lock-always-free",
];

/// The same files, with the planted defect if it is one of these.
pub(super) fn wrapped(vfs: Arc<dyn Vfs>) -> Arc<dyn Vfs> {
    if DEFECTS.into_iter().any(is) {
        Arc::new(Defective { vfs, late: Mutex::default() })
    } else {
        vfs
    }
}

#[derive(Debug)]
struct Defective {
    vfs: Arc<dyn Vfs>,
    /// Files that are synced only under their final names, by their temporary names.
    late: Mutex<HashMap<String, Arc<dyn File>>>,
}

#[derive(Debug)]
struct DefectiveFile {
    file: Arc<dyn File>,
    is_table: bool,
    is_late: bool,
}

impl Vfs for Defective {
    fn list(&self) -> io::Result<Vec<String>> {
        self.vfs.list()
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        self.vfs.folders()
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(DefectiveFile {
            file: self.vfs.open(name, access)?,
            is_table: false,
            is_late: false,
        }))
    }

    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let file = self.vfs.create_new(name)?;
        let is_late = is("link-before-sync") && name.ends_with(".tmp");
        if is_late {
            self.late
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(name.to_owned(), Arc::clone(&file));
        }
        Ok(Arc::new(DefectiveFile { file, is_table: name.ends_with(".table"), is_late }))
    }

    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        self.vfs.stat(name)
    }

    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner).remove(source);
        self.vfs.link(source, target)?;
        late.map_or(Ok(()), |file| file.sync())
    }

    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        self.vfs.rename(source, target)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.vfs.remove(name)
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        Ok(wrapped(self.vfs.folder(name)?))
    }

    fn sync_folder(&self) -> io::Result<()> {
        if is("skip-folder-sync") { Ok(()) } else { self.vfs.sync_folder() }
    }
}

impl File for DefectiveFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        self.file.read(offset, length)
    }

    fn release(&self) {
        self.file.release();
    }

    fn append(&self, parts: &[&[u8]]) -> io::Result<()> {
        match self.file.append(parts) {
            // A part may have been written; the defect ignores the error.
            Err(_) if is("accept-short-write") => Ok(()),
            outcome => outcome,
        }
    }

    fn sync(&self) -> io::Result<()> {
        if self.is_late || (self.is_table && is("skip-table-sync")) {
            return Ok(());
        }
        match self.file.sync() {
            Err(_) if is("ack-before-sync") => Ok(()),
            Err(_) if is("retry-sync") => self.file.sync(),
            outcome => outcome,
        }
    }

    fn try_lock(&self) -> io::Result<bool> {
        let taken = self.file.try_lock()?;
        Ok(taken || is("lock-always-free"))
    }
}
