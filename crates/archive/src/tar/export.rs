//! Writes a tree as an archive. The same records give the same bytes on every machine.
//!
//! Entries are sorted by the bytes of their paths. Each has the owner 0 without a name, the mode 0644 (0755 if
//! executable) and the time 1980-01-01, since some tools warn about earlier times and ZIP cannot store them. The format
//! is ustar. A name that is not ASCII or does not fit its field goes into a pax header, which every current tar reads.

use crate::path::{PathProblem, PathSet, Role, check, link_target};
use crate::tar::{Content, Digest, FileRecord};
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use std::io::Write;
use tar::{EntryType, Header};
use varve_core::order;
use varve_core::{Error, Result};

const BLOCK_BYTES: usize = 512;

/// 1980-01-01T00:00:00Z.
const TIME: u64 = 315_532_800;

/// The bytes that a header has for the name of an entry or of a target.
const NAME_BYTES: usize = 100;

/// The output is buffered up to this size.
const OUTPUT_BYTES: usize = 64 << 10;

/// Options of an export.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    /// Compresses with gzip. Another version of the engine may compress to other bytes.
    pub gzip: bool,
}

/// Writes the records in the order of their paths. `read` returns the content of a file; `write` receives the archive
/// in parts.
///
/// # Errors
/// `UnsafePath` for records that an import would reject, `Damaged` if a content does not have the size in its record,
/// and the errors of `read` and `write`.
pub fn export(
    records: &[FileRecord],
    options: ExportOptions,
    read: &dyn Fn(&Digest) -> Result<Vec<u8>>,
    write: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let records = sorted(records)?;
    let mut output = Output::new(options, write);
    for record in records {
        let path = record.path.as_str();
        match &record.content {
            Content::Folder => {
                output.entry(EntryType::Directory, &format!("{path}/"), "", 0o755, 0)?
            }
            Content::Link { target } => output.entry(EntryType::Symlink, path, target, 0o777, 0)?,
            Content::File { digest, bytes, executable } => {
                let content = read(digest)?;
                if content.len() as u64 != *bytes {
                    let offset = bytes.min(&(content.len() as u64)).to_owned();
                    return Err(Error::Damaged {
                        name: digest.to_string(),
                        offset,
                        what: "content",
                    }
                    .boxed());
                }
                output.entry(
                    EntryType::Regular,
                    path,
                    "",
                    if *executable { 0o755 } else { 0o644 },
                    *bytes,
                )?;
                output.content(&content)?;
            }
        }
    }
    output.end()
}

/// Returns the records in the order of their paths, after checking them.
fn sorted(records: &[FileRecord]) -> Result<Vec<&FileRecord>> {
    let mut records: Vec<&FileRecord> = records.iter().collect();
    order::sort_by(&mut records, |a, b| a.path.cmp(&b.path));
    check_sorted(records.iter().copied())?;
    Ok(records)
}

/// Checks records that are sorted by path.
///
/// # Errors
/// `UnsafePath` for records that an import would reject.
pub fn check_sorted<'a>(records: impl Iterator<Item = &'a FileRecord>) -> Result<()> {
    let mut paths = PathSet::default();
    for record in records {
        let refused = |problem| Error::unsafe_path(&record.path, problem);
        check(&record.path).map_err(refused)?;
        if let Content::Link { target } = &record.content {
            link_target(&record.path, target).map_err(refused)?;
        }
        let role = if record.content == Content::Folder { Role::Folder } else { Role::Leaf };
        if !paths.insert(&record.path, role).map_err(refused)? {
            return Err(refused(PathProblem::Repeated));
        }
    }
    Ok(())
}

/// The buffered output of an archive.
struct Output<'a> {
    encoder: Encoder,
    write: &'a mut dyn FnMut(&[u8]) -> Result<()>,
}

enum Encoder {
    Plain(Vec<u8>),
    Gzip(Box<GzEncoder<Vec<u8>>>),
}

impl<'a> Output<'a> {
    fn new(options: ExportOptions, write: &'a mut dyn FnMut(&[u8]) -> Result<()>) -> Self {
        let buffer = Vec::with_capacity(OUTPUT_BYTES);
        let gzip =
            |buffer| Box::new(GzBuilder::new().mtime(0).write(buffer, Compression::default()));
        let encoder =
            if options.gzip { Encoder::Gzip(gzip(buffer)) } else { Encoder::Plain(buffer) };
        Self { encoder, write }
    }

    /// Writes the header of an entry, preceded by a pax header if a name does not fit.
    fn entry(
        &mut self,
        form: EntryType,
        path: &str,
        target: &str,
        mode: u32,
        bytes: u64,
    ) -> Result<()> {
        let mut long = Vec::new();
        for (key, value) in [("path", path), ("linkpath", target)] {
            if value.len() > NAME_BYTES || !value.is_ascii() {
                long.extend(pax_record(key, value).bytes());
            }
        }
        if !long.is_empty() {
            self.put(header(EntryType::XHeader, "pax", "", 0o644, long.len() as u64).as_bytes())?;
            self.content(&long)?;
        }
        self.put(header(form, path, target, mode, bytes).as_bytes())
    }

    fn content(&mut self, content: &[u8]) -> Result<()> {
        self.put(content)?;
        let padding = content.len().next_multiple_of(BLOCK_BYTES) - content.len();
        self.put([0; BLOCK_BYTES].get(..padding).unwrap_or_default())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let buffer = match &mut self.encoder {
            Encoder::Plain(buffer) => {
                buffer.extend_from_slice(bytes);
                buffer
            }
            Encoder::Gzip(gzip) => {
                gzip.write_all(bytes).map_err(|error| Error::io("compress", "archive", error))?;
                gzip.get_mut()
            }
        };
        if buffer.len() >= OUTPUT_BYTES {
            (self.write)(buffer)?;
            buffer.clear();
        }
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        self.put(&[0; 2 * BLOCK_BYTES])?;
        let rest = match self.encoder {
            Encoder::Plain(buffer) => buffer,
            Encoder::Gzip(gzip) => {
                gzip.finish().map_err(|error| Error::io("compress", "archive", error))?
            }
        };
        (self.write)(&rest)
    }
}

fn header(form: EntryType, path: &str, target: &str, mode: u32, bytes: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(form);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(TIME);
    header.set_size(bytes);
    let fields = header.as_old_mut();
    fields.name.iter_mut().zip(fitting(path).bytes()).for_each(|(field, byte)| *field = byte);
    fields.linkname.iter_mut().zip(fitting(target).bytes()).for_each(|(field, byte)| *field = byte);
    header.set_cksum();
    header
}

/// The part of a name that fits into its field.
fn fitting(name: &str) -> &str {
    (0..=NAME_BYTES.min(name.len())).rev().find_map(|bytes| name.get(..bytes)).unwrap_or_default()
}

/// A record of a pax header. Its length includes the digits of the length.
fn pax_record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + " =\n".len();
    let mut bytes = rest;
    while bytes != rest + bytes.to_string().len() {
        bytes = rest + bytes.to_string().len();
    }
    format!("{bytes} {key}={value}\n")
}
