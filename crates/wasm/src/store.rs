//! The functions that JavaScript calls. Hot calls return a number and never throw: [`FAILED`] means that `failure()`
//! has the reason. Rare calls return JSON (`varve_bindings::answer`). Any exception is a trap.

use crate::files::HostFolder;
use crate::host::Host;
use crate::watch::{Watcher, watched};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Arc;
use varve_bindings::{
    Begun, Failure, JsHandle, PackedKeys, Result, answer, durability, durability_of, request, top,
};
use varve_core::vfs::Vfs;
use varve_core::{
    BlobWriter, LayerSource, MacKey, Options, PendingCommit, SerialPool, Store, folder_of,
};
use wasm_bindgen::prelude::*;

const SCRATCH_BYTES: usize = 128 << 10;

/// The result of a hot call that failed.
const FAILED: i32 = -2;

/// How to open a cache; `layers` are the paths of its layers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenRequest {
    durability: String,
    read_only: bool,
    max_bytes: u64,
    layers: Vec<String>,
}

/// One open cache.
#[wasm_bindgen]
#[derive(Debug)]
pub struct WasmStore {
    pub(crate) handle: JsHandle<Box<[u8]>>,
    /// What takes files, by number.
    pub(crate) intakes: HashMap<u32, BlobWriter>,
    /// Why the last call failed.
    failure: Option<Box<Failure>>,
}

#[wasm_bindgen]
impl WasmStore {
    /// Opens the directory of `host` over layers, whose directories have these paths. Throws the failure as JSON.
    pub fn open(
        host: Host,
        options: &str,
        secret: Option<Vec<u8>>,
        random: u64,
        layers: Vec<Host>,
    ) -> std::result::Result<Self, String> {
        Self::try_open(host, options, secret, random, layers)
            .map_err(|failure| answer::<()>(Err(failure)))
    }

    /// The address of the scratch buffer in the memory of the module, which is fixed.
    #[wasm_bindgen(getter, js_name = scratchAt)]
    pub fn scratch_at(&self) -> usize {
        self.handle.scratch().as_ptr().addr()
    }

    /// The size of the scratch buffer in bytes.
    #[wasm_bindgen(getter, js_name = scratchBytes)]
    pub fn scratch_bytes(&self) -> usize {
        self.handle.scratch().len()
    }

    /// Returns the reason why the last call failed as JSON.
    pub fn failure(&mut self) -> String {
        let failure =
            self.failure.take().unwrap_or_else(|| Failure::internal("no call has failed"));
        answer::<()>(Err(failure))
    }

    /// Returns a number for a namespace.
    pub fn namespace(&mut self, name: &str, version: &str) -> String {
        answer(self.handle.namespace(name, version))
    }

    /// Returns the length of the value, -1 for a miss, -2 for a failure, or -3 for a miss with new damage.
    pub fn get(&mut self, namespace: u32, key_bytes: usize) -> i32 {
        let found =
            self.handle.choose(namespace, key_bytes).and_then(|()| self.handle.read_to_scratch());
        self.number(found)
    }

    /// Looks up the key of the last call again and keeps its value, if it has that many bytes. Returns what `get` does.
    pub fn hold(&mut self, bytes: usize) -> i32 {
        let found = self.handle.read_to_hold(bytes);
        self.number(found)
    }

    /// The address of the kept result in the memory of the module.
    #[wasm_bindgen(getter, js_name = heldAt)]
    pub fn held_at(&self) -> usize {
        self.handle.held().as_ptr().addr()
    }

    /// Releases the kept result.
    pub fn release(&mut self) {
        self.handle.release();
    }

    /// Returns 1 or 0, or -2 for a failure.
    pub fn has(&mut self, namespace: u32, key_bytes: usize) -> i32 {
        let found = self.handle.has(namespace, key_bytes);
        self.number(found.map(i32::from))
    }

