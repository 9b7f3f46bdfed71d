//! Restores files of the cache into a tree.
//!
//! A file that is already right stays; its recorded state or its digest decides. Every other file is written to a
//! temporary name in the same directory, verified, and renamed into place.

use super::folder::{Folder, clone_into, make_read_only, stat_of_file};
use super::parallel::in_runs;
use super::walker::{Walker, failed};
use super::{Kind, Stat, read_all};
use crate::platform;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use varve_archive::tar::{Content, FileRecord};
use varve_core::failpoints;
use varve_core::{BlobRef, Digest, Error, Result, Store, Watch};

/// A file that changed less than this before its state was recorded may change again without a new time.
const RACY_NS: i64 = 2_000_000_000;

/// Numbers for the temporary names of this process.
static TEMPORARIES: AtomicU32 = AtomicU32::new(0);

/// How files get their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Shared blocks if the file system supports them, else a copy.
    Auto,
    /// Shared blocks, or an error.
    Reflink,
    /// A second name of the blob in the cache, read-only; a copy if that is impossible.
    HardLink,
    /// A copy.
    Copy,
}

/// The state of a file recorded when it was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub struct Known {
    pub digest: Digest,
    pub executable: bool,
    pub bytes: u64,
    /// When its content was last written, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// When its content or metadata last changed. A program that writes a file and resets its time cannot set this one.
    pub changed_ns: i64,
    /// Its number in the file system.
    pub number: u64,
}

/// The outcome for one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the name is self-explanatory")]
pub enum Outcome {
    Unchanged,
    Copied,
    Cloned,
    Linked,
}

/// One record as it is in the target now.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// What the restore did for it.
    pub outcome: Outcome,
    /// The state of a file, for the next restore.
    pub known: Option<Known>,
    /// Its recorded state was sufficient; otherwise it was written or read.
    pub trusted: bool,
}

/// A restore with its source, target and options.
#[derive(Debug)]
pub struct Restore<'a> {
    /// The store that has the contents.
    pub store: &'a Store,
    /// The directory of that store, for clones and hard links.
    pub folder: &'a Path,
    /// The root directory, which is created if it does not exist.
    pub target: &'a Path,
    #[expect(missing_docs, reason = "the name is self-explanatory")]
    pub mode: Mode,
    /// The recorded state by path, as of `known_ns` in nanoseconds since 1970.
    pub known: &'a HashMap<String, Known>,
    #[expect(missing_docs, reason = "see the field above")]
    pub known_ns: i64,
}

