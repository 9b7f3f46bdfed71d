//! A key block: entries in order of (upper half of the key's hash, key).
//!
//! ```text
//! 0  u32 count          4  u16 key bytes        6 u16 value bytes   (0xFFFF = they vary)
//! 8  u8 sequence width  9  u8 sequence shift    10 6 zero bytes     16 u64 lowest sequence number
//! 24 count x u32 upper half of the hash
//!    count x width: (sequence number - lowest) >> shift; width 0 = all the same
//!    count x u32 end of the entry in the body, only if lengths vary
//!    body
//! ```
//! If all keys have one length, and all values one of at most 16 bytes, the body is `key value` repeated. Otherwise an
//! entry is `u8 kind | u16 key bytes | key | rest`. The rest is empty for kind 0 (deleted), the value for kind 1, and
//! `u32 value block | u32 offset | u32 bytes` for kind 2. The highest bit of the block's number means that the value
//! names blobs.

use crate::format::bytes::{Reader, put_bytes, u32_at};
use crate::format::search;
use crate::format::sequence::SEQUENCE_SHIFT;
use std::cmp::Ordering;

const HEAD_BYTES: usize = 24;
const VARIES: u16 = u16::MAX;
const DELETED: u8 = 0;
const INLINE: u8 = 1;
const PLACED: u8 = 2;

/// Bit in the number of a value block: the value names blobs.
pub(crate) const NAMES_BLOBS: u32 = 1 << 31;

/// Most entries of a block.
pub(crate) const ENTRIES_MAX: usize = 256;

/// Longest value that is stored in the key block itself.
pub(crate) const INLINE_BYTES_MAX: usize = 16;

/// The place of an entry's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored<'a> {
    Deleted,
    Inline(&'a [u8]),
    /// With [`NAMES_BLOBS`] in the number of the block, the value names blobs.
    Placed {
        block: u32,
        offset: u32,
        bytes: u32,
    },
    /// An entry of a log whose value names blobs.
    WithBlobs(&'a [u8]),
}

impl Stored<'_> {
    /// Length of the value; `None` = deleted.
    pub(crate) fn bytes(&self) -> Option<usize> {
        match self {
            Self::Deleted => None,
            Self::Inline(bytes) | Self::WithBlobs(bytes) => Some(bytes.len()),
            Self::Placed { bytes, .. } => Some(*bytes as usize),
        }
    }
}

/// Collects entries of one block.
#[derive(Debug, Default)]
pub(crate) struct KeyBlockBuilder {
    hashes: Vec<u8>,
    /// Empty while all are equal to `sequence`.
    sequences: Vec<u64>,
    sequence: u64,
    ends: Vec<u8>,
    body: Vec<u8>,
    count: usize,
    /// Length of all keys and of all inline values so far; `None` = they vary.
    stride: Option<(u16, u16)>,
    pub(crate) first_hash: u32,
}

impl KeyBlockBuilder {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Bytes of the body so far.
    pub(crate) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    #[inline]
    pub(crate) fn add(&mut self, hash: u32, key: &[u8], sequence: u64, value: Stored<'_>) {
        let stride = match value {
            Stored::Inline(bytes) => {
                Some((key.len() as u16, bytes.len() as u16)).filter(|(key, _)| *key != VARIES)
            }
            _ => None,
        };
        if self.count == 0 {
            self.first_hash = hash;
            self.stride = stride;
            self.sequence = sequence;
        } else if self.stride.is_some() && self.stride != stride {
            self.expand();
        }
        self.hashes.extend_from_slice(&hash.to_le_bytes());
        if sequence != self.sequence && self.sequences.is_empty() {
            self.sequences.resize(self.count, self.sequence);
        }
        if sequence != self.sequence || !self.sequences.is_empty() {
            self.sequences.push(sequence);
        }
        self.count += 1;
        if let (Some(_), Stored::Inline(bytes)) = (self.stride, value) {
            put_bytes(&mut self.body, key);
            put_bytes(&mut self.body, bytes);
        } else {
            write_varying(&mut self.body, &mut self.ends, key, value);
        }
    }

    /// Converts the entries added so far to the form with varying lengths.
    fn expand(&mut self) {
        let Some((key_bytes, value_bytes)) = self.stride.take() else { return };
        let even = std::mem::take(&mut self.body);
        let stride = usize::from(key_bytes) + usize::from(value_bytes);
        for index in 0..self.count {
            let entry = even.get(index * stride..(index + 1) * stride).unwrap_or_default();
            if let Some((key, value)) = entry.split_at_checked(usize::from(key_bytes)) {
                write_varying(&mut self.body, &mut self.ends, key, Stored::Inline(value));
            }
        }
    }

