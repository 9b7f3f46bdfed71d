//! Entries and namespaces, except what runs for each entry. The key of a call for one entry is in the scratch buffer.

use crate::answers::{Job, Promise, Result, refused};
use crate::calls::NodeStore;
use crate::memory::{Scratch, Target};
use napi::bindgen_prelude::{BigInt, Either, Env, Uint8Array, Uint8ArraySlice};
use napi_derive::napi;
use varve_bindings::{JsHandle, PackedKeys, PagePlace};

/// Where a page begins, and about how many bytes it has.
#[napi(object, object_to_js = false)]
pub struct PageRequest {
    pub namespace: u32,
    pub cursor: BigInt,
    pub bytes_max: f64,
}

impl PageRequest {
    fn place(&self) -> PagePlace {
        (self.namespace, self.cursor.get_u64().1, self.bytes_max as u64)
    }
}

#[napi]
impl NodeStore {
    /// The number of a namespace.
    #[napi(catch_unwind)]
    pub fn namespace(&self, name: String, version: String) -> Result<u32> {
        self.on_handle(|handle| handle.namespace(&name, &version))
    }

    /// Names the memory into which `find` writes values.
    #[napi(catch_unwind)]
    pub fn set_target(&self, target: Uint8Array) -> Result<()> {
        self.call(|store| {
            store.with(|open| {
                open.target = Some(Target(target));
                Ok(())
            })
        })
    }

    #[napi(catch_unwind)]
    pub fn put_with_blobs(&self, namespace: u32, key_bytes: u32, packed: &[u8]) -> Result<()> {
        self.on_handle(|handle| handle.put_with_blobs(namespace, key_bytes as usize, packed))
    }

    /// The values of all keys in one state, packed.
    #[napi(catch_unwind)]
    pub fn get_many_at_once<'env>(
        &self,
        env: &'env Env,
        namespace: u32,
        keys: &[u8],
        key_ends: &[u32],
    ) -> Result<Uint8ArraySlice<'env>> {
        let keys = PackedKeys { packed: keys, ends: key_ends };
        self.held(env, |handle| handle.get_many_at_once(namespace, keys))
    }

    /// The same on another thread.
    #[napi(catch_unwind)]
    pub fn get_many_async(
        &self,
        namespace: u32,
        keys: &[u8],
        key_ends: &[u32],
    ) -> Result<Promise<Either<Uint8Array, String>>> {
        let keys = PackedKeys { packed: keys, ends: key_ends };
        self.call(|store| {
            let reads = store.with(|open| open.handle.begin_reads(namespace, keys))?;
            Ok(Job::promise(store.guard(), move || reads.run()))
        })
    }

    #[napi(catch_unwind)]
    pub fn revision(&self) -> Result<f64> {
        self.on_handle(|handle| Ok(handle.revision()? as f64))
    }

    /// A page of entries, with values or with their lengths: those in the folders; of all if there are none.
    #[napi(catch_unwind)]
    pub fn scan<'env>(
        &self,
        env: &'env Env,
        page: PageRequest,
        with_values: bool,
        folders: &[u8],
        folder_ends: &[u32],
    ) -> Result<Uint8ArraySlice<'env>> {
        let folders = PackedKeys { packed: folders, ends: folder_ends };
        let scan = if with_values { JsHandle::scan } else { JsHandle::scan_keys };
        self.held(env, |handle| scan(handle, page.place(), folders))
    }

    /// A page of sums over the entries by folder.
    #[napi(catch_unwind)]
    pub fn scan_folders<'env>(
        &self,
        env: &'env Env,
        page: PageRequest,
    ) -> Result<Uint8ArraySlice<'env>> {
        self.held(env, |handle| handle.scan_folders(page.place()))
    }

    /// The answer that the last call holds.
    #[napi(catch_unwind)]
    pub fn take<'env>(&self, env: &'env Env) -> Result<Uint8ArraySlice<'env>> {
        self.held(env, |_held| Ok(0))
    }
}

impl NodeStore {
    /// A copy of what `hold` leaves in the handle, which a long answer uses again and again.
    pub(super) fn held<'env>(
        &self,
        env: &'env Env,
        hold: impl FnOnce(&mut JsHandle<Scratch>) -> varve_bindings::Result<i32>,
    ) -> Result<Uint8ArraySlice<'env>> {
        self.on_handle(|handle| {
            hold(handle)?;
            let copy = Uint8ArraySlice::copy_from(env, handle.held());
            handle.release();
            copy.map_err(refused)
        })
    }
}
