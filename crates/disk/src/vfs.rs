//! A directory on a disk.
//!
//! Rules: The directory is created with the first file. Only its owner has access to it and to its files. No link below
//! the directory is followed, nothing is written through a cache directory that is a link, and only regular files are
//! read. A FIFO, device or directory under the name of a file is `InvalidInput` at once: no call waits for another
//! program.

use crate::file::DiskFile;
use crate::platform;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;
use varve_core::failpoints;
use varve_core::vfs::{Access, File, Stat, Vfs};

/// How many directories above this one are synced the first time: the cache directory and its parent.
const ANCESTORS_SYNCED: usize = 2;

/// One folder on a disk.
#[derive(Debug)]
pub struct DiskVfs {
    folder: PathBuf,
    /// Whether files here may be mapped, decided by the first file that is opened for mapping.
    mappable: OnceLock<bool>,
    /// The directory whose name was synced in those above it: another one has it if the directory was removed.
    named: Mutex<Option<FolderIdentity>>,
    /// The number of directories of the cache above this one.
    depth: usize,
    /// Whether neither these nor this one is a link; checked before the first write.
    is_real: AtomicBool,
}

impl DiskVfs {
    /// The directory at `folder`, which need not exist. Accesses no file.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            mappable: OnceLock::new(),
            named: Mutex::default(),
            depth: 0,
            is_real: AtomicBool::new(false),
        }
    }

    /// Fails if this directory, or a directory of the cache above it, is a link. An attacker may have created it to
    /// redirect writes.
    fn check_real(&self) -> io::Result<()> {
        if self.is_real.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut are_all_there = true;
        for folder in self.folder.ancestors().take(self.depth + 1) {
            match fs::symlink_metadata(folder) {
                Ok(metadata) if metadata.is_symlink() => {
                    return Err(io::Error::new(
                        ErrorKind::PermissionDenied,
                        "a directory of the cache is a symbolic link",
                    ));
                }
                Ok(_) => {}
                // Directories that do not exist yet are created by this process.
                Err(error) if error.kind() == ErrorKind::NotFound => are_all_there = false,
                Err(error) => return Err(error),
            }
        }
        self.is_real.store(are_all_there, Ordering::Relaxed);
        Ok(())
    }

    /// The path of this directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The names of one kind in the directory.
    fn names_of(&self, is_wanted: fn(&fs::FileType) -> bool) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            // A file that vanished since the directory was read no longer counts. Names that Varve writes are UTF-8.
            if entry.file_type().is_ok_and(|kind| is_wanted(&kind)) {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    /// The path of a file. A name that leads out of the directory is rejected.
    fn path(&self, name: &str) -> io::Result<PathBuf> {
        let separator = |symbol| {
            matches!(symbol, '/' | '\0') || (cfg!(windows) && matches!(symbol, '\\' | ':'))
        };
        if matches!(name, "" | "." | "..") || name.contains(separator) {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "not the name of a file in the directory",
            ));
        }
        Ok(self.folder.join(name))
    }

    /// Makes the directory's own name survive, whichever process created it. Directories above may not be accessible.
    /// `false` = it was done before.
    fn sync_name(&self) -> bool {
        let found = FolderIdentity::of(&self.folder);
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_some() && *named == found {
            return false;
        }
        for ancestor in self.folder.ancestors().skip(1).take(ANCESTORS_SYNCED) {
            let _ = platform::sync_folder(ancestor);
        }
        *named = found;
        true
    }

    /// Opens a regular file. Its kind is read from the open file, so it cannot be swapped in between.
    fn open_regular(&self, name: &str) -> io::Result<(fs::File, fs::Metadata)> {
        let path = self.path(name)?;
        let file = platform::open_for_reading(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => error,
            _ if is_irregular(&path) => irregular(),
            _ => unless_removed(&path, error),
        })?;
        let metadata = file.metadata()?;
        if metadata.is_file() { Ok((file, metadata)) } else { Err(irregular()) }
    }
}

