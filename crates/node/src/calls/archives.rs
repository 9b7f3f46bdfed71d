//! Archives of files, in and out.

use crate::calls::files::storing;
use crate::node_api::{Answer, Arguments, Call, Methods};
use crate::store::NodeStore;
use serde::Deserialize;
use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_bindings::{
    ArchiveRequest, Failure, FileItem, Result, export_archive, import_archive, records_of, request,
};
use varve_core::Error;

/// Adds the methods of this file.
pub(crate) fn add(methods: Methods<NodeStore>) -> Methods<NodeStore> {
    methods.add::<ImportArchive>().add::<ExportArchive>()
}

struct ImportArchive;
struct ExportArchive;

/// Where an archive is, and what to take of it.
#[derive(Deserialize)]
struct ImportRequest {
    /// `None` = the bytes are the third argument.
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

impl Call<NodeStore> for ImportArchive {
    const NAME: &'static CStr = c"importArchive";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let json = arguments.text(0)?;
        let ImportRequest { path, archive } = request(&json)?;
        let bytes = if path.is_none() { arguments.bytes(2)?.to_vec() } else { Vec::new() };
        let pins = Arc::clone(store.pins());
        store.promise_watched(arguments.number(1)?, move |core, watch| {
            let mut input: Box<dyn Read + Send> = match &path {
                None => Box::new(Cursor::new(bytes)),
                Some(path) => {
                    Box::new(File::open(path).map_err(|source| io("open", path, source))?)
                }
            };
            storing(core, &pins, |intake| {
                import_archive(
                    &mut input,
                    &archive,
                    &**core.pool(),
                    &|content| Ok(intake.store(content)?.digest),
                    watch,
                )
            })
        })
    }
}

/// Writes to a file that must not exist yet.
impl Call<NodeStore> for ExportArchive {
    const NAME: &'static CStr = c"exportArchive";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let json = arguments.text(0)?;
        store.promise_watched(arguments.number(1)?, move |core, watch| {
            let ExportRequest { path, gzip, files } = request(&json)?;
            let records = records_of(files)?;
            let created = OpenOptions::new().write(true).create_new(true).open(&path);
            let mut file = created.map_err(|source| io("create", &path, source))?;
            export_archive(
                &records,
                gzip,
                &|blob| core.read_blob(blob),
                &mut |bytes| file.write_all(bytes),
                watch,
            )
        })
    }
}

fn io(operation: &'static str, path: &Path, source: std::io::Error) -> Box<Failure> {
    Error::io(operation, &path.to_string_lossy(), source).into()
}
