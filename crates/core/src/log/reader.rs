//! Reads a log from an offset to its end and reports why it stopped there.

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

/// How many reads must find the same damage before it is reported: another process may be in the middle of an append.
const DAMAGE_READS: u32 = 3;

/// Bytes read ahead, which include the head of most logs.
const HEAD_BYTES_READ: usize = 1 << 10;

/// One commit of a log.
#[derive(Debug)]
pub(crate) struct LogCommit<'a> {
    pub(crate) sequence: u64,
    pub(crate) time_ms: u64,
    /// Namespaces by the ids that the entries use.
    pub(crate) namespaces: Vec<(u16, &'a str, &'a str)>,
    /// The bytes of the frame's body before the entries.
    pub(crate) prelude: &'a [u8],
    /// Entries one after another, for `Entry::read`.
    pub(crate) entries: &'a [u8],
    /// Number of entries.
    pub(crate) count: usize,
}

/// Why a scan stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// At the end of what was written so far, or at an append that is not whole.
    End,
    /// At the seal: the writer is done.
    Sealed,
    /// At bytes that differ from what was written.
    Damaged(&'static str),
    /// At once: the file ends before the place from which to read on.
    Cut,
}

/// The frames before the commits of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogHead {
    /// `None` = it is not whole.
    pub(crate) start: Option<LogStart>,
    /// Logs that its commits may rest on, and how many bytes they have.
    pub(crate) seen: Vec<KnownLog>,
    /// Whether frames follow.
    pub(crate) is_used: bool,
}

impl LogHead {
    /// Whether nothing was added to the head since it was read.
    pub(crate) fn is_same(&self, before: &Self) -> bool {
        (self.start, &self.seen) == (before.start, &before.seen)
    }
}

/// The result of a scan besides the commits.
#[derive(Clone, Debug)]
pub(crate) struct LogScan {
    /// Offset from which to read on; if the log is sealed, the offset of the seal.
    pub(crate) end: u64,
    pub(crate) stop: Stop,
    /// Offset of the last frame that was read.
    pub(crate) last: Option<u64>,
    /// Whether blobs are pinned by the last such frame; `None` = there was none.
    pub(crate) pins: Option<bool>,
}

/// Reads the head of a log. Damage in it is left to `scan`.
pub(crate) fn read_head(file: &dyn File, checksum: &Checksum, writer: u32) -> Result<LogHead> {
    let wrap = |source| Error::io("read", &format!("{writer}.log"), source);
    let mut frames = FrameReader::new(file, checksum, u64::from(writer))
        .map_err(wrap)?
        .reading_ahead(HEAD_BYTES_READ);
    let mut head = LogHead::default();
    let Found::Frame { kind: FrameKind::LogStart, tag, body, mut end } =
        frames.at(0).map_err(wrap)?
    else {
        return Ok(head);
    };
    if tag == u64::from(FORMAT) {
        head.start = LogStart::read(body);
    }
    if let Found::Frame { kind: FrameKind::Seen, body, end: after, .. } =
        frames.at(end).map_err(wrap)?
    {
        head.seen = parse_seen(body).unwrap_or_default();
        end = after;
    }
    head.is_used = frames.file_bytes() > end;
    Ok(head)
}

/// Calls `each` for every commit from offset `from` on.
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
    let mut state = LogScan { end: from, stop: Stop::End, last: None, pins: None };
    if frames.file_bytes() < from {
        return Ok(LogScan { stop: Stop::Cut, ..state });
    }
    let mut damage_reads = 0;
    loop {
        let damage = match frames.at(state.end).map_err(wrap)? {
            Found::End => return Ok(state),
            // Read on later: the writer is in the middle of an append.
            Found::Torn if from > 0 => return Ok(state),
            Found::Torn => match frames.is_durable_at(state.end).map_err(wrap)? {
                true => "missing part of a log",
                false => return Ok(state),
            },
            Found::Damaged(what) => what,
            Found::Frame { kind, tag, body, end } => {
                match read_frame(&mut state, writer, (kind, tag, body), each)? {
                    Ok(()) if state.stop == Stop::Sealed => return Ok(state),
                    Ok(()) => {
                        (state.last, state.end, damage_reads) = (Some(state.end), end, 0);
                        continue;
                    }
                    Err(what) => return Ok(LogScan { stop: Stop::Damaged(what), ..state }),
                }
            }
        };
        damage_reads += 1;
        if damage_reads >= DAMAGE_READS {
            return Ok(LogScan { stop: Stop::Damaged(damage), ..state });
        }
        frames = begin()?;
    }
}

