//! A frame: one append to a log, a manifest or a usage record.
//!
//! ```text
//! 0  u32 kind            4  u32 body bytes       8  u64 tag (sequence number of a commit, format of a file)
//! 16 u64 checksum of body and padding            24 u32 faint sectors of the body; highest bit: after a sync
//! 28 u32 checksum of the 28 bytes before         32 body, padded with 0x55 to a multiple of 32
//! ```
//! Both checksums are valid for the frame's place only. A frame begins at a multiple of 32, so its head is within one
//! sector. Together with the count of *faint* sectors, which have at most one bit set, this distinguishes two cases:
//! - **torn**: a power failure lost a part of an append that was never synced. The end of the file is missing, or more
//!   sectors are zero than were faint. The frame was never acknowledged as durable; it and what follows do not count.
//! - **damaged**: anything else; bytes that were complete have changed. No single flipped bit makes more sectors zero
//!   than were faint.
//!
//! A frame written *after a sync* has that bit set: everything before it in the file was durable. So a torn frame
//! before such a frame is damaged ([`FrameReader::is_durable_at`]).

use super::bytes::Reader;
use super::checksum::{Checksum, FramePlace};
use crate::platform::vfs::File;
use std::io;

/// Bytes before the body; frames begin at multiples of it.
pub(crate) const HEAD_BYTES: usize = 32;

/// Longest valid body.
pub(crate) const BODY_BYTES_MAX: usize = 80 << 20;

/// Bit in the count of faint sectors: *after a sync*.
const AFTER_SYNC: u32 = 1 << 31;

const SECTOR_BYTES: u64 = 512;
const PADDING: [u8; HEAD_BYTES] = [0x55; HEAD_BYTES];

/// How far a later frame is searched after a torn one: farther than zeros are written ahead and frames are long. The
/// limit protects against long sparse files.
const SEARCHED_BYTES: u64 = 4 << 20;

/// Bytes read ahead.
const WINDOW_BYTES: usize = 256 << 10;

/// The kind of a frame; four letters each, readable in a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    LogStart = u32::from_le_bytes(*b"VLOG") as isize,
    Commit = u32::from_le_bytes(*b"CMIT") as isize,
    Seen = u32::from_le_bytes(*b"SEEN") as isize,
    Pin = u32::from_le_bytes(*b"HOLD") as isize,
    Seal = u32::from_le_bytes(*b"SEAL") as isize,
    Manifest = u32::from_le_bytes(*b"VMAN") as isize,
    Usage = u32::from_le_bytes(*b"USED") as isize,
}

impl FrameKind {
    pub(crate) fn parse(word: u32) -> Option<Self> {
        [
            Self::LogStart,
            Self::Seen,
            Self::Commit,
            Self::Pin,
            Self::Seal,
            Self::Manifest,
            Self::Usage,
        ]
        .into_iter()
        .find(|kind| *kind as u32 == word)
    }
}

/// The properties of a frame besides its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) kind: FrameKind,
    pub(crate) tag: u64,
    /// Whether everything before it in the file was synced before it was written.
    pub(crate) after_sync: bool,
}

impl Label {
    /// A label for a frame without durable bytes before it.
    pub(crate) fn new(kind: FrameKind, tag: u64) -> Self {
        Self { kind, tag, after_sync: false }
    }

    /// Reads the label and the length of the body from a head, without checking its checksum.
    pub(crate) fn read(head: &[u8]) -> Option<(Self, usize)> {
        let mut reader = Reader::new(head);
        let kind = FrameKind::parse(reader.u32()?)?;
        let (body_bytes, tag) = (reader.u32()? as usize, reader.u64()?);
        reader.u64()?;
        Some((Self { kind, tag, after_sync: reader.u32()? & AFTER_SYNC != 0 }, body_bytes))
    }
}

/// What was found at an offset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    Frame {
        kind: FrameKind,
        tag: u64,
        body: &'a [u8],
        end: u64,
    },
    /// The end of the file.
    End,
    /// An append that is not whole.
    Torn,
    /// Bytes that differ from what was written.
    Damaged(&'static str),
}

