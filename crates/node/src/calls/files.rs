//! The content-addressed files of a store, trees of them on the disk, and archives. Requests and answers are JSON
//! (`varve_bindings`); the work runs on a thread of libuv's pool and on the engine's own.

use crate::answers::{Promise, Result};
use crate::calls::NodeStore;
use crate::progress::Progress;
use napi_derive::napi;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use varve_archive::tar::FileRecord;
use varve_bindings::{
    ArchiveRequest, Failure, FileItem, Restored, RestoredFile, StoredItem, check_contents,
    commit_alone, export_archive, import_archive, records_of, request, stored_files, verify_files,
};
use varve_core::{BlobWriter, Error, Pin, Store, Watch};
use varve_disk::{Known, Mode, Outcome, Placed, Restore, StoredFile, remove_tree, store_tree};

/// Files below a root, by their paths.
#[derive(Deserialize)]
struct Tree {
    root: PathBuf,
    paths: Vec<String>,
}

/// What to restore, and where.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RestoreRequest {
    target: PathBuf,
    mode: String,
    files: Vec<FileItem>,
    /// The present time on the clock of the target's file system, in milliseconds since 1970.
    at_ms: i64,
    /// Only checks that all contents exist.
    #[serde(default)]
    check_only: bool,
}

/// What the restore did. `restored` is what to remember, null if that has not changed.
#[derive(Default, Serialize)]
struct RestoreAnswer {
    unchanged: u64,
    copied: u64,
    cloned: u64,
    linked: u64,
    restored: Option<String>,
}

/// Where an archive is, and what to take of it.
#[derive(Deserialize)]
struct ImportRequest {
    /// `None` = the bytes are an argument.
    path: Option<PathBuf>,
    #[serde(flatten)]
    archive: ArchiveRequest,
}

/// Where an archive goes, and what is in it.
#[derive(Deserialize)]
struct ExportRequest {
    path: PathBuf,
    gzip: bool,
    files: Vec<FileItem>,
}

#[napi]
impl NodeStore {
    /// Keeps what jobs stored until the next commit that begins.
    #[napi(catch_unwind)]
    pub fn keep_stored(&self) -> Result<()> {
        self.call(|store| store.keep_stored())
    }

    #[napi(catch_unwind)]
    pub fn commit_alone(&self, entry: String, now_ms: f64) -> Result<Promise<String>> {
        self.job(move |core| commit_alone(core, &request(&entry)?, now_ms as u64))
    }

    #[napi(catch_unwind)]
    pub fn check_files(&self, files: String) -> Result<()> {
        self.call(|_store| records_of(request::<Vec<FileItem>>(&files)?).map(drop))
    }

    #[napi(catch_unwind)]
    pub fn list_files(&self) -> Result<Promise<String>> {
        self.job(|core| stored_files(core))
    }

    #[napi(catch_unwind)]
    pub fn verify_files(&self, files: String, progress: &Progress) -> Result<Promise<String>> {
        self.watched(progress, move |core, watch| {
            verify_files(&request::<Vec<FileItem>>(&files)?, core, watch)
        })
    }

    #[napi(catch_unwind)]
    pub fn store_tree(&self, tree: String, progress: &Progress) -> Result<Promise<String>> {
        let pins = self.call(|store| Ok(store.pins()))?;
        self.watched(progress, move |core, watch| {
            let Tree { root, paths } = request(&tree)?;
            storing(core, &pins, |intake| {
                let stored = store_tree(&root, &paths, intake, &**core.pool(), watch)?;
                let item = |stored: &StoredFile| StoredItem::of(&stored.file, stored.executable);
                Ok(stored.iter().map(item).collect::<Vec<_>>())
            })
        })
    }

    #[napi(catch_unwind)]
    pub fn remove_tree(&self, tree: String, progress: &Progress) -> Result<Promise<String>> {
        self.watched(progress, move |_core, watch| {
            let Tree { root, paths } = request(&tree)?;
            Ok(remove_tree(&root, &paths, watch)?)
        })
    }

    /// `remembered` is what the last restore of the target remembered, or `''`.
    #[napi(catch_unwind)]
    pub fn restore_tree(
        &self,
        order: String,
        progress: &Progress,
        remembered: String,
    ) -> Result<Promise<String>> {
        let folder = self.call(|store| store.folder())?;
        self.watched(progress, move |core, watch| {
            restore(core, &folder, &order, &remembered, watch)
        })
    }

