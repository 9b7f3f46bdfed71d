//! Archives of files, in a module of their own: a cache without archives never loads it. The contents of the files
//! are in the module of the engine, so the host stores and reads them.

use crate::stream::{ArchiveHost, Running};
use crate::watch::{Watcher, watched};
use serde::Deserialize;
use varve_bindings::{ArchiveRequest, FileItem, answer, records_of, request};
use varve_core::SerialPool;
use wasm_bindgen::prelude::*;

/// The request for an archive.
#[derive(Deserialize)]
struct ExportRequest {
    gzip: bool,
    files: Vec<FileItem>,
}

/// Reads an archive; the host stores its files.
#[wasm_bindgen(js_name = importArchive)]
pub fn import_archive(json: &str, host: ArchiveHost, watcher: Watcher) -> String {
    begin();
    let import = |input: &mut Running| {
        let archive: ArchiveRequest = request(json)?;
        watched(watcher, |watch| {
            varve_bindings::import_archive(input, &archive, &SerialPool, &Running::store, watch)
        })
    };
    answer(Running::with(host, import))
}

/// Writes an archive.
#[wasm_bindgen(js_name = exportArchive)]
pub fn export_archive(json: &str, host: ArchiveHost, watcher: Watcher) -> String {
    begin();
    let export = |output: &mut Running| {
        let ExportRequest { gzip, files } = request(json)?;
        let records = records_of(files)?;
        let mut write = |bytes: &[u8]| output.write(bytes);
        watched(watcher, |watch| {
            varve_bindings::export_archive(&records, gzip, &Running::content, &mut write, watch)
        })
    };
    answer(Running::with(host, export))
}

/// Plants the faults of a test.
fn begin() {
    #[cfg(feature = "planted")]
    crate::plant::arm();
}
