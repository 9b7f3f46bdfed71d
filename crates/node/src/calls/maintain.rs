//! What is asked of the store as a whole.

use crate::answers::{Promise, Result};
use crate::calls::NodeStore;
use crate::progress::Progress;
use napi_derive::napi;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_bindings::{answer, request, top};
use varve_core::vfs::Vfs;
use varve_disk::{DiskVfs, layer_at};

/// The directory of the new layer, and those of the layers that it builds on, the newest first.
#[derive(Deserialize)]
struct SealRequest {
    target: PathBuf,
    since: Vec<String>,
}

#[napi]
impl NodeStore {
    #[napi(catch_unwind)]
    pub fn damage_count(&self) -> Result<u32> {
        self.on_handle(|handle| handle.damage_count())
    }

    #[napi(catch_unwind)]
    pub fn status(&self) -> Result<String> {
        self.call(|store| Ok(answer(Ok(store.store()?.status()))))
    }

    #[napi(catch_unwind)]
    pub fn stats(&self) -> Result<Promise<String>> {
        self.job(|core| Ok(core.stats()?))
    }

    #[napi(catch_unwind)]
    pub fn top(&self, options: String) -> Result<Promise<String>> {
        self.job(move |core| top(core, &options))
    }

    #[napi(catch_unwind)]
    pub fn compact(&self, full: bool, progress: &Progress, now_ms: f64) -> Result<Promise<String>> {
        self.watched(progress, move |core, watch| {
            core.set_now(now_ms as u64);
            Ok(core.compact(full, watch)?)
        })
    }

    #[napi(catch_unwind)]
    pub fn verify(&self, progress: &Progress) -> Result<Promise<String>> {
        self.watched(progress, |core, watch| Ok(core.verify(watch)?))
    }

    #[napi(catch_unwind)]
    pub fn repair(&self, dry_run: bool, progress: &Progress) -> Result<Promise<String>> {
        self.watched(progress, move |core, watch| Ok(core.repair(dry_run, watch)?))
    }

    #[napi(catch_unwind)]
    pub fn seal(&self, order: String, progress: &Progress) -> Result<Promise<String>> {
        let folder = self.call(|store| store.folder())?;
        self.watched(progress, move |core, watch| {
            let SealRequest { target, since } = request(&order)?;
            // The layer has the secret of the cache.
            let folder = folder.file_name().unwrap_or_default();
            let target: Arc<dyn Vfs> = Arc::new(DiskVfs::new(target.join(folder)));
            let name = Path::new(folder).to_string_lossy();
            let since: Vec<_> = since.iter().map(|path| layer_at(path, &name)).collect();
            Ok(core.seal(&target, &since, watch)?)
        })
    }
}
