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
    written: u64,
}

impl FileWriter {
    pub(crate) fn new(file: Arc<dyn File>) -> Self {
        Self { file, buffer: Vec::with_capacity(BUFFER_BYTES * 5 / 4), written: 0 }
    }

    pub(crate) fn file(&self) -> Arc<dyn File> {
        Arc::clone(&self.file)
    }

    /// Offset at which the next byte will stand.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Calls `fill` to append to the buffer; the answer is what `read` makes of the bytes appended.
    pub(crate) fn write_with<R>(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(&[u8]) -> R,
    ) -> io::Result<R> {
        let start = self.buffer.len();
        fill(&mut self.buffer);
        let answer = read(self.buffer.get(start..).unwrap_or_default());
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush(&[])?;
        }
        Ok(answer)
    }

    /// Adds bytes; those that fill the buffer go out together with it, uncopied.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() < BUFFER_BYTES {
            self.buffer.extend_from_slice(bytes);
            Ok(())
        } else {
            self.flush(bytes)
        }
    }

    fn flush(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(&[&self.buffer, bytes])?;
        self.written = self.position() + bytes.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is buffered and makes the file's bytes survive the loss of power.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.flush(&[])?;
        }
        self.file.sync()
    }
}
