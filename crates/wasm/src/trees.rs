//! Files of tasks. JavaScript walks the trees on the disk; this module handles the contents.

use crate::store::WasmStore;
use crate::watch::{Watcher, watched};
use varve_bindings::{
    Failure, FileItem, Result, StoredItem, answer, check_contents, commit_alone, records_of,
    request, stored_files, verify_files,
};
use varve_core::{BlobRef, BlobWriter, Digest};
use wasm_bindgen::prelude::*;

/// The BLAKE3 digest of a content as 64 hex digits.
#[wasm_bindgen(js_name = digestOf)]
pub fn digest_of(content: &[u8]) -> String {
    Digest::of(content).to_string()
}

#[wasm_bindgen]
impl WasmStore {
    /// Begins to store blobs. Returns the number for `storeFile`.
    #[wasm_bindgen(js_name = beginStoring)]
    pub fn begin_storing(&mut self) -> String {
        answer(self.try_begin_storing())
    }

    /// Stores one blob.
    #[wasm_bindgen(js_name = storeFile)]
    pub fn store_file(&self, number: u32, content: &[u8]) -> String {
        let stored = self.intake(number).and_then(|intake| Ok(intake.store(content)?));
        answer(stored.map(|file| StoredItem::of(&file, false)))
    }

    /// Pins the blobs stored under this number until the next commit begins, or releases them without `keep`.
    #[wasm_bindgen(js_name = endStoring)]
    pub fn end_storing(&mut self, number: u32, keep: bool) -> String {
        let intake = self.intakes.remove(&number).filter(|_| keep);
        answer(intake.map_or(Ok(()), |intake| self.handle.keep(intake.into_pin())))
    }

    /// Reads a blob, which is kept. Returns its length, -1 if it is missing or damaged, or -2 for a failure.
    #[wasm_bindgen(js_name = readFile)]
    pub fn read_file(&mut self, digest: &str, bytes: f64) -> i32 {
        let digest =
            Digest::parse(digest).ok_or_else(|| Failure::argument("a digest needs 64 hex digits"));
        let read = digest
            .and_then(|digest| self.handle.read_file(&BlobRef { digest, bytes: bytes as u64 }));
        self.number(read)
    }

    /// Checks the rules of a manifest.
    #[wasm_bindgen(js_name = checkFiles)]
    pub fn check_files(&self, json: &str) -> String {
        answer(request::<Vec<FileItem>>(json).and_then(records_of).map(drop))
    }

    /// Returns all stored blobs.
    #[wasm_bindgen(js_name = listFiles)]
    pub fn list_files(&self) -> String {
        answer(self.handle.store().and_then(|store| stored_files(store)))
    }

    /// Returns which blobs are sound.
    #[wasm_bindgen(js_name = verifyFiles)]
    pub fn verify_files(&self, json: &str, watcher: Watcher) -> String {
        let verify = || {
            let (items, store) = (request::<Vec<FileItem>>(json)?, self.handle.store()?);
            watched(watcher, |watch| verify_files(&items, store, watch))
        };
        answer(verify())
    }

    /// Checks that all contents of a manifest exist.
    #[wasm_bindgen(js_name = checkContents)]
    pub fn check_contents(&self, json: &str, watcher: Watcher) -> String {
        let check = || {
            let (items, store) = (request::<Vec<FileItem>>(json)?, self.handle.store()?);
            let records = records_of(items)?;
            watched(watcher, |watch| check_contents(&records, store, watch))
        };
        answer(check())
    }

    /// Commits one entry separately.
    #[wasm_bindgen(js_name = commitAlone)]
    pub fn commit_alone(&self, json: &str, now_ms: f64) -> String {
        let store = self.handle.store();
        answer(store.and_then(|store| commit_alone(store, &request(json)?, now_ms as u64)))
    }
}

impl WasmStore {
    fn try_begin_storing(&mut self) -> Result<u32> {
        let intake = BlobWriter::new(self.handle.store()?)?;
        let number = (0..).find(|number| !self.intakes.contains_key(number)).unwrap_or(u32::MAX);
        self.intakes.insert(number, intake);
        Ok(number)
    }

    fn intake(&self, number: u32) -> Result<&BlobWriter> {
        self.intakes
            .get(&number)
            .ok_or_else(|| Failure::argument(format!("intake {number} does not exist")))
    }
}
