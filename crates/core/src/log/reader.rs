//! Reads a log from an offset to its end and says how it ended.

use super::LOCK;
use crate::error::{Error, Result};
use crate::format::FORMAT;
use crate::format::bytes::Reader;
use crate::format::checksum::Checksum;
use crate::format::entry::{Entry, NAMESPACES_MAX};
use crate::format::frame::{Found, FrameKind, FrameReader};
use crate::planted;
use crate::vfs::File;

/// How often damage is read again before it is believed: another process may be in the middle of its append.
const DAMAGE_READS: u32 = 3;

/// One commit of a log.
#[derive(Debug)]
pub(crate) struct LogCommit<'a> {
    pub(crate) order: u64,
    pub(crate) time_ms: u64,
    /// Namespaces by the ids that the entries use.
    pub(crate) namespaces: Vec<(u16, &'a str, &'a str)>,
    /// Entries one after another; the first is at `Entry::read`.
    pub(crate) entries: &'a [u8],
    /// How many they are.
    pub(crate) count: usize,
}

/// Why a scan stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// At the end of what was written so far, or at an append that did not arrive whole.
    End,
    /// At the seal: the writer is done.
    Sealed,
    /// At bytes that are not what was written.
    Damaged(&'static str),
}

/// What a scan learned beside the commits.
#[derive(Clone, Debug)]
pub(crate) struct LogScan {
    /// Where to go on; at a seal, where it stands.
    pub(crate) end: u64,
    pub(crate) stop: Stop,
    /// Whether the writer holds the file's lock while it lives. `None` where the start frame has not arrived.
    pub(crate) locked: Option<bool>,
    /// The cache that it is of, likewise.
    pub(crate) id: Option<u64>,
    /// Logs that its commits may rest on, and how far they go.
    pub(crate) seen: Vec<(u32, u64)>,
    /// Whether files are held, by the last frame that says so; `None` = none did.
    pub(crate) holds: Option<bool>,
}