    /// Returns 0, or -2 for a failure.
    pub fn put(&mut self, namespace: u32, key_bytes: usize, value: &[u8]) -> i32 {
        let put = self.handle.put(namespace, key_bytes, value);
        self.number(put.map(|()| 0))
    }

    /// Puts an entry that needs blobs; `packed` is as in `JsHandle::put_with_blobs`. Returns 0, or -2 for a failure.
    #[wasm_bindgen(js_name = putWithBlobs)]
    pub fn put_with_blobs(&mut self, namespace: u32, key_bytes: usize, packed: &[u8]) -> i32 {
        let put = self.handle.put_with_blobs(namespace, key_bytes, packed);
        self.number(put.map(|()| 0))
    }

    /// Returns 0, or -2 for a failure.
    pub fn delete(&mut self, namespace: u32, key_bytes: usize) -> i32 {
        let deleted = self.handle.delete(namespace, key_bytes);
        self.number(deleted.map(|()| 0))
    }

    /// Looks up the keys from number `first` on, until a value does not fit into the rest of the first `room` bytes of
    /// the scratch buffer. Returns how many keys have their answer in `lengths`, or -2 for a failure.
    #[wasm_bindgen(js_name = getMany)]
    pub fn get_many(
        &mut self,
        namespace: u32,
        keys: &[u8],
        key_ends: &[u32],
        first: usize,
        room: usize,
        lengths: &mut [i32],
    ) -> i32 {
        let keys = PackedKeys { packed: keys, ends: key_ends };
        let answered = self.handle.get_many_to_scratch(namespace, keys, first, room, lengths);
        self.number(answered.map(|count| count as i32))
    }

    /// Returns the length of the kept result, or -2 for a failure.
    #[wasm_bindgen(js_name = getManyAtOnce)]
    pub fn get_many_at_once(&mut self, namespace: u32, packed: &[u8], ends: &[u32]) -> i32 {
        let held = self.handle.get_many_at_once(namespace, PackedKeys { packed, ends });
        self.number(held)
    }

    /// Returns the length of the kept result, or -2 for a failure.
    pub fn scan(
        &mut self,
        namespace: u32,
        cursor: u64,
        bytes_max: f64,
        packed: &[u8],
        ends: &[u32],
    ) -> i32 {
        let held =
            self.handle.scan((namespace, cursor, bytes_max as u64), PackedKeys { packed, ends });
        self.number(held)
    }

    /// Returns the length of the kept result, or -2 for a failure.
    #[wasm_bindgen(js_name = scanKeys)]
    pub fn scan_keys(
        &mut self,
        namespace: u32,
        cursor: u64,
        bytes_max: f64,
        packed: &[u8],
        ends: &[u32],
    ) -> i32 {
        let held = self
            .handle
            .scan_keys((namespace, cursor, bytes_max as u64), PackedKeys { packed, ends });
        self.number(held)
    }

    /// Returns the length of the kept result, or -2 for a failure.
    #[wasm_bindgen(js_name = scanFolders)]
    pub fn scan_folders(&mut self, namespace: u32, cursor: u64, bytes_max: f64) -> i32 {
        let held = self.handle.scan_folders((namespace, cursor, bytes_max as u64));
        self.number(held)
    }

    /// Returns the bytes of the batch, or -2 for a failure.
    #[wasm_bindgen(js_name = pendingBytes)]
    pub fn pending_bytes(&mut self) -> f64 {
        let bytes = self.handle.pending_bytes();
        self.count(bytes)
    }

    /// Returns the puts and deletes of the batch, or -2 for a failure.
    #[wasm_bindgen(js_name = pendingEntries)]
    pub fn pending_entries(&mut self) -> f64 {
        let entries = self.handle.pending_entries();
        self.count(entries)
    }

