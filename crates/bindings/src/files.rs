//! Manifests of files, as JavaScript and the engine exchange them, and the requests that use them.
//!
//! ```text
//! [{"path":"a.js","size":3,"digest":"<64 hex>","executable":true}, {"path":"b","link":"a.js"},
//!  {"path":"c","folder":true}]
//! ```

use crate::failure::{Failure, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_archive::tar::{
    Content, ExportOptions, FileRecord, ImportOptions, Links, check_sorted, export, import,
};
use varve_core::order;
use varve_core::{BlobRef, Digest, Error, FILE_BYTES_MAX, Pool, Store, Watch};

/// A file, link or empty directory of a manifest.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub struct FileItem {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folder: bool,
}

/// A stored blob.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub struct StoredItem {
    pub digest: String,
    pub size: u64,
    pub executable: bool,
}

/// The result of verifying a blob.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub struct VerifiedItem {
    pub digest: String,
    pub sound: bool,
}

/// The limits of an archive import; 0 is the default.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub struct ArchiveRequest {
    /// Accepts links that stay below the root.
    pub links: bool,
    pub max_bytes: u64,
    pub max_file_bytes: u64,
    pub max_files: u64,
    pub input_bytes: u64,
}

/// The result of an archive import.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub struct ImportReport {
    pub files: Vec<FileItem>,
    pub warnings: Vec<String>,
}

/// Parses a request that the TypeScript side wrote.
pub fn request<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json)
        .map_err(|error| Failure::argument(format!("invalid manifest or request: {error}")))
}

impl FileItem {
    fn into_record(self) -> Result<FileRecord> {
        let Self { path, size, digest, executable, link, folder } = self;
        let content = match (size, digest, link, folder) {
            (Some(bytes), Some(hex), None, false) => {
                let digest = Digest::parse(&hex)
                    .ok_or_else(|| wrong(&path, "'digest' needs 64 hex digits"))?;
                Content::File { digest, bytes, executable }
            }
            (None, None, Some(target), false) => Content::Link { target },
            (None, None, None, true) => Content::Folder,
            _ => {
                return Err(wrong(
                    &path,
                    "an item needs 'size' and 'digest', or 'link', or 'folder': true",
                ));
            }
        };
        Ok(FileRecord { path, content })
    }

    fn of(record: FileRecord) -> Self {
        let none = Self {
            path: record.path,
            size: None,
            digest: None,
            executable: false,
            link: None,
            folder: false,
        };
        match record.content {
            Content::File { digest, bytes, executable } => {
                Self { size: Some(bytes), digest: Some(digest.to_string()), executable, ..none }
            }
            Content::Link { target } => Self { link: Some(target), ..none },
            Content::Folder => Self { folder: true, ..none },
        }
    }
}

fn wrong(path: &str, what: &str) -> Box<Failure> {
    Failure::argument(format!("invalid manifest at '{}': {what}", path.escape_debug()))
}

/// Returns the records of a manifest in their order, after checking the rules of paths.
pub fn records_of(items: Vec<FileItem>) -> Result<Vec<FileRecord>> {
    let mut records = items.into_iter().map(FileItem::into_record).collect::<Result<Vec<_>>>()?;
    order::sort_by(&mut records, |a, b| a.path.cmp(&b.path));
    check_sorted(records.iter())?;
    Ok(records)
}

/// Reads an archive and stores its files: `put` returns the digest of a content, on any thread of the pool.
pub fn import_archive(
    input: &mut (dyn Read + Send),
    request: &ArchiveRequest,
    pool: &dyn Pool,
    put: &(dyn Fn(&[u8]) -> varve_core::Result<Digest> + Sync),
    watch: Watch<'_>,
) -> Result<ImportReport> {
    let default = ImportOptions::default();
    let or = |given: u64, default: u64| if given == 0 { default } else { given };
    let options = ImportOptions {
        links: if request.links { Links::Inside } else { Links::Refuse },
        bytes_max: or(request.max_bytes, default.bytes_max),
        file_bytes_max: or(request.max_file_bytes, default.file_bytes_max).min(FILE_BYTES_MAX),
        files_max: or(request.max_files, default.files_max),
        input_bytes: request.input_bytes,
        ..default
    };
    let imported = import(input, &options, pool, put, watch)?;
    let files = imported.records.into_iter().map(FileItem::of).collect();
    Ok(ImportReport {
        files,
        warnings: imported.warnings.iter().map(ToString::to_string).collect(),
    })
}