/// Head and padding of a frame whose body is `parts`, to be written at `place`.
pub(crate) fn seal_parts(
    checksum: &Checksum,
    label: Label,
    place: FramePlace,
    parts: &[&[u8]],
) -> ([u8; HEAD_BYTES], &'static [u8]) {
    let FramePlace { offset, .. } = place;
    assert!(offset.is_multiple_of(HEAD_BYTES as u64), "frames begin at multiples of their head");
    let body_bytes: usize = parts.iter().map(|part| part.len()).sum();
    assert!(body_bytes <= BODY_BYTES_MAX, "larger commits go to tables");
    let padding = PADDING.get(..padding_of(body_bytes)).unwrap_or_default();
    let mut padded: Vec<&[u8]> = parts.to_vec();
    padded.push(padding);
    let faint_sectors = sectors_below(2, offset + HEAD_BYTES as u64, &padded);
    let mut head = Head { label, body_bytes, checksum: 0, faint_sectors };
    head.checksum = checksum.of_body(place, &head.for_body(), &padded);
    (head.write(checksum, place), padding)
}

fn padding_of(body_bytes: usize) -> usize {
    body_bytes.next_multiple_of(HEAD_BYTES) - body_bytes
}

/// Number of sectors of the file in which `parts`, written at `offset`, set fewer than `bits` bits.
fn sectors_below(bits: u32, offset: u64, parts: &[&[u8]]) -> u32 {
    let mut count = 0;
    let mut position = offset;
    let mut set = 0;
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            let room = SECTOR_BYTES - position % SECTOR_BYTES;
            let (piece, tail) = rest.split_at(rest.len().min(room as usize));
            // Almost every sector is decided by its first bytes.
            set = piece
                .iter()
                .try_fold(set, |sum, byte| (sum < bits).then(|| sum + byte.count_ones()))
                .unwrap_or(bits);
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

/// How often the file may shrink while one frame is read.
const CUTS: u32 = 8;

/// Reads frames of one file from front to back.
#[derive(Debug)]
pub(crate) struct FrameReader<'f> {
    file: &'f dyn File,
    checksum: &'f Checksum,
    file_number: u64,
    file_bytes: u64,
    window: Vec<u8>,
    window_start: u64,
    read_ahead: usize,
}

impl<'f> FrameReader<'f> {
    pub(crate) fn new(
        file: &'f dyn File,
        checksum: &'f Checksum,
        file_number: u64,
    ) -> io::Result<Self> {
        let (window, window_start, read_ahead) = (Vec::new(), 0, WINDOW_BYTES);
        Ok(Self {
            file,
            checksum,
            file_number,
            file_bytes: file.len()?,
            window,
            window_start,
            read_ahead,
        })
    }

    /// Sets the bytes read at a time; longer frames are read whole.
    pub(crate) fn reading_ahead(self, read_ahead: usize) -> Self {
        Self { read_ahead, ..self }
    }