impl Restore<'_> {
    /// Restores records that are sorted and have passed the rules (`files::tar::check_sorted`). The watch counts
    /// records.
    ///
    /// # Errors
    /// `FileLost` if a content is missing or damaged, `UnsafePath` if something blocks a path, `Io`.
    pub fn run(&self, records: &[FileRecord], watch: Watch<'_>) -> Result<Vec<Placed>> {
        let wrap = |source| Error::io("open", &self.target.to_string_lossy(), source);
        fs::create_dir_all(self.target).map_err(wrap)?;
        let root = Folder::root(self.target).map_err(wrap)?;
        let clones = AtomicBool::new(matches!(self.mode, Mode::Auto | Mode::Reflink));
        let begin = || Walker::new(&root, true);
        in_runs(&**self.store.pool(), records, watch, begin, |walker, record| {
            self.place(walker, record, &clones)
        })
    }

    fn place(
        &self,
        walker: &mut Walker<'_>,
        record: &FileRecord,
        clones: &AtomicBool,
    ) -> Result<Placed> {
        failpoints::panics("restore-tree");
        let path = record.path.as_str();
        let (folder, name) = walker.go(path)?;
        let wrap = |error| failed(path, name, error);
        match &record.content {
            Content::File { digest, bytes, executable } => {
                let file = Wanted {
                    file: BlobRef { digest: *digest, bytes: *bytes },
                    executable: *executable,
                };
                if let Some(placed) = self.unchanged(folder, path, name, &file).map_err(wrap)? {
                    return Ok(placed);
                }
                self.make(folder, path, name, &file, clones)
            }
            Content::Folder => {
                let outcome = match folder.create_folder(name) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                        folder.open(name).map_err(wrap)?;
                        Outcome::Unchanged
                    }
                    made => made.map(|()| Outcome::Copied).map_err(wrap)?,
                };
                Ok(Placed { outcome, known: None, trusted: true })
            }
            Content::Link { target } => {
                let there = folder.stat(name).map_err(wrap)?;
                let is_link = there.is_some_and(|stat| stat.kind == Kind::Link);
                if is_link && folder.target_of_link(name).map_err(wrap)? == target.as_bytes() {
                    return Ok(Placed { outcome: Outcome::Unchanged, known: None, trusted: true });
                }
                let make = |temporary: &str| folder.create_link(target, temporary);
                let ((), temporary) =
                    fresh(make).map_err(|source| Error::io("write", path, source))?;
                finish(folder, &temporary, name).map_err(wrap)?;
                Ok(Placed { outcome: Outcome::Copied, known: None, trusted: true })
            }
        }
    }

    /// Returns the file at this path if it is the wanted one.
    fn unchanged(
        &self,
        folder: &Folder,
        path: &str,
        name: &str,
        wanted: &Wanted,
    ) -> io::Result<Option<Placed>> {
        let Some(stat) = folder.stat(name)? else { return Ok(None) };
        if !wanted.looks_like(&stat, self.mode) {
            return Ok(None);
        }
        let placed = |stat: &Stat, trusted| {
            Some(Placed { outcome: Outcome::Unchanged, known: Some(wanted.known(stat)), trusted })
        };
        let known = self.known.get(path);
        let newest_ns = stat.modified_ns.max(stat.changed_ns);
        if known == Some(&wanted.known(&stat)) && newest_ns.saturating_add(RACY_NS) < self.known_ns
        {
            return Ok(placed(&stat, true));
        }
        let (mut file, stat) = match folder.read(name) {
            // It changed at this moment or cannot be read, so it is replaced.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::PermissionDenied
                ) =>
            {
                return Ok(None);
            }
            open => open?,
        };
        let is_same = wanted.looks_like(&stat, self.mode)
            && Digest::of(&read_all(&mut file, stat.bytes)?) == wanted.file.digest;
        Ok(is_same.then(|| placed(&stat, false)).flatten())
    }

    fn make(
        &self,
        folder: &Folder,
        path: &str,
        name: &str,
        wanted: &Wanted,
        clones: &AtomicBool,
    ) -> Result<Placed> {
        let stored = self.folder.join(wanted.file.digest.place());
        let write = |source| Error::io("write", path, source);
        if self.mode == Mode::HardLink
            && !self.store.is_read_only()
            && let Some(stat) = self
                .link(folder, &stored, name, wanted)
                .map_err(|error| failed(path, name, error))?
        {
            return Ok(Placed {
                outcome: Outcome::Linked,
                known: Some(wanted.known(&stat)),
                trusted: false,
            });
        }
        let (mut file, temporary) =
            fresh(|temporary| folder.create_file(temporary, wanted.executable)).map_err(write)?;
        let filled = self.fill(&mut file, path, &stored, wanted, clones);
        let outcome = filled.inspect_err(|_| _ = folder.remove_file(&temporary))?;
        finish(folder, &temporary, name).map_err(|error| failed(path, name, error))?;
        let stat = stat_of_file(&file).map_err(write)?; // renaming changes its times
        Ok(Placed { outcome, known: Some(wanted.known(&stat)), trusted: false })
    }

    /// Gives a new file its content.
    fn fill(
        &self,
        file: &mut File,
        path: &str,
        stored: &Path,
        wanted: &Wanted,
        clones: &AtomicBool,
    ) -> Result<Outcome> {
        let lost = || Error::FileLost { path: path.to_owned() }.boxed();
        // If the blob is missing or damaged, the store reports it.
        if clones.load(Ordering::Relaxed)
            && wanted.file.bytes > 0
            && let Some(source) = open_stored(stored, wanted.file.bytes)
        {
            match clone_into(file, &source) {
                Ok(()) => {
                    let content = read_all(file, wanted.file.bytes);
                    let content = content.map_err(|source| Error::io("read", path, source))?;
                    // The content of the clone cannot change any more, even if the blob does.
                    return if BlobRef::of(&content) == wanted.file {
                        Ok(Outcome::Cloned)
                    } else {
                        Err(lost())
                    };
                }
                Err(source) if self.mode == Mode::Reflink => {
                    return Err(Error::io("clone", path, source));
                }
                Err(_) => clones.store(false, Ordering::Relaxed),
            }
        }
        let write = |source| Error::io("write", path, source);
        let content = self.store.read_blob(&wanted.file)?.ok_or_else(lost)?;
        file.rewind().map_err(write)?;
        file.write_all(&content).map_err(write)?;
        Ok(Outcome::Copied)
    }

    /// Creates a second name of the blob. Returns `None` if that is impossible or if the file needs another mode.
    fn link(
        &self,
        folder: &Folder,
        stored: &Path,
        name: &str,
        wanted: &Wanted,
    ) -> io::Result<Option<Stat>> {
        let Ok(((), temporary)) = fresh(|temporary| folder.link(stored, temporary)) else {
            return Ok(None);
        };
        let verified = folder.read(&temporary).and_then(|(mut file, stat)| {
            let is_whole = stat.bytes == wanted.file.bytes
                && BlobRef::of(&read_all(&mut file, stat.bytes)?) == wanted.file;
            Ok((is_whole && make_read_only(&file, wanted.executable)?).then_some(file))
        });
        let Ok(Some(file)) = verified else {
            folder.remove_file(&temporary)?;
            return Ok(None);
        };
        finish(folder, &temporary, name)?;
        // Renaming one name of a file to another of its names does nothing.
        match folder.remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => stat_of_file(&file).map(Some),
        }
    }
}

