//! Storing blobs one by one, from any thread, for callers that read files as they go.

use crate::blobs::Pin;
use crate::error::Result;
use crate::format::digest::BlobRef;
use crate::store::Store;
use std::sync::Arc;

/// Stores blobs. They are pinned as long as the writer, or its pin, exists.
#[derive(Debug)]
pub struct BlobWriter {
    store: Arc<Store>,
    /// For temporary names.
    writer: u32,
    pin: Pin,
}

impl BlobWriter {
    /// Creates a writer, and pins its blobs in the log.
    pub fn new(store: &Arc<Store>) -> Result<Self> {
        let (writer, pin) = store.pin_blobs()?;
        Ok(Self { store: Arc::clone(store), writer, pin })
    }

    /// Stores one blob unless it exists already.
    pub fn store(&self, content: &[u8]) -> Result<BlobRef> {
        self.store.open_context()?.blobs.put(self.writer, content, false)
    }

    /// Returns the pin, to be kept with the entries that name the blobs: see [`Handle::keep`](crate::Handle::keep).
    pub fn into_pin(self) -> Pin {
        self.pin
    }
}
