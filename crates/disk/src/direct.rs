//! Appends that bypass the system's cache: the bytes are on the disk when the call returns, without flushing everything
//! else the disk has buffered. A durable append then takes a third of the time (Voron, "the end is nigh
//! (sequentially)").
//!
//! The system accepts only whole blocks from an aligned address. So the last block is padded with zeros and written
//! again with the next append. Its old bytes stay the same, so an interrupted write damages none of them. A file that
//! grows needs a commit of the file system's journal, so it grows ahead by zeros, by as many as were appended before.

use crate::platform;
use std::fs;
use std::io;
use std::path::Path;

/// A block size that every system accepts.
const BLOCK_BYTES: usize = 4096;

/// The bounds of the zeros written ahead, which are as many as were appended before.
const AHEAD_BYTES_MIN: usize = 64 << 10;
const AHEAD_BYTES_MAX: usize = 2 << 20;

/// A second handle of a file that only grows.
#[derive(Debug)]
pub(crate) struct DirectFile {
    file: fs::File,
    /// The end of the appended bytes; `None` if it has to be read from the file.
    end: Option<u64>,
    /// The end of the zeros written ahead.
    reserved: u64,
    appended: usize,
    /// The bytes of the last block, as far as it is filled.
    tail: Vec<u8>,
    buffer: Vec<u8>,
}

impl DirectFile {
    /// Returns `None` if the system has no such files, or if `path` is another file by now.
    pub(crate) fn open(path: &Path, same: &fs::File) -> Option<Self> {
        let file = platform::open_direct(path, same)?;
        Some(Self {
            file,
            end: None,
            reserved: 0,
            appended: 0,
            tail: Vec::new(),
            buffer: Vec::new(),
        })
    }

    pub(crate) fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let end = match self.end {
            Some(end) => end,
            None => self.find_end()?,
        };
        let start = end - self.tail.len() as u64;
        let added: usize = parts.iter().map(|part| part.len()).sum();
        let used = self.tail.len() + added;
        let mut length = used.next_multiple_of(BLOCK_BYTES);
        if start + length as u64 > self.reserved && self.appended >= AHEAD_BYTES_MIN {
            length += self.appended.min(AHEAD_BYTES_MAX).next_multiple_of(BLOCK_BYTES);
        }
        let bytes = aligned(&mut self.buffer, length)?;
        let mut place = 0;
        for part in [self.tail.as_slice()].iter().chain(parts) {
            bytes[place..place + part.len()].copy_from_slice(part);
            place += part.len();
        }
        bytes[place..].fill(0);
        // If the write fails, the end has to be read from the file.
        self.end = None;
        platform::write_once_at(&self.file, bytes, start)?;
        self.tail.clear();
        self.tail.extend_from_slice(&bytes[used - used % BLOCK_BYTES..used]);
        self.end = Some(end + added as u64);
        self.reserved = self.reserved.max(start + length as u64);
        self.appended = self.appended.saturating_add(added);
        Ok(())
    }

    /// Cuts the zeros off, so that the file ends where its bytes end. A file of another length has been written over
    /// meanwhile and stays as it is.
    pub(crate) fn leave(&mut self, file: &fs::File) -> io::Result<()> {
        match self.end.take() {
            Some(end) if self.reserved > end && file.metadata()?.len() == self.reserved => {
                file.set_len(end)
            }
            _ => Ok(()),
        }
    }

    /// Reads the end of the file, which must have no zeros after it, and the bytes of its last block.
    fn find_end(&mut self) -> io::Result<u64> {
        let end = self.file.metadata()?.len();
        let length = end as usize % BLOCK_BYTES;
        let block = aligned(&mut self.buffer, BLOCK_BYTES)?;
        if platform::read_once_at(&self.file, block, end - length as u64)? < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.tail.clear();
        self.tail.extend_from_slice(&block[..length]);
        self.reserved = end;
        Ok(end)
    }
}

/// Returns `length` bytes of the buffer from an address that the system accepts.
fn aligned(buffer: &mut Vec<u8>, length: usize) -> io::Result<&mut [u8]> {
    buffer.resize(buffer.len().max(length + BLOCK_BYTES), 0);
    let start = buffer.as_ptr().align_offset(BLOCK_BYTES);
    buffer.get_mut(start..start + length).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}