    /// Length of the file when it was opened, or where it was found to end.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Reads what is at `offset`.
    pub(crate) fn at(&mut self, offset: u64) -> io::Result<Found<'_>> {
        if offset >= self.file_bytes {
            return Ok(Found::End);
        }
        if self.file_bytes - offset < HEAD_BYTES as u64 {
            return Ok(Found::Torn);
        }
        let (checksum, place) =
            (self.checksum, FramePlace { file_number: self.file_number, offset });
        let Some(head) = self.window(offset, HEAD_BYTES)? else { return Ok(Found::Torn) };
        if head.iter().all(|byte| *byte == 0) {
            return Ok(Found::Torn);
        }
        let Some(head) = Head::parse(head, checksum, place) else {
            return Ok(Found::Damaged("head of a frame"));
        };
        let padded = head.body_bytes.next_multiple_of(HEAD_BYTES);
        let body_start = offset + HEAD_BYTES as u64;
        let end = body_start + padded as u64;
        if end > self.file_bytes {
            return Ok(Found::Torn);
        }
        let Some(bytes) = self.window(body_start, padded)? else { return Ok(Found::Torn) };
        if checksum.of_body(place, &head.for_body(), &[bytes]) != head.checksum {
            let torn = sectors_below(1, body_start, &[bytes]) > head.faint_sectors;
            return Ok(if torn { Found::Torn } else { Found::Damaged("body of a frame") });
        }
        let Some(body) = bytes.get(..head.body_bytes) else {
            return Ok(Found::Damaged("length of a frame"));
        };
        let Label { kind, tag, .. } = head.label;
        Ok(Found::Frame { kind, tag, body, end })
    }

    /// Whether a frame after `offset` was written when everything before it had been synced. Bytes of a body may look
    /// like the head of a frame, but not with the checksum of their place.
    pub(crate) fn is_durable_at(&mut self, offset: u64) -> io::Result<bool> {
        let (checksum, file_number) = (self.checksum, self.file_number);
        let mut at = offset + HEAD_BYTES as u64;
        let end = self.file_bytes.min(offset.saturating_add(SEARCHED_BYTES));
        while at + HEAD_BYTES as u64 <= end {
            let ahead = (end - at).min(WINDOW_BYTES as u64) / HEAD_BYTES as u64 * HEAD_BYTES as u64;
            let Some(bytes) = self.window(at, ahead as usize)? else { return Ok(false) };
            let heads = bytes.chunks_exact(HEAD_BYTES).zip((at..).step_by(HEAD_BYTES));
            for (head, offset) in heads.filter(|(head, _)| head.iter().any(|byte| *byte != 0)) {
                if Head::parse(head, checksum, FramePlace { file_number, offset })
                    .is_some_and(|head| head.label.after_sync)
                {
                    return Ok(true);
                }
            }
            at += ahead;
        }
        Ok(false)
    }

    /// Reads bytes within the file; lengths are limited by its length before anything is allocated. `None` = the writer
    /// has cut off the padding of its log meanwhile.
    fn window(&mut self, offset: u64, length: usize) -> io::Result<Option<&[u8]>> {
        let end = offset + length as u64;
        let window_end = self.window_start + self.window.len() as u64;
        if offset < self.window_start || end > window_end {
            self.window = Vec::new();
            self.window_start = offset;
            for _ in 0..CUTS {
                let ahead =
                    self.file_bytes.saturating_sub(offset).min(length.max(self.read_ahead) as u64);
                match self.file.read(offset, ahead as usize) {
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        self.file_bytes = self.file.len()?
                    }
                    bytes => {
                        self.window = bytes?.into_owned();
                        break;
                    }
                }
            }
        }
        let start = (offset - self.window_start) as usize;
        Ok(self.window.get(start..start + length))
    }
}

#[derive(Clone, Copy)]
struct Head {
    label: Label,
    body_bytes: usize,
    checksum: u64,
    faint_sectors: u32,
}

impl Head {
    /// The bytes before the head's own checksum.
    #[inline(always)]
    fn fields(&self) -> [u8; HEAD_BYTES - 4] {
        let Label { kind, tag, after_sync } = self.label;
        let [first, second] = [kind as u32, self.body_bytes as u32].map(u32::to_le_bytes);
        let [third, fourth] = [tag, self.checksum].map(u64::to_le_bytes);
        let last = self.faint_sectors | if after_sync { AFTER_SYNC } else { 0 };
        let mut out = [0; HEAD_BYTES - 4];
        let fields =
            first.into_iter().chain(second).chain(third).chain(fourth).chain(last.to_le_bytes());
        out.iter_mut().zip(fields).for_each(|(target, byte)| *target = byte);
        out
    }

    /// The fields of the head that the MAC of the body covers.
    fn for_body(&self) -> [u8; HEAD_BYTES - 4] {
        Self { checksum: 0, ..*self }.fields()
    }

    fn write(&self, checksum: &Checksum, place: FramePlace) -> [u8; HEAD_BYTES] {
        let fields = self.fields();
        let sum = checksum.of_head(place, &fields).to_le_bytes();
        let mut out = [0; HEAD_BYTES];
        out.iter_mut().zip(fields.into_iter().chain(sum)).for_each(|(target, byte)| *target = byte);
        out
    }