/// A file as the manifest describes it.
struct Wanted {
    file: BlobRef,
    executable: bool,
}

impl Wanted {
    /// Returns whether all but the content matches. A file with several names may belong to another directory, too.
    fn looks_like(&self, stat: &Stat, mode: Mode) -> bool {
        let is_private = stat.names == 1 || mode == Mode::HardLink;
        let has_mode = cfg!(windows) || (stat.executable == self.executable && stat.plain);
        stat.kind == Kind::File && stat.bytes == self.file.bytes && has_mode && is_private
    }

    fn known(&self, stat: &Stat) -> Known {
        let BlobRef { digest, bytes } = self.file;
        let Stat { modified_ns, changed_ns, number, .. } = *stat;
        Known { digest, executable: self.executable, bytes, modified_ns, changed_ns, number }
    }
}

/// Creates a file under an unused temporary name.
fn fresh<T>(mut make: impl FnMut(&str) -> io::Result<T>) -> io::Result<(T, String)> {
    loop {
        let index = TEMPORARIES.fetch_add(1, Ordering::Relaxed);
        let name = format!(".varve-{}-{index}.tmp", std::process::id());
        match make(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (made, name)),
        }
    }
}

/// Renames a file into place, and removes it if that fails.
fn finish(folder: &Folder, temporary: &str, name: &str) -> io::Result<()> {
    folder.rename(temporary, name).inspect_err(|_| _ = folder.remove_file(temporary))
}

/// Opens a blob of the cache. Returns `None` if it is not a regular file of that size.
fn open_stored(path: &Path, bytes: u64) -> Option<File> {
    let file = platform::open_for_reading(path).ok()?;
    file.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == bytes)
        .then_some(file)
}
