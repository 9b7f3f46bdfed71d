//! A frame: the unit in which logs and manifests are written, one append each.
//!
//! ```text
//! 0  u32 kind            4  u32 body bytes       8  u64 tag (order of a commit, format of a file)
//! 16 u64 checksum of body and padding            24 u32 faint sectors of the body
//! 28 u32 checksum of the 28 bytes before         32 body, padded with 0x55 to a multiple of 32
//! ```
//! Both checksums are salted with the frame's place. A frame begins at a multiple of 32, so its head never straddles a
//! sector. That, and the count of *faint* sectors, which have at most one bit set, tells apart two things that must not
//! be confused:
//! - **torn**: the loss of power ate an append that was never synced. What is missing is the end of the file or whole
//!   sectors that read as zero: more than were faint. The frame was never acknowledged as durable; it and what follows
//!   do not count.
//! - **damaged**: anything else. Bytes that were good once are not what was written. No single flipped bit makes more
//!   sectors zero than were faint.

use super::bytes::Reader;
use super::hash::{checksum, checksum_parts};
use crate::vfs::File;
use std::io;

/// Bytes in front of the body; frames begin at multiples of it.
pub(crate) const HEAD_BYTES: usize = 32;

/// Longest body that is believed.
pub(crate) const BODY_BYTES_MAX: usize = 80 << 20;

const SECTOR_BYTES: u64 = 512;
const PADDING: [u8; HEAD_BYTES] = [0x55; HEAD_BYTES];

/// How much is read ahead.
const WINDOW_BYTES: usize = 256 << 10;

/// What a frame is for; four letters each, so that a dump can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    LogStart = u32::from_le_bytes(*b"VLOG") as isize,
    Commit = u32::from_le_bytes(*b"CMIT") as isize,
    Hold = u32::from_le_bytes(*b"HOLD") as isize,
    Seal = u32::from_le_bytes(*b"SEAL") as isize,
    Manifest = u32::from_le_bytes(*b"VMAN") as isize,
}

impl FrameKind {
    pub(crate) fn parse(word: u32) -> Option<Self> {
        [Self::LogStart, Self::Commit, Self::Hold, Self::Seal, Self::Manifest]
            .into_iter()
            .find(|kind| *kind as u32 == word)
    }
}

/// What stands at an offset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    Frame {
        kind: FrameKind,
        tag: u64,
        body: &'a [u8],
        end: u64,
    },
    /// The file ends here.
    End,
    /// An append that did not arrive whole.
    Torn,
    /// Bytes that are not what was written.
    Damaged(&'static str),
}

/// Salts a checksum with the file (writer or manifest number) and the offset in it.
fn place(file_number: u64, offset: u64) -> u64 {
    (file_number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ offset
}

/// Head and padding of a frame whose body is `parts`, to be written at `offset` of file `file_number`.
pub(crate) fn seal_parts(
    kind: FrameKind,
    tag: u64,
    file_number: u64,
    offset: u64,
    parts: &[&[u8]],
) -> ([u8; HEAD_BYTES], &'static [u8]) {
    assert!(offset.is_multiple_of(HEAD_BYTES as u64), "frames begin at multiples of their head");
    let body_bytes: usize = parts.iter().map(|part| part.len()).sum();
    assert!(body_bytes <= BODY_BYTES_MAX, "larger commits go to tables");
    let padding = PADDING.get(..padding_of(body_bytes)).unwrap_or_default();
    let mut padded: Vec<&[u8]> = parts.to_vec();
    padded.push(padding);
    let mut head = Vec::with_capacity(HEAD_BYTES);
    head.extend_from_slice(&(kind as u32).to_le_bytes());
    head.extend_from_slice(&(body_bytes as u32).to_le_bytes());
    head.extend_from_slice(&tag.to_le_bytes());
    head.extend_from_slice(&checksum_parts(place(file_number, offset), &padded).to_le_bytes());
    head.extend_from_slice(&sectors_below(2, offset + HEAD_BYTES as u64, &padded).to_le_bytes());
    let sum = checksum(place(file_number, offset), &head) as u32;
    head.extend_from_slice(&sum.to_le_bytes());
    let mut out = [0; HEAD_BYTES];
    out.copy_from_slice(&head);
    (out, padding)
}

fn padding_of(body_bytes: usize) -> usize {
    body_bytes.next_multiple_of(HEAD_BYTES) - body_bytes
}

/// Sectors of the file in which `parts`, written at `offset`, set fewer than `bits` bits.
fn sectors_below(bits: u32, offset: u64, parts: &[&[u8]]) -> u32 {
    let mut count = 0;
    let mut position = offset;
    let mut set = 0;
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            let room = SECTOR_BYTES - position % SECTOR_BYTES;
            let (piece, tail) = rest.split_at(rest.len().min(room as usize));
            // Nearly every sector is decided by its first bytes.
            set = piece.iter().try_fold(set, |sum, byte| (sum < bits).then(|| sum + byte.count_ones())).unwrap_or(bits);
            position += piece.len() as u64;
            rest = tail;
            if position.is_multiple_of(SECTOR_BYTES) {
                count += u32::from(set < bits);
                set = 0;
            }
        }
    }
    let is_partial = position > offset && !position.is_multiple_of(SECTOR_BYTES);
    count + u32::from(is_partial && set < bits)
}

