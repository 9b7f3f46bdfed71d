//! Reads a log from an offset to its end and says how it ended.

use super::LogStart;
use crate::error::{Error, Result};
use crate::format::FORMAT;
use crate::format::bytes::Reader;
use crate::format::checksum::Checksum;
use crate::format::entry::{Entry, NAMESPACES_MAX};
use crate::format::frame::{Found, FrameKind, FrameReader};
use crate::manifest::KnownLog;
use crate::platform::failpoints;
use crate::platform::vfs::File;

/// How often damage is read again before it is believed: another process may be in the middle of its append.
const DAMAGE_READS: u32 = 3;

/// Bytes in which most heads of logs are.
const HEAD_BYTES_READ: usize = 1 << 10;

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

/// What stands in front of the commits of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogHead {
    /// `None` = it has not arrived.
    pub(crate) start: Option<LogStart>,
    /// Logs that its commits may rest on, and how far they go.
    pub(crate) seen: Vec<KnownLog>,
    /// Whether anything follows.
    pub(crate) is_used: bool,
}

/// What a scan learned beside the commits.
#[derive(Clone, Debug)]
pub(crate) struct LogScan {
    /// Where to go on; at a seal, where it stands.
    pub(crate) end: u64,
    pub(crate) stop: Stop,
    /// Whether files are held, by the last frame that says so; `None` = none did.
    pub(crate) holds: Option<bool>,
}

/// Reads the head of a log. What is damaged there, `scan` finds.
pub(crate) fn read_head(file: &dyn File, checksum: &Checksum, writer: u32) -> Result<LogHead> {
    let wrap = |source| Error::io("read", &format!("{writer}.log"), source);
    let mut frames = FrameReader::new(file, checksum, u64::from(writer)).map_err(wrap)?.reading_ahead(HEAD_BYTES_READ);
    let mut head = LogHead::default();
    let Found::Frame { kind: FrameKind::LogStart, tag, body, mut end } = frames.at(0).map_err(wrap)? else {
        return Ok(head);
    };
    if tag == u64::from(FORMAT) {
        head.start = LogStart::read(body);
    }
    if let Found::Frame { kind: FrameKind::Seen, body, end: after, .. } = frames.at(end).map_err(wrap)? {
        head.seen = parse_seen(body).unwrap_or_default();
        end = after;
    }
    head.is_used = frames.file_bytes() > end;
    Ok(head)
}

/// Calls `each` for every commit from `from` on, 0 for the first time.
pub(crate) fn scan(
    file: &dyn File,
    checksum: &Checksum,
    writer: u32,
    from: u64,
    each: &mut dyn FnMut(LogCommit<'_>),
) -> Result<LogScan> {
    let wrap = |source| Error::io("read", &format!("{writer}.log"), source);
    let begin = || FrameReader::new(file, checksum, u64::from(writer)).map_err(wrap);
    let mut frames = begin()?;
    let mut state = LogScan { end: from, stop: Stop::End, holds: None };
    let mut damage_reads = 0;
    loop {
        let damage = match frames.at(state.end).map_err(wrap)? {
            Found::End => return Ok(state),
            // A log that was read before goes on where its writer appends.
            Found::Torn if from > 0 => return Ok(state),
            Found::Torn => match frames.is_durable_at(state.end).map_err(wrap)? {
                true => "missing part of a log",
                false => return Ok(state),
            },
            Found::Damaged(_) if failpoints::bug("damaged-as-torn") => return Ok(state),
            Found::Damaged(what) => what,
            Found::Frame { kind, tag, body, end } => match read_frame(&mut state, writer, (kind, tag, body), each)? {
                Ok(()) if state.stop == Stop::Sealed => return Ok(state),
                Ok(()) => {
                    (state.end, damage_reads) = (end, 0);
                    continue;
                }
                Err(what) => return Ok(LogScan { stop: Stop::Damaged(what), ..state }),
            },
        };
        damage_reads += 1;
        if damage_reads >= DAMAGE_READS {
            return Ok(LogScan { stop: Stop::Damaged(damage), ..state });
        }
        frames = begin()?;
    }
}

/// Takes up one frame, of this kind and tag and with this body. `Err` within `Ok` = what is wrong with it.
fn read_frame(
    state: &mut LogScan,
    writer: u32,
    (kind, tag, body): (FrameKind, u64, &[u8]),
    each: &mut dyn FnMut(LogCommit<'_>),
) -> Result<std::result::Result<(), &'static str>> {
    let is_first = state.end == 0;
    match (kind, is_first) {
        (FrameKind::LogStart, true) => {
            if tag != u64::from(FORMAT) && !failpoints::bug("tolerate-unknown-format") {
                let (name, found) = (format!("{writer}.log"), tag as u32);
                return Err(Error::NewerFormat { name, found, supported: FORMAT });
            }
            Ok(LogStart::read(body).map(drop).ok_or("start"))
        }
        (FrameKind::Seal, false) => {
            state.stop = Stop::Sealed;
            Ok(Ok(()))
        }
        (FrameKind::Seen, false) => Ok(parse_seen(body).map(drop).ok_or("seen logs")),
        (FrameKind::Commit, false) => {
            let Some(commit) = parse_commit(tag, body) else { return Ok(Err("commit")) };
            each(commit);
            failpoints::panics("read-log");
            Ok(Ok(()))
        }
        (FrameKind::Hold, false) => {
            state.holds = Some(tag != 0);
            Ok(Ok(()))
        }
        _ => Ok(Err("order of frames")),
    }
}

fn parse_seen(body: &[u8]) -> Option<Vec<KnownLog>> {
    let mut reader = Reader::new(body);
    let mut seen = Vec::new();
    while !reader.is_empty() {
        seen.push(KnownLog::read(&mut reader)?);
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
    use crate::platform::vfs::{Access, MemVfs, Vfs};
    use std::borrow::Cow;
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn log_in(vfs: &MemVfs) -> LogWriter {
        let file = vfs.create_new("0.log").unwrap();
        let start = LogStart { locked: true, id: 7, base: 8 };
        LogWriter::start(file, vfs.stat("0.log").unwrap().unwrap(), Checksum::Open, 0, start).unwrap()
    }

    /// A log that is written past the system's cache is padded, and its writer may die before it cuts the zeros off.
    #[test]
    fn zeros_behind_the_last_commit_are_the_end() {
        for zeros in [1, 31, 32, 100, 4_095, 300_000] {
            let vfs = MemVfs::default();
            let mut log = log_in(&vfs);
            log.commit(1 << 24, &prelude(1, &[(0, "a", "1")]), &[], false).unwrap();
            log.file().append(&[&vec![0; zeros]]).unwrap();
            let mut orders = Vec::new();
            let scan = scan(&*log.file(), &Checksum::Open, 0, 0, &mut |commit| orders.push(commit.order)).unwrap();
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
        let mut log = log_in(&vfs);
        log.commit(1 << 24, &prelude(1, &[(0, "a", "1")]), &[], false).unwrap();
        let (end, mut file) = (log.bytes(), Cut { file: vfs.open("0.log", Access::Stream).unwrap(), zeros: 0.into() });
        for from in [0, end] {
            file.zeros = 4096.into();
            let mut commits = 0;
            let scan = scan(&file, &Checksum::Open, 0, from, &mut |_| commits += 1).unwrap();
            assert_eq!((commits, scan.stop, scan.end), (u32::from(from == 0), Stop::End, end));
        }
    }
}
