//! Storing files one by one, from any thread: for callers that read them as they go.

use crate::blobs::Hold;
use crate::error::Result;
use crate::format::digest::FileRef;
use crate::store::Store;
use std::sync::Arc;

/// Takes contents. What it took stays at least as long as it, or its hold, is there.
#[derive(Debug)]
pub struct Intake {
    store: Arc<Store>,
    /// For temporary names.
    writer: u32,
    hold: Hold,
}

impl Intake {
    /// Says in the log that files are about to be stored.
    pub fn new(store: &Arc<Store>) -> Result<Self> {
        let (writer, hold) = store.hold_files()?;
        Ok(Self { store: Arc::clone(store), writer, hold })
    }

    /// Stores one content, unless it is there.
    pub fn store(&self, content: &[u8]) -> Result<FileRef> {
        self.store.open_context()?.files.put(self.writer, content, false)
    }

    /// To be kept with the entries that name the files: see [`Handle::keep`](crate::Handle::keep).
    pub fn into_hold(self) -> Hold {
        self.hold
    }
}
