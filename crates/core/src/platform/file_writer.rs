//! Writes a file from front to back through one buffer. Its 256 KiB, as in turbo-persistence (next.js PR 90542), make
//! the cost of a call negligible and fit into the L2 cache. The position is counted here and never read from the file.
//! Bytes that stay valid until the end are lent instead of copied, and are written between pieces of the buffer. Or
//! full buffers go to an outbox, which another thread writes while this one fills the next.

use crate::platform::sync::Mutex;
use crate::platform::vfs::File;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

const BUFFER_BYTES: usize = 256 << 10;

/// A buffer for a file that only grows; `'v` is the lifetime of lent bytes.
#[derive(Debug)]
pub(crate) struct FileWriter<'v> {
    file: Arc<dyn File>,
    buffer: Vec<u8>,
    /// What is written next, in order; the rest of the buffer follows.
    pieces: Vec<Piece<'v>>,
    pieced: usize,
    written: u64,
    waiting: usize,
    outbox: Option<Arc<Outbox>>,
}

/// Full buffers of a file that wait to be written, oldest first.
#[derive(Debug)]
pub(crate) struct Outbox {
    file: Arc<dyn File>,
    full: Mutex<VecDeque<Vec<u8>>>,
    /// Locked while a thread writes.
    sending: Mutex<()>,
}

impl Outbox {
    /// Writes all waiting buffers.
    pub(crate) fn send(&self) -> io::Result<()> {
        let _one = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(buffer) = self.next() {
            self.file.append(&[&buffer])?;
        }
        Ok(())
    }

    fn next(&self) -> Option<Vec<u8>> {
        self.full.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn add(&self, buffer: Vec<u8>) {
        self.full.lock().unwrap_or_else(PoisonError::into_inner).push_back(buffer);
    }
}

#[derive(Debug)]
enum Piece<'v> {
    Buffered(Range<usize>),
    Lent(&'v [u8]),
}

impl<'v> FileWriter<'v> {
    pub(crate) fn new(file: Arc<dyn File>) -> Self {
        let buffer = Vec::with_capacity(BUFFER_BYTES * 5 / 4);
        Self { file, buffer, pieces: Vec::new(), pieced: 0, written: 0, waiting: 0, outbox: None }
    }

    /// Returns an outbox, which receives full buffers from now on; nothing may be lent any more. Another thread may
    /// call `send` at any time; `finish` writes the rest.
    pub(crate) fn use_outbox(&mut self) -> Arc<Outbox> {
        let new = || Outbox { file: Arc::clone(&self.file), full: Mutex::default(), sending: Mutex::default() };
        Arc::clone(self.outbox.get_or_insert_with(|| Arc::new(new())))
    }

    /// Offset of the next byte.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.written + self.waiting as u64
    }

    /// Calls `fill` to append to the buffer, and returns the result of `read` for the appended bytes.
    pub(crate) fn write_with<R>(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(&[u8]) -> R,
    ) -> io::Result<R> {
        let start = self.buffer.len();
        fill(&mut self.buffer);
        let answer = read(self.buffer.get(start..).unwrap_or_default());
        self.waiting += self.buffer.len() - start;
        self.flush_if_full()?;
        Ok(answer)
    }

    /// Adds a copy of `bytes`.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_with(|buffer| buffer.extend_from_slice(bytes), |_| ())
    }

    /// Adds `bytes` without a copy.
    pub(crate) fn lend(&mut self, bytes: &'v [u8]) -> io::Result<()> {
        debug_assert!(self.outbox.is_none(), "an outbox takes whole buffers");
        self.end_piece();
        self.pieces.push(Piece::Lent(bytes));
        self.waiting += bytes.len();
        self.flush_if_full()
    }

    fn end_piece(&mut self) {
        if self.buffer.len() > self.pieced {
            self.pieces.push(Piece::Buffered(self.pieced..self.buffer.len()));
            self.pieced = self.buffer.len();
        }
    }

    fn flush_if_full(&mut self) -> io::Result<()> {
        if self.waiting >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(outbox) = &self.outbox {
            outbox.add(std::mem::replace(&mut self.buffer, Vec::with_capacity(BUFFER_BYTES * 5 / 4)));
        } else {
            self.send()?;
        }
        self.written += self.waiting as u64;
        self.waiting = 0;
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        self.end_piece();
        let bytes = |piece: &Piece<'v>| match piece {
            Piece::Buffered(range) => self.buffer.get(range.clone()).unwrap_or_default(),
            Piece::Lent(bytes) => bytes,
        };
        self.file.append(&self.pieces.iter().map(bytes).collect::<Vec<_>>())?;
        self.pieced = 0;
        self.pieces.clear();
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is buffered and syncs the file.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.waiting > 0 {
            self.flush()?;
        }
        if let Some(outbox) = &self.outbox {
            outbox.send()?;
        }
        self.file.sync()
    }
}
