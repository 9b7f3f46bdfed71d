//! What the addon exports: opening a store.

use crate::calls;
use crate::node_api::{Functions, Made};
use crate::store::NodeStore;
use napi::bindgen_prelude::{AsyncTask, Uint8Array};
use napi::{Env, Task};
use napi_derive::napi;
use std::path::PathBuf;
use varve_bindings::{Result, answer, durability_of, guarded};
use varve_core::failpoints;
use varve_core::{MacKey, Options, folder_of};
use varve_disk::{SharedStore, layer_at};

/// Opens the store in `folder`. The promise resolves to its functions, or to JSON with the failure.
#[napi(catch_unwind)]
pub(crate) fn open_store(
    folder: String,
    durability: String,
    read_only: bool,
    bytes_max: f64,
    secret: Option<Uint8Array>,
    layers: Vec<String>,
) -> AsyncTask<Open> {
    failpoints::panics("open-store");
    let (bytes_max, key) = (bytes_max as u64, key_of(secret));
    AsyncTask::new(Open { folder: folder.into(), durability, read_only, bytes_max, key, layers })
}

/// The same at once, on the thread of JavaScript, if there is little to read: its functions, or nothing, and then
/// `open_store` reports why.
#[napi(catch_unwind)]
pub(crate) fn open_small(
    env: &Env,
    folder: String,
    durability: String,
    read_only: bool,
    bytes_max: f64,
    secret: Option<Uint8Array>,
    layers: Vec<String>,
) -> Option<Made> {
    let (bytes_max, key) = (bytes_max as u64, key_of(secret));
    let open = Open { folder: folder.into(), durability, read_only, bytes_max, key, layers };
    guarded(|| {
        failpoints::arm();
        failpoints::panics("open-small");
        let shared = SharedStore::open_if_small(&open.folder, &open.options()?)?;
        shared.map(|shared| functions(env, shared)).transpose()
    })
    .ok()
    .flatten()
    .map(Made::Object)
}

/// The name of the directory that a cache with that secret, or without one, uses in its own. Nothing if the secret is
/// too short.
#[napi(catch_unwind)]
pub(crate) fn folder_name(secret: Option<Uint8Array>) -> Option<String> {
    key_of(secret).ok().map(|key| folder_of(key.as_ref()))
}

fn key_of(secret: Option<Uint8Array>) -> Result<Option<MacKey>> {
    Ok(secret.map(|secret| MacKey::new(&secret)).transpose()?)
}

/// The task of `open_store`.
#[derive(Debug)]
pub(crate) struct Open {
    folder: PathBuf,
    durability: String,
    read_only: bool,
    bytes_max: u64,
    key: Result<Option<MacKey>>,
    layers: Vec<String>,
}

impl Open {
    fn options(&self) -> Result<Options> {
        let durability = durability_of(&self.durability)?;
        let (read_only, bytes_max, key) = (self.read_only, self.bytes_max, self.key.clone()?);
        let folder = folder_of(key.as_ref());
        let layers = self.layers.iter().map(|path| layer_at(path, &folder)).collect();
        Ok(Options { durability, read_only, bytes_max, mac_key: key, layers, ..Options::default() })
    }
}

impl Task for Open {
    type Output = Result<SharedStore>;
    type JsValue = Made;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(guarded(|| {
            failpoints::arm();
            failpoints::panics("open-task");
            Ok(SharedStore::open(&self.folder, &self.options()?)?)
        }))
    }

    fn resolve(&mut self, env: Env, shared: Self::Output) -> napi::Result<Made> {
        let made = guarded(|| {
            failpoints::panics("open-resolve");
            functions(&env, shared?)
        });
        Ok(made.map_or_else(|failure| Made::Text(answer::<()>(Err(failure))), Made::Object))
    }
}

/// The functions of the store. From now on it sees what was committed before it was opened: the state changes here,
/// between two turns of the event loop, so that no two reads of one turn see different states.
fn functions(env: &Env, shared: SharedStore) -> Result<napi::sys::napi_value> {
    shared.store().advance()?;
    Ok(calls::add(Functions::new(env, |scratch| NodeStore::new(shared, scratch))?)?.finish())
}
