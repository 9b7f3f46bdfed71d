//! Trees of files and archives, in and out. Requests and answers are JSON (`varve_bindings`); the work is done on a
//! thread of libuv's pool and on the engine's own.

use crate::context::Context;
use crate::raw::{Answer, Arguments, Call, Functions};
use crate::slow::Work;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use varve_archive::tar::FileRecord;
use varve_bindings::{
    ArchiveRequest, Failure, FileItem, Restored, Result, StoredItem, answer, commit_alone, export_archive,
    import_archive, records_of, request, stored_files, verify_files,
};
use varve_core::{Digest, Error, Hold, Intake, Store, Watch};
use varve_disk::{Known, Mode, Outcome, Placed, Restore, remove_tree, store_tree};

/// Adds the functions of this file to a session.
pub(crate) fn add(functions: Functions) -> Result<Functions> {
    let functions = functions.add::<PutFiled>()?.add::<KeepStored>()?.add::<CommitAlone>()?.add::<CheckFiles>()?;
    let functions = functions.add::<StoreTree>()?.add::<RestoreTree>()?.add::<RemoveTree>()?;
    functions.add::<ImportArchive>()?.add::<ExportArchive>()?.add::<ListFiles>()?.add::<VerifyFiles>()
}

struct PutFiled;
struct KeepStored;
struct CommitAlone;
struct CheckFiles;
struct StoreTree;
struct RestoreTree;
struct RemoveTree;
struct ImportArchive;
struct ExportArchive;
struct ListFiles;
struct VerifyFiles;

impl Call for PutFiled {
    const NAME: &'static str = "putFiled";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (namespace, key_bytes) = (arguments.number(0)?, arguments.number(1)? as usize);
        let filed = arguments.bytes(2)?;
        context.with(|desk| desk.session.put_filed(namespace, desk.scratch.bytes(), key_bytes, filed))?;
        Ok(Answer::Nothing)
    }
}

/// Keeps what tasks stored until the next commit that begins.
impl Call for KeepStored {
    const NAME: &'static str = "keepStored";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        let holds = std::mem::take(&mut *context.holds().lock().unwrap_or_else(PoisonError::into_inner));
        context.with(|desk| holds.into_iter().try_for_each(|hold| desk.session.keep(hold)))?;
        Ok(Answer::Nothing)
    }
}

impl Call for CommitAlone {
    const NAME: &'static str = "commitAlone";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (json, now_ms) = (arguments.text(0)?, arguments.count(1)?);
        let store = context.store()?;
        Ok(Work::promise(context, move || Ok(answer(commit_alone(&store, &request(&json)?, now_ms)))))
    }
}

impl Call for CheckFiles {
    const NAME: &'static str = "checkFiles";

    fn run(_context: &Context, arguments: &Arguments) -> Result<Answer> {
        records_of(request::<Vec<FileItem>>(&arguments.text(0)?)?)?;
        Ok(Answer::Nothing)
    }
}

/// Files below a root, by their paths.
#[derive(Deserialize)]
struct Tree {
    root: PathBuf,
    paths: Vec<String>,
}

impl Call for StoreTree {
    const NAME: &'static str = "storeTree";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let json = arguments.text(0)?;
        let holds = Arc::clone(context.holds());
        long(context, arguments, move |store, watch| {
            let tree: Tree = request(&json)?;
            storing(store, &holds, |intake| {
                let stored = store_tree(&tree.root, &tree.paths, intake, &**store.pool(), watch)?;
                Ok(stored.iter().map(|stored| StoredItem::of(&stored.file, stored.executable)).collect::<Vec<_>>())
            })
        })
    }
}

impl Call for RemoveTree {
    const NAME: &'static str = "removeTree";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let json = arguments.text(0)?;
        long(context, arguments, move |_store, watch| {
            let tree: Tree = request(&json)?;
            Ok(remove_tree(&tree.root, &tree.paths, watch)?)
        })
    }
}

/// What to restore, and where.
#[derive(Deserialize)]
struct RestoreRequest {
    target: PathBuf,
    mode: String,
    files: Vec<FileItem>,
}

/// What became of it. `restored` is what to remember, null where that is known already.
#[derive(Default, Serialize)]
struct RestoreAnswer {
    unchanged: u64,
    copied: u64,
    cloned: u64,
    linked: u64,
    restored: Option<String>,
}

/// The third argument is what is remembered of the target, or `''`.
impl Call for RestoreTree {
    const NAME: &'static str = "restoreTree";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (json, remembered) = (arguments.text(0)?, arguments.text(2)?);
        let folder = context.folder()?;
        long(context, arguments, move |store, watch| restore(store, &folder, &json, &remembered, watch))
    }
}

