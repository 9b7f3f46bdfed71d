//! Walks through an archive, entry by entry.
//!
//! ```text
//! archive = (extension* entry)* end
//! entry   = header, content, zeros up to a multiple of 512
//! end     = at least one block of 512 zeros, and zeros to the end of the input
//! ```
//!
//! The crate `tar` provides the layout of a header. Varve does not use its iterator, which reads long names of any
//! length into memory, and truncates sizes of more than 64 bits. An archive without its end is rejected, because one
//! that was cut between two entries would look complete.

use crate::path::{check, link_target};
use crate::tar::extension::{EXTENSION_BYTES_MAX, Extensions};
use crate::tar::source::Source;
use crate::tar::{ImportOptions, Links};
use std::borrow::Cow;
use tar::{EntryType, Header};
use varve_core::{ArchiveProblem, Error, PathProblem, Result};

const BLOCK_BYTES: usize = 512;

/// The mode bits that allow executing a file.
const EXECUTABLE: u64 = 0o111;

/// A file, directory or link whose name has passed the rules for a single path.
#[derive(Debug)]
pub(super) struct Entry {
    /// The path; empty for the root itself, which is a directory.
    pub(super) path: String,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// The caller has to read its content next.
    File {
        bytes: u64,
        executable: bool,
    },
    Folder,
    /// The target has passed the rules, too.
    Link {
        target: String,
    },
}

/// A walk through an archive in its order.
pub(super) struct Walk<'a> {
    source: Source<'a>,
    options: &'a ImportOptions,
    entries: u64,
    has_header: bool,
    has_ended: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(source: Source<'a>, options: &'a ImportOptions) -> Self {
        Self { source, options, entries: 0, has_header: false, has_ended: false }
    }

    /// Returns the next entry, or `None` at the proper end of the archive. The content of a file must be read first.
    pub(super) fn next(&mut self) -> Result<Option<Entry>> {
        let mut extensions = Extensions::default();
        let mut content = Vec::new();
        while let Some(header) = self.header()? {
            let take = match header.entry_type() {
                EntryType::XHeader => Extensions::pax,
                EntryType::XGlobalHeader => Extensions::global,
                EntryType::GNULongName => Extensions::long_path,
                EntryType::GNULongLink => Extensions::long_link,
                _ => return self.entry(&header, extensions).map(Some),
            };
            self.source.enter(&header.path_bytes());
            let bytes = self.number(&header.as_old().size, "size")?;
            if bytes > EXTENSION_BYTES_MAX {
                let what = "a pax header or long name has more than 1 MiB";
                return Err(self.source.problem(ArchiveProblem::Extension { what }));
            }
            content.clear();
            self.read(bytes, &mut content)?;
            take(&mut extensions, &content).map_err(|problem| self.source.problem(problem))?;
        }
        if extensions.is_any {
            let what = "a pax header or long name belongs to no entry";
            return Err(self.source.problem(ArchiveProblem::Extension { what }));
        }
        Ok(None)
    }

    /// Appends the content of the entry to the buffer and skips its padding.
    pub(super) fn read(&mut self, bytes: u64, buffer: &mut Vec<u8>) -> Result<()> {
        self.source.read(bytes, buffer)?;
        let padding = (bytes.wrapping_neg() % BLOCK_BYTES as u64) as usize;
        let mut block = [0; BLOCK_BYTES];
        if self.source.fill(block.get_mut(..padding).unwrap_or_default())? < padding {
            return Err(self.source.problem(ArchiveProblem::Truncated));
        }
        Ok(())
    }

    /// Returns the next header with a valid checksum, or `None` at the end.
    fn header(&mut self) -> Result<Option<Header>> {
        if self.has_ended {
            return Ok(None);
        }
        self.source.enter(&[]);
        let mut header = Header::new_old();
        let filled = self.source.fill(header.as_mut_bytes())?;
        if filled == BLOCK_BYTES && header.as_bytes().iter().all(|byte| *byte == 0) {
            return self.end().map(|()| None);
        }
        let is_whole =
            filled == BLOCK_BYTES && number(&header.as_old().cksum) == Some(checksum(&header));
        let is_first = !std::mem::replace(&mut self.has_header, true);
        match (is_whole, is_first) {
            (true, _) => Ok(Some(header)),
            (false, true) => Err(self.source.problem(ArchiveProblem::NotTar)),
            (false, false) if filled < BLOCK_BYTES => {
                Err(self.source.problem(ArchiveProblem::Truncated))
            }
            (false, false) => Err(self.source.problem(ArchiveProblem::Checksum)),
        }
    }

    /// Reads zeros up to the end of the input. This also verifies the checksum of a compressed archive.
    fn end(&mut self) -> Result<()> {
        let mut blocks = [0; 8 * BLOCK_BYTES];
        loop {
            let filled = self.source.fill(&mut blocks)?;
            if blocks.iter().take(filled).any(|byte| *byte != 0) {
                return Err(self.source.problem(ArchiveProblem::Trailing));
            }
            if filled < blocks.len() {
                self.has_ended = true;
                return Ok(());
            }
        }
    }

    fn entry(&mut self, header: &Header, extensions: Extensions) -> Result<Entry> {
        let name = extensions.path.unwrap_or_else(|| header.path_bytes().into_owned());
        self.source.enter(&name);
        self.entries += 1;
        if self.entries > self.options.files_max {
            let limit = self.options.files_max;
            return Err(self
                .source
                .problem(ArchiveProblem::TooLarge { option: "maxFiles", limit }));
        }
        let form = header.entry_type();
        check_type(form, self.options.links, extensions.is_sparse)
            .map_err(|problem| self.source.problem(problem))?;
        let is_folder = form.is_dir() || (!form.is_symlink() && name.ends_with(b"/"));
        let path = path_of(&name, is_folder)?;
        let bytes =
            extensions.bytes.map_or_else(|| self.number(&header.as_old().size, "size"), Ok)?;
        if bytes > 0 && (is_folder || form.is_symlink()) {
            return Err(self.source.problem(ArchiveProblem::Content));
        }
        let kind = if is_folder {
            Kind::Folder
        } else if form.is_symlink() {
            let target = extensions.link.or_else(|| header.link_name_bytes().map(Cow::into_owned));
            Kind::Link { target: target_of(&path, &target.unwrap_or_default())? }
        } else {
            let executable = self.number(&header.as_old().mode, "mode")? & EXECUTABLE != 0;
            self.source.announce(bytes)?;
            Kind::File { bytes, executable }
        };
        Ok(Entry { path, kind })
    }

    fn number(&self, field: &[u8], name: &'static str) -> Result<u64> {
        number(field).ok_or_else(|| self.source.problem(ArchiveProblem::Number { field: name }))
    }
}

