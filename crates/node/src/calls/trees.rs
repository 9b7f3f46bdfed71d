//! Trees of files on the disk: stored, restored and removed on a thread of libuv's pool and on the engine's own.

use crate::calls::files::storing;
use crate::node_api::{Answer, Arguments, Call, Methods};
use crate::store::NodeStore;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use varve_archive::tar::FileRecord;
use varve_bindings::{FileItem, Restored, Result, StoredItem, check_contents, records_of, request};
use varve_core::{Digest, Store, Watch};
use varve_disk::{Known, Mode, Outcome, Placed, Restore, remove_tree, store_tree};

/// Adds the methods of this file.
pub(crate) fn add(methods: Methods<NodeStore>) -> Methods<NodeStore> {
    methods.add::<StoreTree>().add::<RemoveTree>().add::<RestoreTree>()
}

struct StoreTree;
struct RemoveTree;
struct RestoreTree;

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

impl Call<NodeStore> for StoreTree {
    const NAME: &'static CStr = c"storeTree";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (json, pins) = (arguments.text(0)?, Arc::clone(store.pins()));
        store.promise_watched(arguments.number(1)?, move |core, watch| {
            let tree: Tree = request(&json)?;
            storing(core, &pins, |intake| {
                let stored = store_tree(&tree.root, &tree.paths, intake, &**core.pool(), watch)?;
                Ok(stored
                    .iter()
                    .map(|stored| StoredItem::of(&stored.file, stored.executable))
                    .collect::<Vec<_>>())
            })
        })
    }
}

impl Call<NodeStore> for RemoveTree {
    const NAME: &'static CStr = c"removeTree";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let json = arguments.text(0)?;
        store.promise_watched(arguments.number(1)?, move |_core, watch| {
            let tree: Tree = request(&json)?;
            Ok(remove_tree(&tree.root, &tree.paths, watch)?)
        })
    }
}

/// The third argument is what the last restore of the target remembered, or `''`.
impl Call<NodeStore> for RestoreTree {
    const NAME: &'static CStr = c"restoreTree";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (json, remembered, folder) = (arguments.text(0)?, arguments.text(2)?, store.folder()?);
        store.promise_watched(arguments.number(1)?, move |core, watch| {
            restore(core, &folder, &json, &remembered, watch)
        })
    }
}

fn restore(
    store: &Store,
    folder: &Path,
    json: &str,
    remembered: &str,
    watch: Watch<'_>,
) -> Result<RestoreAnswer> {
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let RestoreRequest { target, mode, files, check_only } = request(json)?;
    let records = records_of(files)?;
    if check_only {
        check_contents(&records, store, watch)?;
        return Ok(RestoreAnswer::default());
    }
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
    let files = restored.files.into_iter().filter_map(
        |(path, digest, executable, bytes, modified, changed, number)| {
            let (modified_ns, changed_ns) = (modified.parse().ok()?, changed.parse().ok()?);
            let (digest, number) = (Digest::parse(&digest)?, number.parse().ok()?);
            Some((path, Known { digest, executable, bytes, modified_ns, changed_ns, number }))
        },
    );
    (files.collect(), restored.at.parse().unwrap_or(0))
}

fn restored_of(begun: u128, records: &[FileRecord], placed: &[Placed]) -> String {
    let files = records.iter().zip(placed).filter_map(|(record, placed)| {
        let Known { digest, executable, bytes, modified_ns, changed_ns, number } = placed.known?;
        let (modified, changed, number) =
            (modified_ns.to_string(), changed_ns.to_string(), number.to_string());
        Some((
            record.path.clone(),
            digest.to_string(),
            executable,
            bytes,
            modified,
            changed,
            number,
        ))
    });
    Restored { at: begun.to_string(), files: files.collect() }.to_text()
}
