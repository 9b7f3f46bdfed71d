//! Writes a file from front to back through one buffer. The position is counted here, never asked of the file.
//! 256 KiB as in turbo-persistence (next.js PR 90542): large enough that a call's cost vanishes, small enough for L2.

use crate::vfs::File;
use std::io;
use std::sync::Arc;

const BUFFER_BYTES: usize = 256 << 10;

/// A buffer in front of a file that only grows.
#[derive(Debug)]
pub(crate) struct FileWriter {
    file: Arc<dyn File>,
    buffer: Vec<u8>,
    position: u64,
}

impl FileWriter {
    pub(crate) fn new(file: Arc<dyn File>) -> Self {
        Self { file, buffer: Vec::new(), position: 0 }
    }

    /// Offset at which the next byte will stand.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Adds bytes; those that do not fit go out together with the buffer, uncopied.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() <= BUFFER_BYTES {
            self.buffer.extend_from_slice(bytes);
        } else {
            self.file.append(&[&self.buffer, bytes])?;
            self.buffer.clear();
        }
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes what is buffered and makes the file's bytes survive the loss of power.
    pub(crate) fn finish(self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.file.append(&[&self.buffer])?;
        }
        self.file.sync()
    }
}
