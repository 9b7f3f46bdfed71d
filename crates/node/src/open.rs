//! What the addon exports: opening a store.

use crate::answers::{Result, failed, thrown};
use crate::calls::NodeStore;
use crate::memory::Memory;
use napi::ScopedTask;
use napi::bindgen_prelude::{AsyncTask, ClassInstance, Either, Env, Int32Array, Uint8Array};
use napi_derive::napi;
use serde::Deserialize;
use std::path::PathBuf;
use varve_bindings::{Failure, durability_of, guarded, request};
use varve_core::failpoints;
use varve_core::{MacKey, Options, folder_of};
use varve_disk::{SharedStore, layer_at};

/// Opens the store. The promise resolves to it, or to JSON with the failure. The last two are the memory for the calls
/// of all stores of this thread: keys and values, and numbers.
#[napi(catch_unwind, ts_return_type = "Promise<NodeStore | string>")]
pub fn open_store(
    order: String,
    secret: Option<&[u8]>,
    scratch: Uint8Array,
    cells: Int32Array,
) -> Result<AsyncTask<Opening>> {
    let opening = guarded(|| {
        failpoints::panics("open-store");
        let order = Order::of(&order, secret)?;
        Ok(Opening { order, memory: Some(Memory::new(scratch, cells)?) })
    });
    opening.map(AsyncTask::new).map_err(thrown)
}

/// Opens a small store on this thread, because switching threads twice takes longer. Null if it cannot; then
/// `openStore` reports why.
#[napi(catch_unwind)]
pub fn open_small<'env>(
    env: &'env Env,
    order: String,
    secret: Option<&[u8]>,
    scratch: Uint8Array,
    cells: Int32Array,
) -> Option<ClassInstance<'env, NodeStore>> {
    let opened = guarded(|| {
        failpoints::arm();
        failpoints::panics("open-small");
        let memory = Memory::new(scratch, cells)?;
        let order = Order::of(&order, secret)?;
        let shared = SharedStore::open_if_small(&order.folder, &order.options)?;
        shared.map(|shared| object(env, shared, memory)).transpose()
    });
    opened.ok().flatten()
}

/// The name of the directory that a cache with that secret, or without one, uses in its own. Null if the secret is too
/// short.
#[napi(catch_unwind)]
pub fn folder_name(secret: Option<&[u8]>) -> Option<String> {
    let key = guarded(|| key_of(secret));
    key.ok().map(|key| folder_of(key.as_ref()))
}

fn key_of(secret: Option<&[u8]>) -> varve_bindings::Result<Option<MacKey>> {
    Ok(secret.map(MacKey::new).transpose()?)
}

/// What to open, as JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenRequest {
    folder: PathBuf,
    durability: String,
    read_only: bool,
    bytes_max: f64,
    layers: Vec<String>,
}

/// What to open.
struct Order {
    folder: PathBuf,
    options: Options,
}

impl Order {
    fn of(json: &str, secret: Option<&[u8]>) -> varve_bindings::Result<Self> {
        let OpenRequest { folder, durability, read_only, bytes_max, layers } = request(json)?;
        let (durability, bytes_max) = (durability_of(&durability)?, bytes_max as u64);
        let mac_key = key_of(secret)?;
        let name = folder_of(mac_key.as_ref());
        let layers = layers.iter().map(|path| layer_at(path, &name)).collect();
        let options =
            Options { durability, read_only, bytes_max, mac_key, layers, ..Options::default() };
        Ok(Self { folder, options })
    }
}

/// The job of `openStore`.
pub struct Opening {
    order: Order,
    /// `None` once an object has it.
    memory: Option<Memory>,
}

impl<'env> ScopedTask<'env> for Opening {
    type Output = varve_bindings::Result<SharedStore>;
    type JsValue = Either<ClassInstance<'env, NodeStore>, String>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(guarded(|| {
            failpoints::arm();
            failpoints::panics("open-task");
            Ok(SharedStore::open(&self.order.folder, &self.order.options)?)
        }))
    }

    fn resolve(&mut self, env: &'env Env, shared: Self::Output) -> napi::Result<Self::JsValue> {
        let memory = self.memory.take();
        let opened = guarded(|| {
            let shared = shared?;
            failpoints::panics("open-resolve");
            object(env, shared, memory.ok_or_else(|| Failure::internal("a job ran twice"))?)
        });
        Ok(opened.map_or_else(|failure| Either::B(failed(failure)), Either::A))
    }
}

/// The object of a store. From now on it sees what was committed before it was opened: the state changes here, between
/// two turns of the event loop, so that no two reads of one turn see different states.
fn object<'env>(
    env: &'env Env,
    shared: SharedStore,
    memory: Memory,
) -> varve_bindings::Result<ClassInstance<'env, NodeStore>> {
    shared.store().advance()?;
    NodeStore::object(env, shared, memory)
}
