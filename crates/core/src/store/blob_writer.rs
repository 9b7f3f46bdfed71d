//! Storing blobs one by one, from any thread, for callers that read files as they go.

use crate::blobs::Hold;
use crate::error::Result;
use crate::format::digest::FileRef;
use crate::store::Store;
use std::sync::Arc;

/// Stores blobs. They are pinned as long as the writer, or its pin, exists.
#[derive(Debug)]
pub struct Intake {
    store: Arc<Store>,
    /// For temporary names.
    writer: u32,
    hold: Hold,
}

impl Intake {
    /// Creates a writer, and pins its blobs in the log.
    pub fn new(store: &Arc<Store>) -> Result<Self> {
        let (writer, hold) = store.hold_files()?;
        Ok(Self { store: Arc::clone(store), writer, hold })
    }

    /// Stores one blob unless it exists already.
    pub fn store(&self, content: &[u8]) -> Result<FileRef> {
        self.store.open_context()?.files.put(self.writer, content, false)
    }

    /// Returns the pin, to be kept with the entries that name the blobs: see [`Handle::keep`](crate::Handle::keep).
    pub fn into_hold(self) -> Hold {
        self.hold
    }
}
