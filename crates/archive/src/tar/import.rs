//! Imports an archive into a store of contents.
//!
//! ```text
//! file 1 to 31   walk, store, walk, store ..           one thread, one buffer
//! from 32 on     walk batch 2 | store batch 1          one part of the job walks, the others store a file each
//!                walk batch 3 | store batch 2 ..
//! ```
//!
//! An archive with fewer than 32 files, or a pool with one thread, uses no batches. Memory holds one file, or two
//! batches of BATCH_BYTES and one file each, besides the records and the set of their paths. Records, warnings and
//! errors are the same with any number of threads: the first error in the order of the archive counts, and each digest
//! goes to the record that the walk created.

use crate::path::{PathSet, Role};
use crate::tar::source::Source;
use crate::tar::walk::{Entry, Kind, Walk};
use crate::tar::{Content, Digest, FileRecord, ImportOptions};
use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};
use varve_core::Pool;
use varve_core::Watch;
use varve_core::order;
use varve_core::{Error, Result, Shown};

/// The first files are stored one by one: for fewer, handing them to other threads costs more than it gains.
const SERIAL_FILES: usize = 31;

/// The bytes that a batch reads ahead. The last file of a batch may exceed them.
const BATCH_BYTES: usize = 4 << 20;

/// The most files of a batch. The threads wait for each other at its end; with 64 files they had barely started, and
/// 1,000 files took two threads as long as one. A larger batch would delay the start of the threads.
const BATCH_FILES: usize = 256;

/// Stores a content and returns its digest.
pub(super) type Store<'a> = &'a (dyn Fn(&[u8]) -> Result<Digest> + Sync);

/// The records of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Sorted by the bytes of their paths. Only empty directories have a record.
    pub records: Vec<FileRecord>,
    /// In the order of the archive.
    pub warnings: Vec<Warning>,
}

/// An oddity of an archive that does not fail the import.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Two entries have the same path; the last one counts.
    Repeated {
        /// The path of both entries.
        path: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeated { path } => {
                write!(out, "{} is in the archive twice; the last one counts", Shown(path))
            }
        }
    }
}

/// Reads a .tar, .tar.gz or .tar.zst, detected by its first bytes, and stores the content of each file.
///
/// `store` is called once per file, on any thread of the pool. Contents stored before an error stay in the store.
///
/// # Errors
/// `Archive` if the archive is damaged, too large or has an entry that is not allowed; `UnsafePath` for names that
/// break the rules of `path`; `Io` if the input cannot be read; `Cancelled` by the watch; and the errors of `store`.
pub fn import(
    input: &mut (dyn Read + Send),
    options: &ImportOptions,
    pool: &dyn Pool,
    store: Store<'_>,
    watch: Watch<'_>,
) -> Result<Imported> {
    let walk = Walk::new(Source::open(input, options, watch)?, options);
    let mut tree = Tree {
        walk,
        paths: PathSet::default(),
        records: Vec::new(),
        warnings: Vec::new(),
        failure: None,
    };
    let serial = if pool.threads() > 1 { SERIAL_FILES } else { usize::MAX };
    let mut content = Vec::new();
    for _ in 0..serial {
        content.clear();
        let Some(index) = tree.next_file(&mut content)? else { return Ok(tree.finish()) };
        let digest = store(&content)?;
        tree.set_digest(index, digest);
    }
    drop(content);
    let (mut batch, mut next) = (Batch::default(), Batch::default());
    tree.read_batch(&mut batch)?;
    while !batch.files.is_empty() {
        let (digests, read) = store_batch(&batch, &mut next, &mut tree, pool, store);
        for ((index, _), digest) in batch.files.iter().zip(digests) {
            tree.set_digest(*index, digest?);
        }
        read?;
        std::mem::swap(&mut batch, &mut next);
    }
    Ok(tree.finish())
}

/// Files to be stored, with their contents one after another.
#[derive(Default)]
struct Batch {
    contents: Vec<u8>,
    /// The index of each record and the range of its content.
    files: Vec<(usize, Range<usize>)>,
}

