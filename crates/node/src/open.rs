//! What the addon exports: opening a store.

use crate::calls;
use crate::node_api::{
    Answer, Arguments, Call, Callee, Env, Functions, Methods, Reply, Task, Value,
};
use crate::store::NodeStore;
use serde::Deserialize;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use varve_bindings::{Result, durability_of, guarded, request};
use varve_core::failpoints;
use varve_core::{MacKey, Options, folder_of};
use varve_disk::{SharedStore, layer_at};

/// The callee of what the addon exports.
pub(crate) struct Addon;

impl Callee for Addon {
    fn guarded<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        guarded(call)
    }
}

/// Adds the exports, and makes the class of open stores.
pub(crate) fn add(env: Env, exports: Value) -> Result<Functions<Addon>> {
    calls::add(Methods::new()).define(env, exports)?;
    let functions = Functions::of(env, exports, Addon);
    functions.add::<OpenStore>()?.add::<OpenSmall>()?.add::<FolderName>()
}

struct OpenStore;
struct OpenSmall;
struct FolderName;

/// Opens the store. The promise resolves to its functions, or to JSON with the failure.
impl Call<Addon> for OpenStore {
    const NAME: &'static CStr = c"openStore";

    fn run(_addon: &Addon, arguments: &Arguments) -> Result<Answer> {
        failpoints::panics("open-store");
        let order = Order::of(arguments);
        let job = || {
            failpoints::arm();
            failpoints::panics("open-task");
            order?.open(SharedStore::open)
        };
        Ok(Answer::Promise(Task::new(move || guarded(job).map_or_else(Reply::failed, reply_of))))
    }
}

/// The same at once, on the thread of JavaScript, if there is little to read: its functions, or nothing, and then
/// `openStore` reports why.
impl Call<Addon> for OpenSmall {
    const NAME: &'static CStr = c"openSmall";

    fn run(_addon: &Addon, arguments: &Arguments) -> Result<Answer> {
        let opened = guarded(|| {
            failpoints::arm();
            failpoints::panics("open-small");
            let shared = Order::of(arguments)?.open(SharedStore::open_if_small)?;
            shared.map(|shared| functions(arguments.env(), shared)).transpose()
        });
        Ok(opened.ok().flatten().map_or(Answer::Nothing, Answer::Object))
    }
}

/// The name of the directory that a cache with that secret, or without one, uses in its own. Nothing if the secret is
/// too short.
impl Call<Addon> for FolderName {
    const NAME: &'static CStr = c"folderName";

    fn run(_addon: &Addon, arguments: &Arguments) -> Result<Answer> {
        let key = key_of(arguments.optional_bytes(0)?);
        Ok(key.map_or(Answer::Nothing, |key| Answer::Text(folder_of(key.as_ref()))))
    }
}

fn key_of(secret: Option<&[u8]>) -> Result<Option<MacKey>> {
    Ok(secret.map(MacKey::new).transpose()?)
}

/// The first argument, as JSON; the second is the secret.
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
    fn of(arguments: &Arguments) -> Result<Self> {
        let OpenRequest { folder, durability, read_only, bytes_max, layers } =
            request(&arguments.text(0)?)?;
        let (durability, bytes_max) = (durability_of(&durability)?, bytes_max as u64);
        let mac_key = key_of(arguments.optional_bytes(1)?)?;
        let name = folder_of(mac_key.as_ref());
        let layers = layers.iter().map(|path| layer_at(path, &name)).collect();
        Ok(Self {
            folder,
            options: Options {
                durability,
                read_only,
                bytes_max,
                mac_key,
                layers,
                ..Options::default()
            },
        })
    }

    fn open<T>(&self, open: impl FnOnce(&Path, &Options) -> varve_core::Result<T>) -> Result<T> {
        Ok(open(&self.folder, &self.options)?)
    }
}

fn reply_of(shared: SharedStore) -> Reply {
    Reply::Object(Box::new(|env| {
        failpoints::panics("open-resolve");
        functions(env, shared)
    }))
}

/// The functions of the store. From now on it sees what was committed before it was opened: the state changes here,
/// between two turns of the event loop, so that no two reads of one turn see different states.
fn functions(env: Env, shared: SharedStore) -> Result<Value> {
    shared.store().advance()?;
    Ok(calls::add_hot(Functions::new(env, |scratch, cells| {
        NodeStore::new(shared, scratch, cells)
    })?)?
    .finish())
}
