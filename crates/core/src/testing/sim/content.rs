//! The bytes of a simulated file: a list of chunks in order of their place. The live file, the journal and every crash
//! state share chunks; cutting a chunk or zeroing it changes the list, never the bytes.

use std::ops::Range;
use std::sync::Arc;

/// The content of a file. A clone only counts references.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    chunks: Arc<Vec<Chunk>>,
    length: u64,
}

/// A part of shared bytes; `None` = zeros.
#[derive(Clone, Debug)]
struct Chunk {
    offset: u64,
    bytes: Option<Arc<[u8]>>,
    range: Range<usize>,
}

static ZEROS: [u8; 4096] = [0; 4096];

impl Content {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let mut content = Self::default();
        let length = bytes.len();
        content.push(&bytes.into(), 0..length);
        content
    }

    pub(super) fn len(&self) -> u64 {
        self.length
    }

    /// Adds a part of `bytes` at the end.
    pub(super) fn push(&mut self, bytes: &Arc<[u8]>, range: Range<usize>) {
        self.push_chunk(Some(bytes.clone()), range);
    }

    /// Writes a part of `bytes` at `offset`, which is at most the length; overwrites, then extends.
    pub(super) fn write(&mut self, offset: u64, bytes: &Arc<[u8]>, range: Range<usize>) {
        let end = offset + range.len() as u64;
        let behind = self.behind(end);
        self.truncate(offset);
        self.push(bytes, range);
        for chunk in behind {
            self.push_chunk(chunk.bytes, chunk.range);
        }
    }

    /// The content from `offset` on.
    fn behind(&self, offset: u64) -> Vec<Chunk> {
        let ends_behind = |chunk: &&Chunk| chunk.offset + chunk.range.len() as u64 > offset;
        let rest = |chunk: &Chunk| {
            let before = offset.saturating_sub(chunk.offset) as usize;
            Chunk { range: chunk.range.start + before..chunk.range.end, ..chunk.clone() }
        };
        self.chunks.iter().filter(ends_behind).map(rest).collect()
    }

    /// Adds zeros until the file has this length.
    pub(super) fn pad(&mut self, length: u64) {
        self.push_chunk(None, 0..length.saturating_sub(self.length) as usize);
    }

    fn push_chunk(&mut self, bytes: Option<Arc<[u8]>>, range: Range<usize>) {
        if !range.is_empty() {
            let offset = self.length;
            self.length += range.len() as u64;
            Arc::make_mut(&mut self.chunks).push(Chunk { offset, bytes, range });
        }
    }

    /// Removes the content from `length` on.
    pub(super) fn truncate(&mut self, length: u64) {
        if length >= self.length {
            return;
        }
        self.length = length;
        let chunks = Arc::make_mut(&mut self.chunks);
        chunks.truncate(chunks.partition_point(|chunk| chunk.offset < length));
        if let Some(last) = chunks.last_mut() {
            let kept = (length - last.offset) as usize;
            last.range.end = last.range.end.min(last.range.start + kept);
        }
    }

    /// `None` = the file ends before.
    pub(super) fn read(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let end = offset.checked_add(length as u64).filter(|&end| end <= self.length)?;
        let mut bytes = Vec::with_capacity(length);
        let first = self.chunks.partition_point(|chunk| chunk.offset <= offset).saturating_sub(1);
        for chunk in self.chunks.iter().skip(first).take_while(|chunk| chunk.offset < end) {
            let from = offset.saturating_sub(chunk.offset) as usize;
            let to = (end - chunk.offset).min(chunk.range.len() as u64) as usize;
            let part = chunk.range.start + from..chunk.range.start + to.max(from);
            match &chunk.bytes {
                Some(shared) => bytes.extend_from_slice(shared.get(part)?),
                None => bytes.resize(bytes.len() + part.len(), 0),
            }
        }
        Some(bytes)
    }

    pub(super) fn for_each_slice(&self, mut visit: impl FnMut(&[u8])) {
        for chunk in self.chunks.iter() {
            match &chunk.bytes {
                Some(shared) => visit(shared.get(chunk.range.clone()).unwrap_or_default()),
                None => {
                    let mut left = chunk.range.len();
                    while let Some(zeros) =
                        ZEROS.get(..left.min(ZEROS.len())).filter(|zeros| !zeros.is_empty())
                    {
                        visit(zeros);
                        left -= zeros.len();
                    }
                }
            }
        }
    }
}