    /// Appends the block to `out` and begins the next one.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let base = self.sequences.iter().copied().min().unwrap_or(self.sequence);
        let (width, shift) = sequence_width(&self.sequences, base);
        let (key_bytes, value_bytes) = self.stride.unwrap_or((VARIES, VARIES));
        out.extend_from_slice(&(self.count as u32).to_le_bytes());
        out.extend_from_slice(&key_bytes.to_le_bytes());
        out.extend_from_slice(&value_bytes.to_le_bytes());
        out.extend_from_slice(&[width, shift, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&base.to_le_bytes());
        out.extend_from_slice(&self.hashes);
        for sequence in &self.sequences {
            let delta = ((sequence - base) >> shift).to_le_bytes();
            out.extend_from_slice(delta.get(..usize::from(width)).unwrap_or_default());
        }
        out.extend_from_slice(&self.ends);
        out.extend_from_slice(&self.body);
        self.hashes.clear();
        self.sequences.clear();
        self.ends.clear();
        self.body.clear();
        self.count = 0;
    }
}

fn write_varying(body: &mut Vec<u8>, ends: &mut Vec<u8>, key: &[u8], value: Stored<'_>) {
    let kind = match value {
        Stored::Deleted => DELETED,
        Stored::Inline(_) | Stored::WithBlobs(_) => INLINE,
        Stored::Placed { .. } => PLACED,
    };
    let [low, high] = (key.len() as u16).to_le_bytes();
    body.extend_from_slice(&[kind, low, high]);
    body.extend_from_slice(key);
    match value {
        Stored::Deleted => {}
        Stored::Inline(bytes) | Stored::WithBlobs(bytes) => body.extend_from_slice(bytes),
        Stored::Placed { block, offset, bytes } => {
            for number in [block, offset, bytes] {
                body.extend_from_slice(&number.to_le_bytes());
            }
        }
    }
    ends.extend_from_slice(&(body.len() as u32).to_le_bytes());
}

/// Bytes of each sequence number, and whether the writer's bits can be omitted because they are all equal.
fn sequence_width(sequences: &[u64], base: u64) -> (u8, u8) {
    let one_writer = sequences
        .iter()
        .all(|sequence| (sequence - base).trailing_zeros() >= u32::from(SEQUENCE_SHIFT));
    let shift = if one_writer { SEQUENCE_SHIFT } else { 0 };
    let largest = sequences.iter().map(|sequence| (sequence - base) >> shift).max().unwrap_or(0);
    let width = match largest {
        0 => 0,
        1..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    };
    (width, shift)
}

/// Offsets of the parts of a key block, parsed once and used with the same bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyBlock {
    sequence_base: u64,
    sequences: u32,
    ends: u32,
    body: u32,
    pub(crate) count: u16,
    key_bytes: u16,
    value_bytes: u16,
    sequence_width: u8,
    sequence_shift: u8,
}