/// Writes an archive of these records, whose contents `content` returns. The watch counts files.
pub fn export_archive(
    records: &[FileRecord],
    gzip: bool,
    content: &dyn Fn(&BlobRef) -> varve_core::Result<Option<Vec<u8>>>,
    write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    watch: Watch<'_>,
) -> Result<()> {
    let places: HashMap<Digest, (u64, &str)> = records.iter().filter_map(place).collect();
    let done = AtomicU64::new(0);
    let read = |digest: &Digest| {
        let (bytes, path) = places.get(digest).copied().unwrap_or_default();
        let done = done.fetch_add(1, Ordering::Relaxed);
        if watch(done, records.len() as u64) == ControlFlow::Break(()) {
            return Err(Error::Cancelled.boxed());
        }
        content(&BlobRef { digest: *digest, bytes })?
            .ok_or_else(|| Error::FileLost { path: path.to_owned() }.boxed())
    };
    let mut write =
        |bytes: &[u8]| write(bytes).map_err(|source| Error::io("write", "archive", source));
    Ok(export(records, ExportOptions { gzip }, &read, &mut write)?)
}

fn place(record: &FileRecord) -> Option<(Digest, (u64, &str))> {
    match &record.content {
        Content::File { digest, bytes, .. } => Some((*digest, (*bytes, record.path.as_str()))),
        Content::Folder | Content::Link { .. } => None,
    }
}

/// Returns all stored blobs.
pub fn stored_files(store: &Store) -> Result<Vec<StoredItem>> {
    let files = store.list_blobs()?;
    Ok(files.iter().map(|file| StoredItem::of(file, false)).collect())
}

impl StoredItem {
    /// The blob as JSON has it.
    pub fn of(file: &BlobRef, executable: bool) -> Self {
        Self { digest: file.digest.to_string(), size: file.bytes, executable }
    }
}

/// Fails with `FileLost` unless the store has all contents. They are not read; the watch counts records.
pub fn check_contents(records: &[FileRecord], store: &Store, watch: Watch<'_>) -> Result<()> {
    for (index, record) in records.iter().enumerate() {
        if watch(index as u64, records.len() as u64) == ControlFlow::Break(()) {
            return Err(Error::Cancelled.into());
        }
        if let Content::File { digest, bytes, .. } = record.content
            && !store.has_blob(&BlobRef { digest, bytes })?
        {
            return Err(Error::FileLost { path: record.path.clone() }.boxed().into());
        }
    }
    Ok(())
}

/// Reads blobs and checks them. The watch counts files.
pub fn verify_files(
    items: &[FileItem],
    store: &Store,
    watch: Watch<'_>,
) -> Result<Vec<VerifiedItem>> {
    let verify = |(index, item): (usize, &FileItem)| {
        if watch(index as u64, items.len() as u64) == ControlFlow::Break(()) {
            return Err(Error::Cancelled.into());
        }
        let FileItem { path, size: Some(bytes), digest: Some(hex), .. } = item else {
            return Err(wrong(&item.path, "only files can be verified"));
        };
        let digest =
            Digest::parse(hex).ok_or_else(|| wrong(path, "'digest' needs 64 hex digits"))?;
        let sound = store.read_blob(&BlobRef { digest, bytes: *bytes })?.is_some();
        Ok(VerifiedItem { digest: hex.clone(), sound })
    };
    items.iter().enumerate().map(verify).collect()
}