/// Reads frames of one file from front to back.
#[derive(Debug)]
pub(crate) struct FrameReader<'f> {
    file: &'f dyn File,
    file_number: u64,
    file_bytes: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl<'f> FrameReader<'f> {
    pub(crate) fn new(file: &'f dyn File, file_number: u64) -> io::Result<Self> {
        Ok(Self { file, file_number, file_bytes: file.len()?, window: Vec::new(), window_start: 0 })
    }

    /// What stands at `offset`.
    pub(crate) fn at(&mut self, offset: u64) -> io::Result<Found<'_>> {
        if offset >= self.file_bytes {
            return Ok(Found::End);
        }
        if self.file_bytes - offset < HEAD_BYTES as u64 {
            return Ok(Found::Torn);
        }
        let file_number = self.file_number;
        let head = self.window(offset, HEAD_BYTES)?;
        if head.iter().all(|byte| *byte == 0) {
            return Ok(Found::Torn);
        }
        let Some(head) = Head::parse(head, file_number, offset) else {
            return Ok(Found::Damaged("head of a frame"));
        };
        let padded = head.body_bytes.next_multiple_of(HEAD_BYTES);
        let body_start = offset + HEAD_BYTES as u64;
        let end = body_start + padded as u64;
        if end > self.file_bytes {
            return Ok(Found::Torn);
        }
        let bytes = self.window(body_start, padded)?;
        if checksum(place(file_number, offset), bytes) != head.checksum {
            let torn = sectors_below(1, body_start, &[bytes]) > head.faint_sectors;
            return Ok(if torn { Found::Torn } else { Found::Damaged("body of a frame") });
        }
        let Some(body) = bytes.get(..head.body_bytes) else { return Ok(Found::Damaged("length of a frame")) };
        Ok(Found::Frame { kind: head.kind, tag: head.tag, body, end })
    }

    /// Bytes that lie within the file; lengths are bounded by its real length before anything is allocated.
    fn window(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let end = offset + length as u64;
        let window_end = self.window_start + self.window.len() as u64;
        if offset < self.window_start || end > window_end {
            let ahead = (self.file_bytes - offset).min(length.max(WINDOW_BYTES) as u64);
            self.window.clear();
            self.window.extend_from_slice(&self.file.read(offset, ahead as usize)?);
            self.window_start = offset;
        }
        let start = (offset - self.window_start) as usize;
        self.window.get(start..start + length).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

struct Head {
    kind: FrameKind,
    body_bytes: usize,
    tag: u64,
    checksum: u64,
    faint_sectors: u32,
}

impl Head {
    fn parse(bytes: &[u8], file_number: u64, offset: u64) -> Option<Self> {
        let sum = checksum(place(file_number, offset), bytes.get(..HEAD_BYTES - 4)?) as u32;
        let mut reader = Reader::new(bytes);
        let head = Self {
            kind: FrameKind::parse(reader.u32()?)?,
            body_bytes: usize::try_from(reader.u32()?).ok().filter(|bytes| *bytes <= BODY_BYTES_MAX)?,
            tag: reader.u64()?,
            checksum: reader.u64()?,
            faint_sectors: reader.u32()?,
        };
        (reader.u32()? == sum).then_some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::{MemVfs, Vfs};

    fn file_with(body: &[u8]) -> Vec<u8> {
        let (head, padding) = seal_parts(FrameKind::Commit, 77, 3, 0, &[body]);
        [&head, body, padding].concat()
    }

    fn found(bytes: &[u8]) -> String {
        let vfs = MemVfs::default();
        let file = vfs.create_new("f").unwrap();
        file.append(&[bytes]).unwrap();
        format!("{:?}", FrameReader::new(&*file, 3).unwrap().at(0).unwrap())
    }

    #[test]
    fn a_frame_is_read_as_written() {
        let text = found(&file_with(b"hello"));
        assert!(text.starts_with("Frame { kind: Commit, tag: 77, body: [104, 101, 108, 108, 111]"), "{text}");
    }

    #[test]
    fn every_flipped_bit_is_damage_and_never_torn() {
        // Some sectors are zero, one has a single bit.
        let byte = |index| if index < 700 { 0 } else { index as u8 | 1 };
        let mut body: Vec<u8> = (0..1_500u32).map(byte).collect();
        body[600] = 0x20;
        let good = file_with(&body);
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(found(&bytes).starts_with("Damaged"), "bit {bit}");
        }
    }

    #[test]
    fn a_missing_end_or_zeroed_sectors_are_torn_and_never_damage() {
        let body: Vec<u8> = (0..1_500u32).map(|index| index as u8 | 1).collect();
        let good = file_with(&body);
        for length in 1..good.len() {
            assert_eq!(found(&good[..length]), "Torn", "length {length}");
        }
        for sectors in 1..8u32 {
            let mut bytes = good.clone();
            for (index, byte) in bytes.iter_mut().enumerate() {
                if sectors >> (index / 512) & 1 == 1 {
                    *byte = 0;
                }
            }
            assert_eq!(found(&bytes), "Torn", "zeroed sectors {sectors:b}");
        }
    }
}