/// Applies one frame of this kind, tag and body. An inner `Err` names what is wrong with it.
fn read_frame(
    state: &mut LogScan,
    writer: u32,
    (kind, tag, body): (FrameKind, u64, &[u8]),
    each: &mut dyn FnMut(LogCommit<'_>),
) -> Result<std::result::Result<(), &'static str>> {
    let is_first = state.end == 0;
    match (kind, is_first) {
        (FrameKind::LogStart, true) => {
            if tag != u64::from(FORMAT) {
                let (name, found) = (format!("{writer}.log"), tag as u32);
                return Err(Error::NewerFormat { name, found, supported: FORMAT }.boxed());
            }
            Ok(LogStart::read(body).map(drop).ok_or("start"))
        }
        (FrameKind::Seal, false) => {
            state.stop = Stop::Sealed;
            Ok(Ok(()))
        }
        (FrameKind::Seen, false) => Ok(parse_seen(body).map(drop).ok_or("seen logs")),
        (FrameKind::Commit, false) => {
            let Some(commit) = LogCommit::read(tag, body) else { return Ok(Err("commit")) };
            each(commit);
            failpoints::panics("read-log");
            Ok(Ok(()))
        }
        (FrameKind::Pin, false) => {
            state.pins = Some(tag != 0);
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

impl<'a> LogCommit<'a> {
    /// Reads the body of a commit's frame.
    pub(crate) fn read(sequence: u64, body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let time_ms = reader.u64()?;
        let count = reader.u16()?;
        let mut namespaces = Vec::new();
        // One bit for each id, so that many entries of many namespaces cost no more than their bytes.
        let mut known = [0u64; NAMESPACES_MAX / 64];
        for _ in 0..count {
            let id = reader.u16()?;
            *known.get_mut(usize::from(id / 64))? |= 1 << (id % 64);
            namespaces.push((id, reader.text()?, reader.text()?));
        }
        let (prelude, entries) = body.split_at_checked(body.len() - reader.remaining())?;
        let (mut rest, mut count) = (Reader::new(entries), 0);
        while !rest.is_empty() {
            let entry = Entry::read(&mut rest)?;
            known
                .get(usize::from(entry.namespace / 64))
                .filter(|bits| **bits >> (entry.namespace % 64) & 1 == 1)?;
            count += 1;
        }
        Some(Self { sequence, time_ms, namespaces, prelude, entries, count })
    }
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
        let start = LogStart { locked: true, layered: false, id: 7, base: 8 };
        LogWriter::start(file, vfs.stat("0.log").unwrap().unwrap(), Checksum::Open, 0, start)
            .unwrap()
    }

    /// A log written past the page cache is padded with zeros, and its writer may die before it cuts them off.
    #[test]
    fn zeros_after_the_last_commit_end_the_log() {
        for zeros in [1, 31, 32, 100, 4_095, 300_000] {
            let vfs = MemVfs::default();
            let mut log = log_in(&vfs);
            log.commit(1 << 24, &prelude(1, &[(0, "a", "1")]), &[], false).unwrap();
            log.file().append(&[&vec![0; zeros]]).unwrap();
            let mut sequences = Vec::new();
            let scan = scan(&*log.file(), &Checksum::Open, 0, 0, &mut |commit| {
                sequences.push(commit.sequence)
            })
            .unwrap();
            assert_eq!(
                (sequences, scan.stop, scan.end),
                (vec![1 << 24], Stop::End, log.bytes()),
                "{zeros} zeros"
            );
        }
    }

    /// A file whose reported length exceeds its content.
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

    /// Regression: a process beside one that commits durably failed with "cannot read '95.log': unexpected end of
    /// file".
    #[test]
    fn a_log_whose_padding_is_cut_off_during_a_read_is_read_without_error() {
        let vfs = MemVfs::default();
        let mut log = log_in(&vfs);
        log.commit(1 << 24, &prelude(1, &[(0, "a", "1")]), &[], false).unwrap();
        let (end, mut file) = (
            log.bytes(),
            Cut { file: vfs.open("0.log", Access::Stream).unwrap(), zeros: 0.into() },
        );
        for from in [0, end] {
            file.zeros = 4096.into();
            let mut commits = 0;
            let scan = scan(&file, &Checksum::Open, 0, from, &mut |_| commits += 1).unwrap();
            assert_eq!((commits, scan.stop, scan.end), (u32::from(from == 0), Stop::End, end));
        }
    }
}