impl KeyBlock {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let count = reader.u32()? as usize;
        let (key_bytes, value_bytes) = (reader.u16()?, reader.u16()?);
        let (sequence_width, sequence_shift) = (reader.u8()?, reader.u8()?);
        reader.take(6)?;
        let sequence_base = reader.u64()?;
        if count == 0 || count > ENTRIES_MAX || sequence_width > 8 || sequence_shift >= 64 {
            return None;
        }
        let sequences = HEAD_BYTES + count * 4;
        let ends = sequences + count * usize::from(sequence_width);
        let varies = key_bytes == VARIES;
        let body = if varies { ends + count * 4 } else { ends };
        let stride = usize::from(key_bytes) + usize::from(value_bytes);
        let sound = if varies { body <= bytes.len() } else { body + count * stride == bytes.len() };
        sound.then_some(Self {
            sequence_base,
            sequences: sequences as u32,
            ends: ends as u32,
            body: body as u32,
            count: count as u16,
            key_bytes,
            value_bytes,
            sequence_width,
            sequence_shift,
        })
    }

    /// Upper halves of the hashes.
    #[inline]
    pub(crate) fn hashes<'a>(&self, bytes: &'a [u8]) -> &'a [[u8; 4]] {
        let all = bytes.get(HEAD_BYTES..self.sequences as usize).unwrap_or_default();
        all.as_chunks::<4>().0
    }

    /// Index of the first entry whose hash is at least `hash`.
    #[inline]
    pub(crate) fn lower_bound(&self, bytes: &[u8], hash: u32) -> usize {
        self.hashes(bytes).partition_point(|other| u32::from_le_bytes(*other) < hash)
    }

    /// Index of the entry of `key`. `low` and `high` are the first hashes of this block and the next one. The caller
    /// has them in the processor's cache; those in the block would have to be fetched from memory.
    #[inline]
    pub(crate) fn find(
        &self,
        bytes: &[u8],
        (low, high): (u32, u32),
        hash: u32,
        key: &[u8],
    ) -> Option<usize> {
        let hashes = self.hashes(bytes);
        let guess = search::guess(low, high, hashes.len(), hash);
        // The key is near the guess, too: fetching both at once halves the wait.
        std::hint::black_box(bytes.get(self.start_near(bytes, guess)).copied());
        let index = search::count_below(hashes, u32::from_le_bytes, hash, guess);
        hashes.get(index).filter(|other| u32::from_le_bytes(**other) == hash)?;
        if same(self.key(bytes, index)?, key) {
            return Some(index);
        }
        self.find_in_run(bytes, index + 1, hash, key)
    }

    /// Index of `key` among entries of one hash from `start` on, which are sorted by key.
    #[cold]
    fn find_in_run(&self, bytes: &[u8], start: usize, hash: u32, key: &[u8]) -> Option<usize> {
        let (mut low, mut high) =
            (start, self.hashes(bytes).partition_point(|other| u32::from_le_bytes(*other) <= hash));
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.key(bytes, middle)?.cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Offset of an entry in a block with fixed lengths.
    #[inline]
    fn start_of(&self, index: usize) -> usize {
        self.body as usize + index * (usize::from(self.key_bytes) + usize::from(self.value_bytes))
    }

    /// Offset of an entry; about its offset, if lengths vary.
    #[inline]
    fn start_near(&self, bytes: &[u8], index: usize) -> usize {
        if self.key_bytes != VARIES {
            return self.start_of(index);
        }
        std::hint::black_box(bytes.get(self.ends as usize + index * 4).copied());
        let body = self.body as usize;
        body + bytes.len().saturating_sub(body) / usize::from(self.count).max(1) * index
    }

    #[inline]
    pub(crate) fn sequence(&self, bytes: &[u8], index: usize) -> Option<u64> {
        let width = usize::from(self.sequence_width);
        if width == 0 {
            return Some(self.sequence_base);
        }
        let start = self.sequences as usize + index * width;
        let mut wide = [0; 8];
        wide.get_mut(..width)?.copy_from_slice(bytes.get(start..start + width)?);
        self.sequence_base
            .checked_add(u64::from_le_bytes(wide).checked_shl(u32::from(self.sequence_shift))?)
    }

    #[inline]
    fn span<'a>(&self, bytes: &'a [u8], index: usize) -> Option<&'a [u8]> {
        if self.key_bytes != VARIES {
            return bytes.get(self.start_of(index)..self.start_of(index + 1));
        }
        let ends = bytes.get(self.ends as usize..self.body as usize)?;
        let start = if index == 0 { 0 } else { u32_at(ends, index - 1)? as usize };
        let body = bytes.get(self.body as usize..)?;
        body.get(start..u32_at(ends, index)? as usize)
    }

    #[inline]
    pub(super) fn key<'a>(&self, bytes: &'a [u8], index: usize) -> Option<&'a [u8]> {
        let span = self.span(bytes, index)?;
        if self.key_bytes != VARIES {
            return span.get(..usize::from(self.key_bytes));
        }
        let mut reader = Reader::new(span.get(1..)?);
        let length = reader.u16()?;
        reader.take(usize::from(length))
    }

    /// Key and value of an entry. Inlined, because a result in memory would have to be fetched.
    #[inline(always)]
    pub(crate) fn entry<'a>(
        &self,
        bytes: &'a [u8],
        index: usize,
    ) -> Option<(&'a [u8], Stored<'a>)> {
        let span = self.span(bytes, index)?;
        if self.key_bytes != VARIES {
            let (key, value) = span.split_at_checked(usize::from(self.key_bytes))?;
            return Some((key, Stored::Inline(value)));
        }
        varying_entry(span)
    }
}

/// Key and value of an entry in a block with varying lengths.
fn varying_entry(span: &[u8]) -> Option<(&[u8], Stored<'_>)> {
    let mut reader = Reader::new(span);
    let kind = reader.u8()?;
    let length = reader.u16()?;
    let key = reader.take(usize::from(length))?;
    let value = match kind {
        DELETED => Stored::Deleted,
        INLINE => Stored::Inline(reader.take(reader.remaining())?),
        PLACED => {
            Stored::Placed { block: reader.u32()?, offset: reader.u32()?, bytes: reader.u32()? }
        }
        _ => return None,
    };
    Some((key, value))
}

/// Whether keys are equal. For short keys, a call would take longer than the comparison.
#[inline]
fn same(left: &[u8], right: &[u8]) -> bool {
    match (left.first_chunk::<8>(), right.first_chunk::<8>()) {
        (Some(left_head), Some(right_head)) if left.len() == 8 => {
            right.len() == 8 && left_head == right_head
        }
        _ => left == right,
    }
}