    /// Commits the batch. Returns 0, or -2 for a failure; the packed report is in the scratch buffer.
    pub fn commit(&mut self, durable: bool, now_ms: f64) -> i32 {
        let committed = self.try_commit(durable, now_ms as u64);
        self.number(committed.map(|()| 0))
    }

    /// Begins an export of the committed state. Returns JSON with its number.
    #[wasm_bindgen(js_name = beginExport)]
    pub fn begin_export(&mut self, options: &str) -> String {
        answer(self.handle.begin_export(options))
    }

    /// Writes the next chunk, which is kept. Returns JSON with its length.
    #[wasm_bindgen(js_name = exportChunk)]
    pub fn export_chunk(&mut self, export: u32) -> String {
        answer(self.handle.export_chunk(export))
    }

    /// Begins an import. Returns JSON with its number.
    #[wasm_bindgen(js_name = beginImport)]
    pub fn begin_import(&mut self, may_replace: bool) -> String {
        answer(self.handle.begin_import(may_replace))
    }

    /// Reads the next piece of an import.
    #[wasm_bindgen(js_name = feedImport)]
    pub fn feed_import(&mut self, import: u32, piece: &[u8]) -> String {
        answer(self.handle.feed_import(import, piece))
    }

    /// Checks that the input of an import may end here.
    #[wasm_bindgen(js_name = finishImport)]
    pub fn finish_import(&mut self, import: u32) -> String {
        answer(self.handle.finish_import(import))
    }

    /// Commits the entries of an import. The report is null if there are none.
    #[wasm_bindgen(js_name = commitImport)]
    pub fn commit_import(&mut self, import: u32, now_ms: f64) -> String {
        let run = |commit: PendingCommit| Ok(commit.run(None, now_ms as u64)?);
        answer(self.handle.commit_import(import).and_then(|commit| commit.map(run).transpose()))
    }

    /// Ends an export or an import.
    #[wasm_bindgen(js_name = endTransfer)]
    pub fn end_transfer(&mut self, transfer: u32) {
        self.handle.end_transfer(transfer);
    }

    /// Makes every commit so far survive a power failure.
    pub fn flush(&self, now_ms: f64) -> String {
        self.ask(|store| {
            store.set_now(now_ms as u64);
            store.flush()
        })
    }

    /// Makes the commits of other processes visible.
    pub fn refresh(&self) -> String {
        self.ask(Store::refresh)
    }

    /// Reads the commits of other processes. They become visible with the next commit or `refresh`.
    #[wasm_bindgen(js_name = lookAhead)]
    pub fn look_ahead(&self) -> String {
        self.ask(Store::look_ahead)
    }

    /// Checkpoints and merges what is due, or everything if `full`.
    pub fn compact(&self, full: bool, now_ms: f64, watcher: Watcher) -> String {
        watched(watcher, |watch| {
            self.ask(|store| {
                store.set_now(now_ms as u64);
                store.compact(full, watch)
            })
        })
    }

    /// Returns sizes and counts.
    pub fn stats(&self) -> String {
        self.ask(Store::stats)
    }

    /// Returns the first entries in the chosen order.
    pub fn top(&self, options: &str) -> String {
        answer(self.handle.store().and_then(|store| top(store, options)))
    }

    /// Verifies every byte.
    pub fn verify(&self, watcher: Watcher) -> String {
        watched(watcher, |watch| self.ask(|store| store.verify(watch)))
    }

    /// Quarantines damaged files. A dry run only reports them.
    pub fn repair(&self, dry_run: bool, watcher: Watcher) -> String {
        watched(watcher, |watch| self.ask(|store| store.repair(dry_run, watch)))
    }

    /// Seals what is committed into the directory `target`, without what the layers `since` have.
    pub fn seal(
        &self,
        target: Host,
        paths: Vec<String>,
        since: Vec<Host>,
        watcher: Watcher,
    ) -> String {
        let target: Arc<dyn Vfs> = Arc::new(HostFolder::new(target));
        watched(watcher, |watch| {
            self.ask(|store| store.seal(&target, &layers_of(paths, since), watch))
        })
    }