/// Stores one batch while the next one is read.
fn store_batch(
    batch: &Batch,
    next: &mut Batch,
    tree: &mut Tree<'_>,
    pool: &dyn Pool,
    store: Store<'_>,
) -> (Vec<Result<Digest>>, Result<()>) {
    let digests: Vec<OnceLock<Result<Digest>>> =
        batch.files.iter().map(|_| OnceLock::new()).collect();
    let walk = Mutex::new((tree, next, Ok(())));
    pool.run(batch.files.len() + 1, &|part| {
        let Some(file) = part.checked_sub(1) else {
            let mut walk = walk.lock().unwrap_or_else(PoisonError::into_inner);
            let (tree, next, read) = &mut *walk;
            *read = tree.read_batch(next);
            return;
        };
        if let (Some((_, place)), Some(digest)) = (batch.files.get(file), digests.get(file)) {
            _ = digest.set(store(batch.contents.get(place.clone()).unwrap_or_default()));
        }
    });
    // A pool runs every part, so every file has a digest here.
    let digests = digests
        .into_iter()
        .map(|digest| digest.into_inner().unwrap_or(Err(Error::Closed.boxed())))
        .collect();
    (digests, walk.into_inner().unwrap_or_else(PoisonError::into_inner).2)
}

/// The part of the tree read so far.
struct Tree<'a> {
    walk: Walk<'a>,
    paths: PathSet,
    records: Vec<FileRecord>,
    warnings: Vec<Warning>,
    /// An error that the walk met after the files of the last batch. Those are stored first, as on one thread.
    failure: Option<Box<Error>>,
}

impl Tree<'_> {
    /// Goes to the next file, appends its content, and returns the index of its record; `None` at the end of the
    /// archive.
    fn next_file(&mut self, contents: &mut Vec<u8>) -> Result<Option<usize>> {
        while let Some(Entry { path, kind }) = self.walk.next()? {
            if path.is_empty() {
                continue; // the root itself
            }
            let role = if matches!(kind, Kind::Folder) { Role::Folder } else { Role::Leaf };
            let added = self.paths.insert(&path, role);
            let is_new = added.map_err(|problem| Error::unsafe_path(&path, problem))?;
            if !is_new && role == Role::Leaf {
                self.warnings.push(Warning::Repeated { path: path.clone() });
            }
            let index = self.records.len();
            match kind {
                Kind::Folder => self.records.push(FileRecord { path, content: Content::Folder }),
                Kind::Link { target } => {
                    self.records.push(FileRecord { path, content: Content::Link { target } })
                }
                Kind::File { bytes, executable } => {
                    self.walk.read(bytes, contents)?;
                    let digest = Digest([0; 32]); // replaced once the content is stored
                    self.records.push(FileRecord {
                        path,
                        content: Content::File { digest, bytes, executable },
                    });
                    return Ok(Some(index));
                }
            }
        }
        Ok(None)
    }

    /// Reads the files of one batch, which is empty at the end of the archive.
    fn read_batch(&mut self, batch: &mut Batch) -> Result<()> {
        batch.files.clear();
        batch.contents.clear();
        batch.contents.shrink_to(2 * BATCH_BYTES); // a large file may have grown it
        while self.failure.is_none()
            && batch.contents.len() < BATCH_BYTES
            && batch.files.len() < BATCH_FILES
        {
            let start = batch.contents.len();
            match self.next_file(&mut batch.contents) {
                Ok(None) => break,
                Ok(Some(index)) => batch.files.push((index, start..batch.contents.len())),
                Err(failure) => self.failure = Some(failure),
            }
        }
        self.failure.take_if(|_| batch.files.is_empty()).map_or(Ok(()), Err)
    }

    fn set_digest(&mut self, index: usize, stored: Digest) {
        if let Some(FileRecord { content: Content::File { digest, .. }, .. }) =
            self.records.get_mut(index)
        {
            *digest = stored;
        }
    }

    /// Sorts the records, keeps the last record of each path, and drops directories that are not empty.
    fn finish(self) -> Imported {
        let mut records = self.records;
        // The sort is stable: the last entry of a path stays last.
        order::sort_by(records.as_mut_slice(), |a, b| a.path.cmp(&b.path));
        records.dedup_by(|later, earlier| {
            let is_same = later.path == earlier.path;
            if is_same {
                std::mem::swap(later, earlier);
            }
            is_same
        });
        let is_kept: Vec<bool> = records.iter().map(|record| !is_full(record, &records)).collect();
        let mut is_kept = is_kept.into_iter();
        records.retain(|_| is_kept.next().unwrap_or(true));
        Imported { records, warnings: self.warnings }
    }
}

/// Returns whether the record is a directory with other records below it.
fn is_full(record: &FileRecord, records: &[FileRecord]) -> bool {
    if record.content != Content::Folder {
        return false;
    }
    let inside = format!("{}/", record.path);
    let first = records.partition_point(|other| other.path < inside);
    records.get(first).is_some_and(|other| other.path.starts_with(&inside))
}