    /// The bytes are those of the archive, if the request has no path.
    #[napi(catch_unwind)]
    pub fn import_archive(
        &self,
        order: String,
        progress: &Progress,
        bytes: Option<&[u8]>,
    ) -> Result<Promise<String>> {
        let bytes = bytes.unwrap_or_default().to_vec();
        let pins = self.call(|store| Ok(store.pins()))?;
        self.watched(progress, move |core, watch| {
            let ImportRequest { path, archive } = request(&order)?;
            let mut input: Box<dyn Read + Send> = match &path {
                None => Box::new(Cursor::new(bytes)),
                Some(path) => {
                    Box::new(File::open(path).map_err(|source| io("open", path, source))?)
                }
            };
            storing(core, &pins, |intake| {
                let store = |content: &[u8]| Ok(intake.store(content)?.digest);
                import_archive(&mut input, &archive, &**core.pool(), &store, watch)
            })
        })
    }

    /// Writes to a file that must not exist yet.
    #[napi(catch_unwind)]
    pub fn export_archive(&self, order: String, progress: &Progress) -> Result<Promise<String>> {
        self.watched(progress, move |core, watch| {
            let ExportRequest { path, gzip, files } = request(&order)?;
            let records = records_of(files)?;
            let created = OpenOptions::new().write(true).create_new(true).open(&path);
            let mut file = created.map_err(|source| io("create", &path, source))?;
            let read = |blob: &_| core.read_blob(blob);
            export_archive(&records, gzip, &read, &mut |bytes| file.write_all(bytes), watch)
        })
    }
}

/// Stores files, which stay until the store keeps their pin.
fn storing<T>(
    store: &Arc<Store>,
    pins: &Mutex<Vec<Pin>>,
    job: impl FnOnce(&BlobWriter) -> varve_bindings::Result<T>,
) -> varve_bindings::Result<T> {
    let intake = BlobWriter::new(store)?;
    let outcome = job(&intake)?;
    pins.lock().unwrap_or_else(PoisonError::into_inner).push(intake.into_pin());
    Ok(outcome)
}

fn restore(
    store: &Store,
    folder: &Path,
    json: &str,
    remembered: &str,
    watch: Watch<'_>,
) -> varve_bindings::Result<RestoreAnswer> {
    let RestoreRequest { target, mode, files, at_ms, check_only } = request(json)?;
    let at_ns = at_ms.saturating_mul(1_000_000);
    let records = records_of(files)?;
    if check_only {
        check_contents(&records, store, watch)?;
        return Ok(RestoreAnswer::default());
    }
    let Restored { at_ns: known_ns, files: known } = Restored::parse(remembered);
    let known: HashMap<_, _> = known.into_iter().map(known_of).collect();
    let mode = match mode.as_str() {
        "reflink" => Mode::Reflink,
        "hardlink" => Mode::HardLink,
        "copy" => Mode::Copy,
        _ => Mode::Auto,
    };
    let restore = Restore { store, folder, target: &target, mode, known: &known, known_ns };
    let placed = restore.run(&records, watch)?;
    let mut report = RestoreAnswer::default();
    for placed in &placed {
        *match placed.outcome {
            Outcome::Unchanged => &mut report.unchanged,
            Outcome::Copied => &mut report.copied,
            Outcome::Cloned => &mut report.cloned,
            Outcome::Linked => &mut report.linked,
        } += 1;
    }
    let files = placed.iter().filter(|placed| placed.known.is_some()).count();
    if files != known.len() || placed.iter().any(|placed| !placed.trusted) {
        let files = records.iter().zip(&placed).filter_map(restored_of).collect();
        report.restored = Some(Restored { at_ns, files }.to_text());
    }
    Ok(report)
}

fn known_of(file: RestoredFile) -> (String, Known) {
    let RestoredFile { path, digest, executable, bytes, modified_ns, changed_ns, number } = file;
    (path, Known { digest, executable, bytes, modified_ns, changed_ns, number })
}

fn restored_of((record, placed): (&FileRecord, &Placed)) -> Option<RestoredFile> {
    let Known { digest, executable, bytes, modified_ns, changed_ns, number } = placed.known?;
    let path = record.path.clone();
    Some(RestoredFile { path, digest, executable, bytes, modified_ns, changed_ns, number })
}

fn io(operation: &'static str, path: &Path, source: std::io::Error) -> Box<Failure> {
    Error::io(operation, &path.to_string_lossy(), source).into()
}
