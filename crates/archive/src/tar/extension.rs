//! Entries that extend the next one: pax headers (`x`, `g`) and the long names of GNU tar (`L`, `K`).
//!
//! ```text
//! pax  = record*
//! record = <length of the record, decimal> " " <key> "=" <value> "\n"
//! long = <name> NUL
//! ```
//!
//! Of a pax header, Varve reads the path, the target of a link and the size; it skips owners, times and attributes.
//! Ambiguous input is rejected: two long names for one entry, or a global header with a path or size.

use varve_core::ArchiveProblem;

/// The most bytes of one such entry. A path has at most a thousand, but attributes of a file may have more.
pub(super) const EXTENSION_BYTES_MAX: u64 = 1 << 20;

const MALFORMED: ArchiveProblem = ArchiveProblem::Extension { what: "a pax header is malformed" };

/// What pax headers and long names have set for the next entry.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) bytes: Option<u64>,
    pub(super) is_sparse: bool,
    /// Whether there was any, even one without a field that Varve reads.
    pub(super) is_any: bool,
    has_pax: bool,
}

impl Extensions {
    /// Reads the GNU long name of the next entry.
    pub(super) fn long_path(&mut self, name: &[u8]) -> Result<(), ArchiveProblem> {
        self.is_any = true;
        set(&mut self.path, name.strip_suffix(&[0]).unwrap_or(name))
    }

    /// Reads the GNU long name of the target of a link.
    pub(super) fn long_link(&mut self, name: &[u8]) -> Result<(), ArchiveProblem> {
        self.is_any = true;
        set(&mut self.link, name.strip_suffix(&[0]).unwrap_or(name))
    }

    /// Reads a pax header of the next entry.
    pub(super) fn pax(&mut self, content: &[u8]) -> Result<(), ArchiveProblem> {
        if self.has_pax {
            return Err(ArchiveProblem::Extension { what: "an entry has two pax headers" });
        }
        (self.is_any, self.has_pax) = (true, true);
        let (mut path, mut link) = (None, None); // the last value of a key counts; an empty one removes it
        for record in records(content) {
            let (key, value) = record?;
            match key {
                b"path" => path = (!value.is_empty()).then_some(value),
                b"linkpath" => link = (!value.is_empty()).then_some(value),
                b"size" if value.is_empty() => self.bytes = None,
                b"size" => {
                    self.bytes =
                        Some(decimal(value).ok_or(ArchiveProblem::Number { field: "size" })?)
                }
                _ => self.is_sparse |= key.starts_with(b"GNU.sparse."),
            }
        }
        path.map_or(Ok(()), |path| set(&mut self.path, path))?;
        link.map_or(Ok(()), |link| set(&mut self.link, link))
    }

    /// Checks a pax header for all following entries, which may not set a path, target or size.
    pub(super) fn global(&mut self, content: &[u8]) -> Result<(), ArchiveProblem> {
        for record in records(content) {
            let (key, _) = record?;
            if matches!(key, b"path" | b"linkpath" | b"size") || key.starts_with(b"GNU.sparse.") {
                let what = "a global pax header gives all entries one name or size";
                return Err(ArchiveProblem::Extension { what });
            }
        }
        Ok(())
    }
}

fn set(field: &mut Option<Vec<u8>>, value: &[u8]) -> Result<(), ArchiveProblem> {
    match field.replace(value.to_vec()) {
        None => Ok(()),
        Some(_) => Err(ArchiveProblem::Extension { what: "an entry has two long names" }),
    }
}

/// The key and the value of a pax record.
type Record<'a> = (&'a [u8], &'a [u8]);

/// Returns the keys and values of a pax header. Values may hold any byte, so a record ends where its length ends.
fn records(mut content: &[u8]) -> impl Iterator<Item = Result<Record<'_>, ArchiveProblem>> {
    std::iter::from_fn(move || {
        if content.is_empty() {
            return None;
        }
        let Some((record, rest)) = split_record(content) else {
            content = &[];
            return Some(Err(MALFORMED));
        };
        content = rest;
        Some(Ok(record))
    })
}

/// Splits the first record from the rest.
fn split_record(content: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let digits = content.iter().position(|byte| *byte == b' ')?;
    let bytes = usize::try_from(decimal(content.get(..digits)?)?).ok()?;
    let (record, rest) = content.split_at_checked(bytes)?;
    let record = record.get(digits + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some(((record.get(..equals)?, record.get(equals + 1..)?), rest))
}

/// Parses a number that consists of digits only, without sign or space.
fn decimal(text: &[u8]) -> Option<u64> {
    let digits = text.iter().all(u8::is_ascii_digit);
    str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}