/// Rejects entries that are neither a file, nor a directory, nor an allowed link.
fn check_type(
    form: EntryType,
    links: Links,
    is_sparse: bool,
) -> std::result::Result<(), ArchiveProblem> {
    match form {
        _ if is_sparse => Err(ArchiveProblem::Sparse),
        EntryType::Regular | EntryType::Continuous | EntryType::Directory => Ok(()),
        EntryType::Symlink if links == Links::Inside => Ok(()),
        EntryType::Symlink => Err(ArchiveProblem::SymbolicLink),
        EntryType::Link => Err(ArchiveProblem::HardLink),
        EntryType::Char | EntryType::Block => Err(ArchiveProblem::Device),
        EntryType::Fifo => Err(ArchiveProblem::Fifo),
        EntryType::GNUSparse => Err(ArchiveProblem::Sparse),
        other => Err(ArchiveProblem::UnknownType { letter: other.as_byte() }),
    }
}

/// The path of an entry, without the `./` with which many archives begin names, and without the `/` that ends
/// directories.
fn path_of(name: &[u8], is_folder: bool) -> Result<String> {
    let Ok(text) = str::from_utf8(name) else {
        return Err(Error::unsafe_path(&String::from_utf8_lossy(name), PathProblem::NotUtf8));
    };
    let mut path = text;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    if is_folder && (path == "." || (path.is_empty() && !text.is_empty())) {
        return Ok(String::new());
    }
    if is_folder {
        path = Some(path.trim_end_matches('/')).filter(|path| !path.is_empty()).unwrap_or(path);
    }
    match check(path) {
        Ok(()) => Ok(path.to_owned()),
        Err(problem) => Err(Error::unsafe_path(text, problem)),
    }
}

/// Returns the target of the link at `path`.
fn target_of(path: &str, target: &[u8]) -> Result<String> {
    let shown = || String::from_utf8_lossy(target).into_owned();
    let not_utf8 =
        || PathProblem::LinkTarget { target: shown(), problem: Box::new(PathProblem::NotUtf8) };
    let text = str::from_utf8(target).map_err(|_| not_utf8());
    text.and_then(|target| link_target(path, target))
        .map_err(|problem| Error::unsafe_path(path, problem))
}

/// The sum of the bytes of a header, with its checksum field counted as spaces.
fn checksum(header: &Header) -> u64 {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    let field = &header.as_old().cksum;
    sum(header.as_bytes()) - sum(field) + u64::from(b' ') * field.len() as u64
}

/// Parses a number of a header: octal digits with leading spaces and trailing spaces or NULs, or a byte of 0x80 and the
/// bytes of the number, highest first. Returns `None` for other text, negative numbers and more than 64 bits.
fn number(field: &[u8]) -> Option<u64> {
    if let [0x80, bytes @ ..] = field {
        return bytes.iter().try_fold(0_u64, |number, byte| {
            number.checked_mul(256)?.checked_add(u64::from(*byte))
        });
    }
    let text = field.trim_ascii_start();
    let end = text.iter().position(|byte| !matches!(byte, b'0'..=b'7')).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    if digits.is_empty() || rest.iter().any(|byte| !matches!(byte, b' ' | 0)) {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        number.checked_mul(8)?.checked_add(u64::from(digit - b'0'))
    })
}
