//! The class of an open store. Its methods are in the files of this folder, by what they are about; `engine.ts` of
//! `packages/varve` documents each.

mod commits;
mod entries;
mod files;
mod maintain;
mod transfers;

use crate::answers::{Promise, Result, json_of, refused, thrown};
use crate::hot;
use crate::memory::{Memory, Scratch};
use crate::progress::Progress;
use crate::store::OpenStore;
use napi::bindgen_prelude::{ClassInstance, Env, JavaScriptClassExt};
use napi_derive::napi;
use serde::Serialize;
use std::rc::Rc;
use std::sync::Arc;
use varve_bindings::JsHandle;
use varve_core::{Store, Watch, failpoints};
use varve_disk::SharedStore;

/// One open store. Its functions for each entry are properties of the object (`HotFunctions`).
#[napi]
pub struct NodeStore {
    /// `None` only while it is dropped.
    open: Option<Rc<OpenStore>>,
}

impl NodeStore {
    /// A new object of the class.
    pub(crate) fn object<'env>(
        env: &'env Env,
        shared: SharedStore,
        memory: Memory,
    ) -> varve_bindings::Result<ClassInstance<'env, Self>> {
        let open = Rc::new(OpenStore::new(shared, memory));
        let instance = Self { open: Some(Rc::clone(&open)) }.into_instance(env).map_err(refused)?;
        hot::add(env, &instance.as_object(env), &open)?;
        Ok(instance)
    }

    /// Runs a call from JavaScript.
    fn call<T>(&self, run: impl FnOnce(&OpenStore) -> varve_bindings::Result<T>) -> Result<T> {
        let mut run = Some(run);
        self.guarded(&mut |store| run.take().map_or_else(closed, |run| run(store)))
    }

    /// The same, compiled once for each answer instead of each call.
    #[inline(never)]
    fn guarded<T>(
        &self,
        run: &mut dyn FnMut(&OpenStore) -> varve_bindings::Result<T>,
    ) -> Result<T> {
        let Some(store) = &self.open else { return closed().map_err(thrown) };
        let answered = store.guarded(|| {
            failpoints::panics("callback");
            let answer = run(store)?;
            failpoints::panics("answer");
            Ok(answer)
        });
        answered.map_err(thrown)
    }

    /// A promise of the JSON that `job` answers on another thread.
    fn job<T: Serialize>(
        &self,
        job: impl FnOnce(&Arc<Store>) -> varve_bindings::Result<T> + Send + 'static,
    ) -> Result<Promise<String>> {
        self.call(|store| {
            let core = store.store()?;
            Ok(json_of(store.guard(), move || job(&core)))
        })
    }

    /// The same for a long call.
    fn watched<T: Serialize>(
        &self,
        progress: &Progress,
        job: impl FnOnce(&Arc<Store>, Watch<'_>) -> varve_bindings::Result<T> + Send + 'static,
    ) -> Result<Promise<String>> {
        let counts = Arc::clone(&progress.counts);
        self.job(move |core| job(core, &|done, total| counts.report(done, total)))
    }

    /// Runs a call on the handle.
    fn on_handle<T>(
        &self,
        run: impl FnOnce(&mut JsHandle<Scratch>) -> varve_bindings::Result<T>,
    ) -> Result<T> {
        self.call(|store| store.with(|open| run(&mut open.handle)))
    }
}

fn closed<T>() -> varve_bindings::Result<T> {
    Err(varve_core::Error::Closed.into())
}

impl Drop for NodeStore {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.release();
        }
    }
}