    fn parse(bytes: &[u8], checksum: &Checksum, place: FramePlace) -> Option<Self> {
        let sum = checksum.of_head(place, bytes.get(..HEAD_BYTES - 4)?);
        let (label, body_bytes) =
            Label::read(bytes).filter(|(_, bytes)| *bytes <= BODY_BYTES_MAX)?;
        let mut rest = Reader::new(bytes.get(HEAD_BYTES - 16..)?);
        let (checksum, faint_sectors) = (rest.u64()?, rest.u32()? & !AFTER_SYNC);
        (rest.u32()? == sum).then_some(Self { label, body_bytes, checksum, faint_sectors })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::mac_key::MacKey;
    use crate::platform::vfs::{MemVfs, Vfs};

    const PLACE: FramePlace = FramePlace { file_number: 3, offset: 0 };

    fn both() -> [Checksum; 2] {
        [None, Some(&MacKey::new(b"0123456789abcdef0123456789abcdef").unwrap())].map(Checksum::new)
    }

    fn file_with(checksum: &Checksum, body: &[u8]) -> Vec<u8> {
        let (head, padding) =
            seal_parts(checksum, Label::new(FrameKind::Commit, 77), PLACE, &[body]);
        [&head, body, padding].concat()
    }

    fn found(checksum: &Checksum, bytes: &[u8]) -> String {
        let vfs = MemVfs::default();
        let file = vfs.create_new("f").unwrap();
        file.append(&[bytes]).unwrap();
        format!(
            "{:?}",
            FrameReader::new(&*file, checksum, PLACE.file_number).unwrap().at(0).unwrap()
        )
    }

    #[test]
    fn a_frame_reads_back_as_written() {
        for checksum in both() {
            let text = found(&checksum, &file_with(&checksum, b"hello"));
            assert!(
                text.starts_with("Frame { kind: Commit, tag: 77, body: [104, 101, 108, 108, 111]"),
                "{text}"
            );
        }
    }

    #[test]
    fn every_flipped_bit_counts_as_damage_and_never_as_torn() {
        // Some sectors are zero, and one has a single bit set.
        let byte = |index| if index < 700 { 0 } else { index as u8 | 1 };
        let mut body: Vec<u8> = (0..1_500u32).map(byte).collect();
        body[600] = 0x20;
        for checksum in both() {
            let good = file_with(&checksum, &body);
            for bit in 0..good.len() * 8 {
                let mut bytes = good.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(found(&checksum, &bytes).starts_with("Damaged"), "bit {bit}");
            }
        }
    }

    #[test]
    fn a_missing_end_and_zeroed_sectors_count_as_torn_and_never_as_damage() {
        let body: Vec<u8> = (0..1_500u32).map(|index| index as u8 | 1).collect();
        for checksum in both() {
            let good = file_with(&checksum, &body);
            for length in 1..good.len() {
                assert_eq!(found(&checksum, &good[..length]), "Torn", "length {length}");
            }
            for sectors in 1..8u32 {
                let mut bytes = good.clone();
                for (index, byte) in bytes.iter_mut().enumerate() {
                    if sectors >> (index / 512) & 1 == 1 {
                        *byte = 0;
                    }
                }
                assert_eq!(found(&checksum, &bytes), "Torn", "zeroed sectors {sectors:b}");
            }
        }
    }

    /// A head whose own 32-bit checksum was hit by chance: the MAC of the body still covers its fields.
    #[test]
    fn the_mac_of_a_body_covers_the_fields_of_the_head() {
        let [_, checksum] = both();
        let good = file_with(&checksum, b"hello");
        let head = Head::parse(&good[..HEAD_BYTES], &checksum, PLACE).unwrap();
        let lies = [
            Head { label: Label { kind: FrameKind::Seal, ..head.label }, ..head },
            Head { body_bytes: 6, ..head },
            Head { label: Label { tag: 78, ..head.label }, ..head },
            Head { label: Label { after_sync: true, ..head.label }, ..head },
            Head { faint_sectors: head.faint_sectors + 1, ..head },
        ];
        for lie in lies {
            let bytes = [&lie.write(&checksum, PLACE), &good[HEAD_BYTES..]].concat();
            assert!(found(&checksum, &bytes).starts_with("Damaged"), "{:?}", lie.label);
        }
    }
}