/// Calls `each` for every commit from `from` on. The start frame is always read; after one of another `id` nothing may
/// come.
pub(crate) fn scan(
    file: &dyn File,
    checksum: &Checksum,
    writer: u32,
    id: Option<u64>,
    from: u64,
    each: &mut dyn FnMut(LogCommit<'_>),
) -> Result<LogScan> {
    let name = || format!("{writer}.log");
    let begin =
        || FrameReader::new(file, checksum, u64::from(writer)).map_err(|source| Error::io("read", &name(), source));
    let mut frames = begin()?;
    let mut state = LogScan { end: 0, stop: Stop::End, locked: None, id: None, seen: Vec::new(), holds: None };
    let mut damage_reads = 0;
    loop {
        let found = frames.at(state.end).map_err(|source| Error::io("read", &name(), source))?;
        match found {
            Found::End | Found::Torn => return Ok(state),
            Found::Damaged(what) => {
                damage_reads += 1;
                if damage_reads >= DAMAGE_READS {
                    return Ok(LogScan { stop: Stop::Damaged(what), ..state });
                }
                frames = begin()?;
            }
            Found::Frame { kind, tag, body, end } => {
                let first = state.end == 0;
                match (kind, first) {
                    (FrameKind::LogStart, true) => {
                        if tag != u64::from(FORMAT) && !planted::bug("tolerate-unknown-format") {
                            return Err(Error::NewerFormat { name: name(), found: tag as u32, supported: FORMAT });
                        }
                        let Some((locked, found)) = parse_start(body) else {
                            return Ok(LogScan { stop: Stop::Damaged("start"), ..state });
                        };
                        (state.locked, state.id) = (Some(locked), Some(found));
                        state.end = end.max(from);
                    }
                    (_, false) if id.is_some() && state.id != id => {
                        return Ok(LogScan { stop: Stop::Damaged("log of another cache"), ..state });
                    }
                    (FrameKind::Seal, false) => return Ok(LogScan { stop: Stop::Sealed, ..state }),
                    (FrameKind::Seen, false) => {
                        let Some(seen) = parse_seen(body) else {
                            return Ok(LogScan { stop: Stop::Damaged("seen logs"), ..state });
                        };
                        state.seen.extend(seen);
                        state.end = end;
                    }
                    (FrameKind::Commit, false) => {
                        let Some(commit) = parse_commit(tag, body) else {
                            return Ok(LogScan { stop: Stop::Damaged("commit"), ..state });
                        };
                        each(commit);
                        planted::panics("read-log");
                        state.end = end;
                    }
                    (FrameKind::Hold, false) => {
                        state.holds = Some(tag != 0);
                        state.end = end;
                    }
                    _ => return Ok(LogScan { stop: Stop::Damaged("order of frames"), ..state }),
                }
            }
        }
    }
}

fn parse_start(body: &[u8]) -> Option<(bool, u64)> {
    let mut reader = Reader::new(body);
    let start = (reader.take(LOCK.len())? == LOCK, reader.u64()?);
    reader.is_empty().then_some(start)
}

fn parse_seen(body: &[u8]) -> Option<Vec<(u32, u64)>> {
    let mut reader = Reader::new(body);
    let mut seen = Vec::new();
    while !reader.is_empty() {
        seen.push((reader.u32()?, reader.amount()?));
    }
    Some(seen)
}

fn parse_commit(order: u64, body: &[u8]) -> Option<LogCommit<'_>> {
    let mut reader = Reader::new(body);
    let time_ms = reader.u64()?;
    let count = reader.u16()?;
    let mut namespaces = Vec::new();
    // A bit for each id, so that many entries of many namespaces cost no more than their bytes.
    let mut known = [0u64; NAMESPACES_MAX / 64];
    for _ in 0..count {
        let id = reader.u16()?;
        *known.get_mut(usize::from(id / 64))? |= 1 << (id % 64);
        namespaces.push((id, reader.text()?, reader.text()?));
    }
    let entries = reader.take(reader.remaining())?;
    let (mut rest, mut count) = (Reader::new(entries), 0);
    while !rest.is_empty() {
        let entry = Entry::read(&mut rest)?;
        known.get(usize::from(entry.namespace / 64)).filter(|bits| **bits >> (entry.namespace % 64) & 1 == 1)?;
        count += 1;
    }
    Some(LogCommit { order, time_ms, namespaces, entries, count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{LogWriter, prelude};
    use crate::vfs::{Access, MemVfs, Vfs};
    use std::borrow::Cow;
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A log that is written past the system's cache is padded, and its writer may die before it cuts the zeros off.
    #[test]
    fn zeros_behind_the_last_commit_are_the_end() {
        for zeros in [1, 31, 32, 100, 4_095, 300_000] {
            let vfs = MemVfs::default();
            let mut log = LogWriter::start(vfs.create_new("0.log").unwrap(), Checksum::Open, 0, 7, true).unwrap();
            log.commit(1 << 24, &prelude(1, &[(0, "a", "1")]), &[], false).unwrap();
            log.file().append(&[&vec![0; zeros]]).unwrap();
            let mut orders = Vec::new();
            let scan =
                scan(&*log.file(), &Checksum::Open, 0, Some(7), 0, &mut |commit| orders.push(commit.order)).unwrap();
            assert_eq!((orders, scan.stop, scan.end), (vec![1 << 24], Stop::End, log.bytes()), "{zeros} zeros");
        }
    }

    /// A log that is longer when it is asked for its length than when it is read.
    #[derive(Debug)]
    struct Cut {
        file: Arc<dyn File>,
        zeros: AtomicU64,
    }

    impl File for Cut {
        fn len(&self) -> io::Result<u64> {
            Ok(self.file.len()? + self.zeros.swap(0, Ordering::Relaxed))
        }

        fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
            self.file.read(offset, length)
        }

        fn append(&self, parts: &[&[u8]]) -> io::Result<()> {
            self.file.append(parts)
        }

        fn sync(&self) -> io::Result<()> {
            self.file.sync()
        }

        fn try_lock(&self) -> io::Result<bool> {
            self.file.try_lock()
        }
    }

    /// It was "cannot read '95.log': unexpected end of file" for a process beside one that commits durably.
    #[test]
    fn a_log_whose_padding_is_cut_off_while_it_is_read_is_no_error() {
        let vfs = MemVfs::default();
        let mut log = LogWriter::start(vfs.create_new("0.log").unwrap(), Checksum::Open, 0, 7, true).unwrap();
        log.commit(1 << 24, &prelude(1, &[(0, "a", "1")]), &[], false).unwrap();
        let (end, mut file) = (log.bytes(), Cut { file: vfs.open("0.log", Access::Stream).unwrap(), zeros: 0.into() });
        for from in [0, end] {
            file.zeros = 4096.into();
            let mut commits = 0;
            let scan = scan(&file, &Checksum::Open, 0, Some(7), from, &mut |_| commits += 1).unwrap();
            assert_eq!((commits, scan.stop, scan.end), (u32::from(from == 0), Stop::End, end));
        }
    }
}