fn restore(store: &Store, folder: &Path, json: &str, remembered: &str, watch: Watch<'_>) -> Result<RestoreAnswer> {
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let RestoreRequest { target, mode, files } = request(json)?;
    let records = records_of(files)?;
    let (known, known_ns) = known_of(Restored::parse(remembered));
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
        report.restored = Some(restored_of(begun, &records, &placed));
    }
    Ok(report)
}

fn known_of(restored: Restored) -> (HashMap<String, Known>, i64) {
    let files =
        restored.files.into_iter().filter_map(|(path, digest, executable, bytes, modified, changed, number)| {
            let (modified_ns, changed_ns) = (modified.parse().ok()?, changed.parse().ok()?);
            let (digest, number) = (Digest::parse(&digest)?, number.parse().ok()?);
            Some((path, Known { digest, executable, bytes, modified_ns, changed_ns, number }))
        });
    (files.collect(), restored.at.parse().unwrap_or(0))
}

fn restored_of(begun: u128, records: &[FileRecord], placed: &[Placed]) -> String {
    let files = records.iter().zip(placed).filter_map(|(record, placed)| {
        let Known { digest, executable, bytes, modified_ns, changed_ns, number } = placed.known?;
        let (modified, changed, number) = (modified_ns.to_string(), changed_ns.to_string(), number.to_string());
        Some((record.path.clone(), digest.to_string(), executable, bytes, modified, changed, number))
    });
    Restored { at: begun.to_string(), files: files.collect() }.to_text()
}

/// Where an archive is, and what to take of it.
#[derive(Deserialize)]
struct ImportRequest {
    /// `None` = the bytes are the third argument.
    path: Option<PathBuf>,
    #[serde(flatten)]
    archive: ArchiveRequest,
}

impl Call for ImportArchive {
    const NAME: &'static str = "importArchive";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let json = arguments.text(0)?;
        let ImportRequest { path, archive } = request(&json)?;
        let bytes = if path.is_none() { arguments.bytes(2)?.to_vec() } else { Vec::new() };
        let holds = Arc::clone(context.holds());
        long(context, arguments, move |store, watch| {
            let mut input: Box<dyn Read + Send> = match &path {
                None => Box::new(Cursor::new(bytes)),
                Some(path) => Box::new(File::open(path).map_err(|source| io("open", path, source))?),
            };
            storing(store, &holds, |intake| import_archive(&mut input, &archive, store, intake, watch))
        })
    }
}

/// Where an archive goes, and what is in it.
#[derive(Deserialize)]
struct ExportRequest {
    path: PathBuf,
    gzip: bool,
    files: Vec<FileItem>,
}

/// Writes to a file that must not be there yet.
impl Call for ExportArchive {
    const NAME: &'static str = "exportArchive";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let json = arguments.text(0)?;
        long(context, arguments, move |store, watch| {
            let ExportRequest { path, gzip, files } = request(&json)?;
            let records = records_of(files)?;
            let created = OpenOptions::new().write(true).create_new(true).open(&path);
            let mut file = created.map_err(|source| io("create", &path, source))?;
            export_archive(&records, gzip, store, &mut |bytes| file.write_all(bytes), watch)
        })
    }
}

impl Call for ListFiles {
    const NAME: &'static str = "listFiles";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        let store = context.store()?;
        Ok(Work::promise(context, move || Ok(answer(stored_files(&store)))))
    }
}

impl Call for VerifyFiles {
    const NAME: &'static str = "verifyFiles";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let json = arguments.text(0)?;
        long(context, arguments, move |store, watch| verify_files(&request::<Vec<FileItem>>(&json)?, store, watch))
    }
}

/// A promise of what `job` answers; the second argument is the number of its watch.
fn long<T: Serialize>(
    context: &Context,
    arguments: &Arguments,
    job: impl FnOnce(&Arc<Store>, Watch<'_>) -> Result<T> + Send + 'static,
) -> Result<Answer> {
    let progress = context.progress(arguments.number(1)?)?;
    let store = context.store()?;
    Ok(Work::promise(context, move || Ok(answer(job(&store, &|done, total| progress.report(done, total))))))
}

/// Stores files, which stay until the session takes their hold.
fn storing<T>(store: &Arc<Store>, holds: &Mutex<Vec<Hold>>, job: impl FnOnce(&Intake) -> Result<T>) -> Result<T> {
    let intake = Intake::new(store)?;
    let outcome = job(&intake)?;
    holds.lock().unwrap_or_else(PoisonError::into_inner).push(intake.into_hold());
    Ok(outcome)
}

fn io(operation: &'static str, path: &Path, source: std::io::Error) -> Failure {
    Error::io(operation, &path.to_string_lossy(), source).into()
}
