//! The bytes of an archive: the format is detected by the first bytes, the content decompressed, and both sizes counted
//! against the limits.

use crate::tar::ImportOptions;
use crate::tar::frames::Frames;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Read};
use varve_core::Watch;
use varve_core::{ArchiveProblem, Error, Result};

/// The bytes that distinguish the formats: gzip has a magic number of two bytes, zstd of four, and the magic number of
/// a skippable zstd frame has one free nibble.
const MAGIC_BYTES: usize = 4;

/// The bytes of one read from the input.
const INPUT_BYTES: usize = 64 << 10;

/// The most memory that is reserved before the bytes for it have arrived.
const STEP_BYTES: usize = 64 << 10;

/// Below this size, the compression ratio is not limited.
const BOMB_BYTES: u64 = 64 << 20;

/// The decompressed bytes between two calls of the watch.
const WATCH_BYTES: u64 = 256 << 10;

/// Reads an archive. Errors name the entry that is being read.
pub(super) struct Source<'a> {
    decoder: Decoder<'a>,
    options: &'a ImportOptions,
    watch: Watch<'a>,
    /// The bytes decompressed so far.
    bytes: u64,
    /// The bytes decompressed at the last call of `watch`.
    watched: u64,
    /// The name of the current entry, for messages.
    entry: String,
}

enum Decoder<'a> {
    Plain(BufReader<Input<'a>>),
    Gzip(MultiGzDecoder<BufReader<Input<'a>>>),
    Zstd(Box<Frames<BufReader<Input<'a>>>>),
}

/// The input of the caller, preceded by the bytes that were read ahead to detect the format.
struct Input<'a> {
    magic: Vec<u8>,
    reader: &'a mut (dyn Read + Send),
    bytes: u64,
    /// Why reading failed. A decoder would report it as damage.
    failure: Option<io::Error>,
}

impl<'a> Source<'a> {
    pub(super) fn open(
        reader: &'a mut (dyn Read + Send),
        options: &'a ImportOptions,
        watch: Watch<'a>,
    ) -> Result<Self> {
        let mut magic = Vec::new();
        let result = (&mut *reader).take(MAGIC_BYTES as u64).read_to_end(&mut magic);
        result.map_err(|error| Error::io("read", "archive", error))?;
        let decoder = match *magic.as_slice() {
            [0x1f, 0x8b, ..] => |input| Decoder::Gzip(MultiGzDecoder::new(input)),
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                |input| Decoder::Zstd(Box::new(Frames::new(input)))
            }
            _ => Decoder::Plain,
        };
        let input = Input { bytes: magic.len() as u64, magic, reader, failure: None };
        let decoder = decoder(BufReader::with_capacity(INPUT_BYTES, input));
        Ok(Self { decoder, options, watch, bytes: 0, watched: 0, entry: String::new() })
    }

    /// Fills the buffer; returns fewer bytes only at the end.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.decoder.read(rest) {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    self.count(count)?;
                }
                Err(error) => return Err(self.failed(&error)),
            }
        }
        Ok(filled)
    }

    /// Appends exactly `bytes` bytes to the buffer. Its memory grows with the bytes that arrive, not with `bytes`.
    pub(super) fn read(&mut self, bytes: u64, buffer: &mut Vec<u8>) -> Result<()> {
        let mut missing = bytes;
        while missing > 0 {
            let start = buffer.len();
            let step = missing.min(start.max(STEP_BYTES) as u64) as usize;
            missing -= step as u64;
            // Small contents share a buffer that doubles. A large content grows it exactly, since it decides the memory
            // in use.
            let is_large = step >= STEP_BYTES;
            let reserved =
                if is_large { buffer.try_reserve_exact(step) } else { buffer.try_reserve(step) };
            if reserved.is_err() {
                return Err(self.problem(ArchiveProblem::NoMemory { bytes }));
            }
            buffer.resize(start + step, 0);
            if self.fill(buffer.get_mut(start..).unwrap_or_default())? < step {
                return Err(self.problem(ArchiveProblem::Truncated));
            }
        }
        Ok(())
    }

    /// Rejects a file if the size in its header exceeds a limit.
    pub(super) fn announce(&self, bytes: u64) -> Result<()> {
        let limit = self.options.file_bytes_max;
        if bytes > limit {
            return Err(self.problem(ArchiveProblem::TooLarge { option: "maxFileBytes", limit }));
        }
        if bytes > self.options.bytes_max.saturating_sub(self.bytes) {
            return Err(self.too_large());
        }
        Ok(())
    }

    /// Sets the name of the current entry for messages.
    pub(super) fn enter(&mut self, entry: &[u8]) {
        self.entry = String::from_utf8_lossy(entry).into_owned();
    }

    pub(super) fn problem(&self, problem: ArchiveProblem) -> Box<Error> {
        Error::Archive { entry: self.entry.clone(), problem }.boxed()
    }

    fn too_large(&self) -> Box<Error> {
        self.problem(ArchiveProblem::TooLarge { option: "maxBytes", limit: self.options.bytes_max })
    }

    fn count(&mut self, count: usize) -> Result<()> {
        self.bytes += count as u64;
        let input_bytes = self.decoder.input().bytes;
        if self.bytes > self.options.bytes_max {
            return Err(self.too_large());
        }
        let ratio_max = self.options.ratio_max;
        if self.bytes > BOMB_BYTES && self.bytes > input_bytes.saturating_mul(ratio_max) {
            return Err(self.problem(ArchiveProblem::Bomb { ratio_max }));
        }
        if self.bytes - self.watched >= WATCH_BYTES {
            self.watched = self.bytes;
            if (self.watch)(input_bytes, self.options.input_bytes).is_break() {
                return Err(Error::Cancelled.boxed());
            }
        }
        Ok(())
    }

    fn failed(&mut self, error: &io::Error) -> Box<Error> {
        match self.decoder.input_mut().failure.take() {
            Some(failure) => Error::io("read", "archive", failure),
            None if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.problem(ArchiveProblem::Truncated)
            }
            None => self.problem(ArchiveProblem::Compression { message: error.to_string() }),
        }
    }
}

impl<'a> Decoder<'a> {
    fn input(&self) -> &Input<'a> {
        match self {
            Self::Plain(input) => input.get_ref(),
            Self::Gzip(gzip) => gzip.get_ref().get_ref(),
            Self::Zstd(frames) => frames.get_ref().get_ref(),
        }
    }

    fn input_mut(&mut self) -> &mut Input<'a> {
        match self {
            Self::Plain(input) => input.get_mut(),
            Self::Gzip(gzip) => gzip.get_mut().get_mut(),
            Self::Zstd(frames) => frames.get_mut().get_mut(),
        }
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buffer),
            Self::Gzip(gzip) => gzip.read(buffer),
            Self::Zstd(frames) => frames.read(buffer),
        }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.magic.is_empty() {
            let count = self.magic.len().min(buffer.len());
            buffer.iter_mut().zip(self.magic.drain(..count)).for_each(|(to, byte)| *to = byte);
            return Ok(count);
        }
        loop {
            match self.reader.read(buffer) {
                Ok(count) => {
                    self.bytes += count as u64;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error);
                    return Err(io::Error::other("the input failed"));
                }
            }
        }
    }
}
