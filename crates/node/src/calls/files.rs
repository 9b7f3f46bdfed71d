//! The content-addressed files of a store. Requests and answers are JSON (`varve_bindings`).

use crate::node_api::{Answer, Arguments, Call, Methods};
use crate::store::NodeStore;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};
use varve_bindings::{
    FileItem, Result, commit_alone, records_of, request, stored_files, verify_files,
};
use varve_core::{BlobWriter, Pin, Store};

/// Adds the methods of this file.
pub(crate) fn add(methods: Methods<NodeStore>) -> Methods<NodeStore> {
    methods
        .add::<KeepStored>()
        .add::<CommitAlone>()
        .add::<CheckFiles>()
        .add::<ListFiles>()
        .add::<VerifyFiles>()
}

struct KeepStored;
struct CommitAlone;
struct CheckFiles;
struct ListFiles;
struct VerifyFiles;

/// Keeps what tasks stored until the next commit that begins.
impl Call<NodeStore> for KeepStored {
    const NAME: &'static CStr = c"keepStored";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        store.keep_stored()?;
        Ok(Answer::Nothing)
    }
}

impl Call<NodeStore> for CommitAlone {
    const NAME: &'static CStr = c"commitAlone";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (json, now_ms) = (arguments.text(0)?, arguments.count(1)?);
        let core = store.store()?;
        Ok(store.promise(move || commit_alone(&core, &request(&json)?, now_ms)))
    }
}

impl Call<NodeStore> for CheckFiles {
    const NAME: &'static CStr = c"checkFiles";

    fn run(_store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        records_of(request::<Vec<FileItem>>(&arguments.text(0)?)?)?;
        Ok(Answer::Nothing)
    }
}

impl Call<NodeStore> for ListFiles {
    const NAME: &'static CStr = c"listFiles";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        let core = store.store()?;
        Ok(store.promise(move || stored_files(&core)))
    }
}

impl Call<NodeStore> for VerifyFiles {
    const NAME: &'static CStr = c"verifyFiles";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let json = arguments.text(0)?;
        store.promise_watched(arguments.number(1)?, move |core, watch| {
            verify_files(&request::<Vec<FileItem>>(&json)?, core, watch)
        })
    }
}

/// Stores files, which stay until the store keeps their pin.
pub(super) fn storing<T>(
    store: &Arc<Store>,
    pins: &Mutex<Vec<Pin>>,
    job: impl FnOnce(&BlobWriter) -> Result<T>,
) -> Result<T> {
    let intake = BlobWriter::new(store)?;
    let outcome = job(&intake)?;
    pins.lock().unwrap_or_else(PoisonError::into_inner).push(intake.into_pin());
    Ok(outcome)
}
