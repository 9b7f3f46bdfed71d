//! Exports and imports as JSON.

use crate::node_api::{Answer, Arguments, Call, Methods};
use crate::store::NodeStore;
use std::ffi::CStr;
use varve_bindings::{Result, answer};

/// Adds the methods of this file.
pub(crate) fn add(methods: Methods<NodeStore>) -> Methods<NodeStore> {
    methods
        .add::<BeginExport>()
        .add::<ExportChunk>()
        .add::<BeginImport>()
        .add::<FeedImport>()
        .add::<FinishImport>()
        .add::<CommitImport>()
        .add::<EndTransfer>()
}

struct BeginExport;
struct ExportChunk;
struct BeginImport;
struct FeedImport;
struct FinishImport;
struct CommitImport;
struct EndTransfer;

/// Returns the number of the export.
impl Call<NodeStore> for BeginExport {
    const NAME: &'static CStr = c"beginExport";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let options = arguments.text(0)?;
        store
            .with(|handle| handle.begin_export(&options))
            .map(|number| Answer::Count(number.into()))
    }
}

/// The chunk is held; returns JSON with its length.
impl Call<NodeStore> for ExportChunk {
    const NAME: &'static CStr = c"exportChunk";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let number = arguments.number(0)?;
        Ok(Answer::Text(answer(store.with(|handle| handle.export_chunk(number)))))
    }
}

/// Returns the number of the import.
impl Call<NodeStore> for BeginImport {
    const NAME: &'static CStr = c"beginImport";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let may_replace = arguments.flag(0)?;
        store
            .with(|handle| handle.begin_import(may_replace))
            .map(|number| Answer::Count(number.into()))
    }
}

impl Call<NodeStore> for FeedImport {
    const NAME: &'static CStr = c"feedImport";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (number, piece) = (arguments.number(0)?, arguments.bytes(1)?);
        Ok(Answer::Text(answer(store.with(|handle| handle.feed_import(number, piece)))))
    }
}

impl Call<NodeStore> for FinishImport {
    const NAME: &'static CStr = c"finishImport";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let number = arguments.number(0)?;
        Ok(Answer::Text(answer(store.with(|handle| handle.finish_import(number)))))
    }
}

/// Commits what an import has; the report is null if it has nothing.
impl Call<NodeStore> for CommitImport {
    const NAME: &'static CStr = c"commitImport";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (number, now_ms) = (arguments.number(0)?, arguments.count(1)?);
        let commit = store.with(|handle| handle.commit_import(number))?;
        Ok(store.promise(move || Ok(commit.map(|commit| commit.run(None, now_ms)).transpose()?)))
    }
}

/// Ends an export or an import.
impl Call<NodeStore> for EndTransfer {
    const NAME: &'static CStr = c"endTransfer";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let number = arguments.number(0)?;
        store.with(|handle| {
            handle.end_transfer(number);
            Ok(Answer::Nothing)
        })
    }
}
