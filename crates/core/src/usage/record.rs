//! The body of a usage record:
//!
//! ```text
//! u64 id of the cache | u32 count | count x section, by name, version, day
//! section: text name | text version | u16 day | u8 1 = read, 0 = written | u32 count | count x distance
//! ```
//! A distance is the difference of a hash (upper half) to the one before, or to 0. It is a variable-length number: 7
//! bits a byte, lowest first, with the highest bit set if another byte follows. Hashes ascend.

use super::{Day, MARKS_MAX, Mark, Marks};
use crate::format::bytes::{Reader, put_text};
use std::collections::BTreeMap;

/// Bytes of the id.
const ID_BYTES: usize = 8;

/// Encodes a record.
pub(super) fn write(cache_id: u64, marks: &Marks) -> Vec<u8> {
    let mut out = cache_id.to_le_bytes().to_vec();
    out.extend_from_slice(&[0; 4]);
    let mut sections = 0u32;
    for ((name, version), marks) in marks.iter() {
        let mut days: BTreeMap<(Day, bool), Vec<u32>> = BTreeMap::new();
        for mark in marks {
            days.entry((mark.day(), mark.is_read())).or_default().push(mark.hash());
        }
        for ((day, is_read), hashes) in days {
            sections += 1;
            put_text(&mut out, name);
            put_text(&mut out, version);
            out.extend_from_slice(&day.to_le_bytes());
            out.push(u8::from(is_read));
            out.extend_from_slice(&(hashes.len() as u32).to_le_bytes());
            let mut before = 0;
            for hash in hashes {
                put_distance(&mut out, hash - before);
                before = hash;
            }
        }
    }
    if let Some(count) = out.get_mut(ID_BYTES..).and_then(<[u8]>::first_chunk_mut::<4>) {
        *count = sections.to_le_bytes();
    }
    out
}

/// Decodes a record into the id of its cache and its marks; `None` = invalid.
pub(super) fn read(body: &[u8]) -> Option<(u64, Marks)> {
    let mut reader = Reader::new(body);
    let cache_id = reader.u64()?;
    let mut marks = Marks::default();
    let mut total = 0;
    for _ in 0..reader.u32()? {
        let space = (reader.text()?.to_owned(), reader.text()?.to_owned());
        let day = reader.u16()?;
        let is_read = match reader.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let count = reader.u32()? as usize;
        total += count;
        // Each takes at least one byte.
        if count == 0 || count > reader.remaining() || total > MARKS_MAX {
            return None;
        }
        let mut section = Vec::with_capacity(count);
        let mut hash = 0u32;
        for at in 0..count {
            let distance = read_distance(&mut reader)?;
            hash = hash.checked_add(distance).filter(|_| at == 0 || distance > 0)?;
            section.push(Mark::new(hash, day, is_read));
        }
        marks.add(space, section);
    }
    reader.is_empty().then_some((cache_id, marks))
}

fn put_distance(out: &mut Vec<u8>, mut distance: u32) {
    while distance >= 0x80 {
        out.push(distance as u8 | 0x80);
        distance >>= 7;
    }
    out.push(distance as u8);
}

fn read_distance(reader: &mut Reader<'_>) -> Option<u32> {
    let mut distance = 0u64;
    for shift in [0, 7, 14, 21, 28] {
        let byte = reader.u8()?;
        distance |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return u32::try_from(distance).ok();
        }
    }
    None
}
