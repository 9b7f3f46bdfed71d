//! The start of a file shows whether Varve wrote it. A name alone does not: a server may keep `v1/7.log`. So files are
//! removed and renamed only after their start was read.
//!
//! ```text
//! logs, manifests, usage records   VLOG, VMAN, USED | u32 bytes of the body | u64 format
//! tables                           varvetbl
//! ```
//! - One byte may differ, so that damage to a start does not make a file foreign. More may in a frame whose first four
//!   bytes are right, if it has a zero among the others: text has none.
//! - An append that a crash cut short may leave a part of a start, and a power failure zeros in its place. Such a file
//!   is *blank*. It may have been written by Varve, and has no content to lose.
//!
//! Blobs have no start. They are removed only if a manifest of their cache was read.

use super::FORMAT;
use super::frame::FrameKind;
use crate::platform::vfs::{Access, File, Vfs};
use std::io::{self, ErrorKind};
use std::ops::Range;

/// The first bytes of a table.
pub(crate) const TABLE_START: &[u8; 8] = b"varvetbl";

/// The frames that a file may begin with.
const FIRST_FRAMES: [FrameKind; 3] = [FrameKind::LogStart, FrameKind::Manifest, FrameKind::Usage];

/// Bytes of the first frame that every file of its kind has: all before the checksum but the length of the body.
const FRAME_START_BYTES: usize = 16;
const BODY_LENGTH: Range<usize> = 4..8;

/// A power failure loses whole sectors.
const SECTOR_BYTES: usize = 512;

/// What the start of a file shows about who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileStart {
    Varve,
    /// Empty, zeros, or a part of a start.
    Blank,
    Foreign,
}

/// The start of an open file.
pub(crate) fn start_of(file: &dyn File) -> io::Result<FileStart> {
    let mut sector = [0; SECTOR_BYTES];
    let bytes = file.len()?.min(SECTOR_BYTES as u64) as usize;
    let Some(start) = sector.get_mut(..bytes) else { return Ok(FileStart::Blank) };
    match file.read_into(0, start) {
        // It was cut since.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(FileStart::Blank),
        read => read.map(|()| of_bytes(start)),
    }
}

fn of_bytes(bytes: &[u8]) -> FileStart {
    if bytes.iter().all(|byte| *byte == 0) {
        return FileStart::Blank;
    }
    let frames = FIRST_FRAMES.map(|kind| frame_start(kind, bytes));
    let mut starts = frames.iter().map(|start| start.as_slice()).chain([&TABLE_START[..]]);
    match starts.find(|start| is_start(start, bytes)) {
        Some(start) if bytes.len() < start.len() => FileStart::Blank,
        Some(_) => FileStart::Varve,
        None => FileStart::Foreign,
    }
}

/// The start of a frame whose body is as long as `bytes` state.
fn frame_start(kind: FrameKind, bytes: &[u8]) -> [u8; FRAME_START_BYTES] {
    let mut start = [0; FRAME_START_BYTES];
    let fixed = (kind as u32).to_le_bytes().into_iter().chain([0; 4]);
    let fixed = fixed.chain(u64::from(FORMAT).to_le_bytes());
    for (at, (byte, fixed)) in start.iter_mut().zip(fixed).enumerate() {
        let length = bytes.get(at).filter(|_| BODY_LENGTH.contains(&at));
        *byte = length.copied().unwrap_or(fixed);
    }
    start
}

/// Whether `bytes` begin with `start`, but for damage, or are its beginning.
fn is_start(start: &[u8], bytes: &[u8]) -> bool {
    let Some(found) = bytes.get(..start.len()) else { return start.starts_with(bytes) };
    let is_frame = start.len() == FRAME_START_BYTES;
    let has_kind = start.get(..BODY_LENGTH.start).is_some_and(|kind| found.starts_with(kind));
    is_frame && has_kind && found.contains(&0)
        || found.iter().zip(start).filter(|(found, expected)| found != expected).count() <= 1
}

/// The start of the file of this name; `None` if it is missing.
pub(crate) fn start_of_name(vfs: &dyn Vfs, name: &str) -> io::Result<Option<FileStart>> {
    match vfs.open(name, Access::Stream).and_then(|file| start_of(&*file)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(Some(FileStart::Foreign)),
        start => start.map(Some),
    }
}

/// The outcome of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    Removed,
    /// The file is missing: another process may have removed it.
    Missing,
    /// Varve did not write the file, so it stays.
    Foreign,
    /// The file may be one of another cache by now, so it stays.
    Replaced,
}

/// Removes a file that Varve wrote.
pub(crate) fn remove(vfs: &dyn Vfs, name: &str) -> io::Result<Removal> {
    remove_if(vfs, name, || Ok(true))
}

/// Removes a file that Varve wrote. Every file but a blob is removed here. `is_in_place` is called last: whether the
/// directory has the files that the caller has read, and not those of a cache that was created again.
pub(crate) fn remove_if(
    vfs: &dyn Vfs,
    name: &str,
    is_in_place: impl FnOnce() -> io::Result<bool>,
) -> io::Result<Removal> {
    match start_of_name(vfs, name)? {
        None => return Ok(Removal::Missing),
        Some(FileStart::Foreign) => return Ok(Removal::Foreign),
        Some(_) => {}
    }
    if !is_in_place()? {
        return Ok(Removal::Replaced);
    }
    match vfs.remove(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Removal::Missing),
        outcome => outcome.map(|()| Removal::Removed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::vfs::MemVfs;

    #[test]
    fn a_file_with_one_changed_byte_in_its_start_is_still_of_varve() {
        let log = *b"VLOG\x18\0\0\0\x01\0\0\0\0\0\0\0";
        for start in [&log[..], TABLE_START] {
            for at in 0..start.len() {
                let mut bytes = [start, b"body"].concat();
                bytes[at] ^= 0xff;
                assert_eq!(of_bytes(&bytes), FileStart::Varve);
            }
        }
    }

    #[test]
    fn other_content_is_foreign_and_what_a_crash_leaves_of_a_start_is_blank() {
        let foreign_texts = [&b"precious\n"[..], b"1", b"VL0", b"{\"varvetbl\":1}", b"\0\0\0\0x"];
        for foreign in
            foreign_texts.into_iter().chain([&b"USED by a server"[..], b"VLOG of a server"])
        {
            assert_eq!(of_bytes(foreign), FileStart::Foreign, "{foreign:?}");
        }
        for blank in [&b""[..], b"V", b"VLO", b"varvetb", &[0; 512]] {
            assert_eq!(of_bytes(blank), FileStart::Blank, "{blank:?}");
        }
    }

    #[test]
    fn only_files_of_varve_are_removed() {
        let vfs = MemVfs::default();
        for (name, content) in [("7.log", "precious"), ("8-1.table", "varvetbl..."), ("9.log", "")]
        {
            vfs.create_new(name).unwrap().append(&[content.as_bytes()]).unwrap();
        }
        let removals =
            ["7.log", "8-1.table", "9.log", "10.log"].map(|name| remove(&vfs, name).unwrap());
        let removed = Removal::Removed;
        assert_eq!(removals, [Removal::Foreign, removed, removed, Removal::Missing]);
        assert_eq!(vfs.list().unwrap(), ["7.log"]);
    }
}