/// Distinguishes a directory from one that is created again under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FolderIdentity {
    /// The inode, which a new directory may have again.
    number: u64,
    created: Option<SystemTime>,
}

impl FolderIdentity {
    fn of(folder: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(folder).ok()?;
        Some(Self { number: platform::folder_number(&metadata), created: metadata.created().ok() })
    }
}

impl Vfs for DiskVfs {
    fn list(&self) -> io::Result<Vec<String>> {
        failpoints::panics("disk-list");
        self.names_of(fs::FileType::is_file)
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        self.names_of(fs::FileType::is_dir)
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        let (file, metadata) = self.open_regular(name)?;
        if access == Access::Random
            && *self.mappable.get_or_init(|| platform::is_mappable(&file))
            && let Some(mapped) = platform::map(&file, metadata.len())
        {
            return Ok(mapped);
        }
        Ok(Arc::new(DiskFile::new(file, None)))
    }

    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let path = self.path(name)?;
        self.check_real()?;
        let file = match platform::create_new(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                platform::create_folder(&self.folder)?;
                *self.named.lock().unwrap_or_else(PoisonError::into_inner) = None;
                platform::create_new(&path)?
            }
            Err(error) if platform::is_removed(&path, &error) => {
                return Err(ErrorKind::AlreadyExists.into());
            }
            file => file?,
        };
        Ok(Arc::new(DiskFile::new(file, Some(path))))
    }

    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        let path = self.path(name)?;
        match platform::stat(&path).map_err(|error| unless_removed(&path, error)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            found => found,
        }
    }

    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        self.check_real()?;
        let (source, target) = (self.path(source)?, self.path(target)?);
        fs::hard_link(&source, &target).map_err(|error| match error {
            error if platform::means_no_links(&error) => {
                io::Error::new(ErrorKind::Unsupported, error)
            }
            error if platform::is_removed(&target, &error) => ErrorKind::AlreadyExists.into(),
            error => unless_removed(&source, error),
        })
    }

    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        self.check_real()?;
        let source = self.path(source)?;
        fs::rename(&source, self.path(target)?)
            .map_err(|error| in_use(unless_removed(&source, error)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.check_real()?;
        let path = self.path(name)?;
        fs::remove_file(&path).map_err(|error| in_use(unless_removed(&path, error)))
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        let path = self.path(name)?;
        // A link would lead out of the cache, and a collection would remove files there.
        if fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(Arc::new(Self { depth: self.depth + 1, ..Self::new(path) }))
    }

    fn sync_folder(&self) -> io::Result<()> {
        match platform::sync_folder(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            result => result?,
        }
        self.sync_name();
        Ok(())
    }
}

fn is_irregular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

/// Rust has no error kind for a file that another program has open and that cannot be renamed or removed.
fn in_use(error: io::Error) -> io::Error {
    if platform::means_in_use(&error) {
        io::Error::new(ErrorKind::ResourceBusy, error)
    } else {
        error
    }
}

/// A file that was removed is missing, although Windows keeps its name while it is open.
fn unless_removed(path: &Path, error: io::Error) -> io::Error {
    if platform::is_removed(path, &error) { ErrorKind::NotFound.into() } else { error }
}

fn irregular() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "not a regular file")
}

// Windows has no sync of directories.
#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Regression: after `rm -rf` below an open cache, a durable commit was lost with the name of its directory.
    #[test]
    fn the_name_of_a_directory_is_synced_once_and_again_after_it_was_created_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("cache/v1");
        let (ours, theirs) = (DiskVfs::new(folder.clone()), DiskVfs::new(folder.clone()));
        for (round, creator) in [&ours, &theirs, &ours, &theirs, &theirs].into_iter().enumerate() {
            creator.create_new("file").unwrap();
            assert!(ours.sync_name(), "round {round}");
            ours.create_new("other").unwrap();
            assert!(!ours.sync_name(), "round {round}");
            fs::remove_dir_all(root.path().join("cache")).unwrap();
        }
    }
}
