//! Exports and imports as JSON.

use crate::answers::{Promise, Result, json_of};
use crate::calls::NodeStore;
use napi_derive::napi;
use varve_bindings::answer;

#[napi]
impl NodeStore {
    /// The number of the export.
    #[napi(catch_unwind)]
    pub fn begin_export(&self, options: String) -> Result<u32> {
        self.on_handle(|handle| handle.begin_export(&options))
    }

    /// The chunk is held; JSON with its length.
    #[napi(catch_unwind)]
    pub fn export_chunk(&self, transfer: u32) -> Result<String> {
        self.on_handle(|handle| Ok(answer(handle.export_chunk(transfer))))
    }

    /// The number of the import.
    #[napi(catch_unwind)]
    pub fn begin_import(&self, may_replace: bool) -> Result<u32> {
        self.on_handle(|handle| handle.begin_import(may_replace))
    }

    #[napi(catch_unwind)]
    pub fn feed_import(&self, transfer: u32, piece: &[u8]) -> Result<String> {
        self.on_handle(|handle| Ok(answer(handle.feed_import(transfer, piece))))
    }

    #[napi(catch_unwind)]
    pub fn finish_import(&self, transfer: u32) -> Result<String> {
        self.on_handle(|handle| Ok(answer(handle.finish_import(transfer))))
    }

    /// Commits what an import has; the report is null if it has nothing.
    #[napi(catch_unwind)]
    pub fn commit_import(&self, transfer: u32, now_ms: f64) -> Result<Promise<String>> {
        self.call(|store| {
            let commit = store.with(|open| open.handle.commit_import(transfer))?;
            Ok(json_of(store.guard(), move || {
                Ok(commit.map(|commit| commit.run(None, now_ms as u64)).transpose()?)
            }))
        })
    }

    /// Ends an export or an import.
    #[napi(catch_unwind)]
    pub fn end_transfer(&self, transfer: u32) -> Result<()> {
        self.on_handle(|handle| {
            handle.end_transfer(transfer);
            Ok(())
        })
    }
}