    /// Returns the number of damaged places detected so far, or -2 for a failure.
    #[wasm_bindgen(js_name = damageCount)]
    pub fn damage_count(&mut self) -> i32 {
        let count = self.handle.damage_count();
        self.number(count.map(|count| count as i32))
    }

    /// Returns the status of the store.
    pub fn status(&self) -> String {
        self.ask(|store| Ok(store.status()))
    }

    /// Ends the session and closes its store. Returns all damage detected, including while closing.
    pub fn close(&mut self, now_ms: f64) -> String {
        let closed = self.handle.store().cloned().and_then(|store| {
            store.set_now(now_ms as u64);
            self.intakes.clear();
            self.handle.close();
            store.close()?;
            Ok(store.status().damage)
        });
        answer(closed)
    }
}

/// Returns JSON with the name of the subdirectory for a cache with this secret, or without one.
#[wasm_bindgen(js_name = folderName)]
pub fn folder_name(secret: Option<Vec<u8>>) -> String {
    answer(key_of(secret).map(|key| folder_of(key.as_ref())))
}

/// Layers by the paths that reports name, with their files.
fn layers_of(paths: Vec<String>, hosts: Vec<Host>) -> Vec<LayerSource> {
    let source = |(path, host): (String, Host)| LayerSource {
        name: path.into(),
        vfs: Arc::new(HostFolder::new(host)),
    };
    paths.into_iter().zip(hosts).map(source).collect()
}

fn key_of(secret: Option<Vec<u8>>) -> Result<Option<MacKey>> {
    Ok(secret.map(|secret| MacKey::new(&secret)).transpose()?)
}

impl WasmStore {
    fn try_open(
        host: Host,
        options: &str,
        secret: Option<Vec<u8>>,
        random: u64,
        layers: Vec<Host>,
    ) -> Result<Self> {
        #[cfg(feature = "planted")]
        crate::plant::arm();
        let OpenRequest { durability, read_only, max_bytes: bytes_max, layers: paths } =
            request(options)?;
        let (durability, key) = (durability_of(&durability)?, key_of(secret)?);
        let layers = layers_of(paths, layers);
        let folder = HostFolder::new(host);
        let clock = folder.clock();
        let options = Options {
            durability,
            read_only,
            bytes_max,
            mac_key: key,
            random,
            clock,
            layers,
            ..Options::default()
        };
        let store = Store::open(Arc::new(folder), Arc::new(SerialPool), options)?;
        let handle = JsHandle::new(&store, vec![0; SCRATCH_BYTES].into_boxed_slice());
        Ok(Self { handle, intakes: HashMap::new(), failure: None })
    }

    fn try_commit(&mut self, durable: bool, now_ms: u64) -> Result<()> {
        match self.handle.begin_commit(durability(durable))? {
            Begun::Ready(commit) => {
                let committed = commit.run(now_ms)?;
                self.handle.report(&committed);
                Ok(())
            }
            Begun::Empty => self.handle.report_empty(),
            Begun::Waits => Err(Failure::internal(
                "a commit waits, but every commit ends before its call returns",
            )),
        }
    }

    fn ask<T: serde::Serialize>(
        &self,
        question: impl FnOnce(&Store) -> varve_core::Result<T>,
    ) -> String {
        answer(self.handle.store().and_then(|store| Ok(question(store)?)))
    }

    /// A count that may exceed 32 bits.
    fn count(&mut self, outcome: Result<u64>) -> f64 {
        match outcome {
            Ok(count) => count as f64,
            Err(failure) => f64::from(self.number(Err(failure))),
        }
    }

    pub(crate) fn number(&mut self, outcome: Result<i32>) -> i32 {
        outcome.unwrap_or_else(|failure| {
            self.failure = Some(failure);
            FAILED
        })
    }
}
