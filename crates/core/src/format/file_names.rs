//! Names of the files in the cache directory.
//!
//! ```text
//! manifest-<n>            manifest; the newest one counts
//! <writer>.log            log of one writer
//! <writer>-<by>.taken     log that writer <by> has claimed for a checkpoint
//! <writer>-<k>.table      table k of one writer
//! <any>.<writer>.tmp      manifest that is not published yet
//! <any>.bad               damaged, quarantined
//! ```

use super::sequence::WRITER_MAX;
use std::fmt;

/// Highest valid number of a manifest: many can follow it.
const MANIFEST_MAX: u64 = u64::MAX >> 1;

/// A cache with a manifest of this number or a higher one has no room for others.
pub(crate) const MANIFESTS_MAX: u64 = MANIFEST_MAX >> 1;

/// Higher numbers of writers are reserved for temporary files of processes that create a cache.
pub(crate) const WRITERS_MAX: u32 = WRITER_MAX - 64;

/// A cache publishes fewer manifests than this for each number of a writer.
const MANIFESTS_PER_WRITER: u64 = 1 << 24;

/// A file's kind by its name. Other names parse as `None`, and their files are never touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum FileName {
    Manifest(u64),
    Log(u32),
    Claimed { writer: u32, by: u32 },
    Table(TableName),
    Temporary(u32),
}

/// Name of a table: its writer, and a number of that writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TableName {
    pub(crate) writer: u32,
    pub(crate) index: u32,
}

impl FileName {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        if let Some(number) = name.strip_prefix("manifest-")
            && let Some(number) = number_of(number)
        {
            return (number <= MANIFEST_MAX).then_some(Self::Manifest(number));
        }
        let (stem, kind) = name.rsplit_once('.')?;
        match kind {
            "log" => writer_of(stem).map(Self::Log),
            "taken" => {
                let (writer, by) = stem.split_once('-')?;
                Some(Self::Claimed { writer: writer_of(writer)?, by: writer_of(by)? })
            }
            "table" => {
                let (writer, index) = stem.split_once('-')?;
                let (writer, index) = (writer_of(writer)?, number_of(index)?.try_into().ok()?);
                Some(Self::Table(TableName { writer, index }))
            }
            "tmp" => writer_of(stem.rsplit_once('.')?.1).map(Self::Temporary),
            _ => None,
        }
    }

    /// The number, if this is a manifest.
    pub(crate) fn manifest(self) -> Option<u64> {
        if let Self::Manifest(number) = self { Some(number) } else { None }
    }

    /// The writer, if this is a log.
    pub(crate) fn log_writer(self) -> Option<u32> {
        match self {
            Self::Log(writer) | Self::Claimed { writer, .. } => Some(writer),
            Self::Manifest(_) | Self::Table(_) | Self::Temporary(_) => None,
        }
    }

    /// Highest writer number in the name; a claimed log has two.
    pub(crate) fn writer_max(self) -> Option<u32> {
        match self {
            Self::Claimed { writer, by } => Some(writer.max(by)),
            other => other.writer(),
        }
    }

    /// The writer of the file.
    pub(crate) fn writer(self) -> Option<u32> {
        match self {
            Self::Manifest(_) => None,
            Self::Log(writer) | Self::Claimed { writer, .. } | Self::Temporary(writer) => {
                Some(writer)
            }
            Self::Table(table) => Some(table.writer),
        }
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest(number) => write!(out, "manifest-{number}"),
            Self::Log(writer) => write!(out, "{writer}.log"),
            Self::Claimed { writer, by } => write!(out, "{writer}-{by}.taken"),
            Self::Table(table) => write!(out, "{table}"),
            Self::Temporary(writer) => write!(out, "manifest.{writer}.tmp"),
        }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}.table", self.writer, self.index)
    }
}

/// The highest number of a manifest among the names of a directory. If there is none, a number that no lost manifest of
/// these logs and tables had. So the numbers of the next ones differ from those that a slow process still knows.
pub(crate) fn highest_manifest(names: &[FileName]) -> u64 {
    let writers = names.iter().filter(|name| !matches!(name, FileName::Temporary(_)));
    let lost =
        || writers.filter_map(|name| name.writer()).max().map_or(0, |writer| u64::from(writer) + 1);
    names
        .iter()
        .filter_map(|name| name.manifest())
        .max()
        .unwrap_or_else(|| lost() * MANIFESTS_PER_WRITER)
}

/// Parses a number in its one valid form: no sign, no leading zero.
pub(crate) fn number_of(text: &str) -> Option<u64> {
    let canonical = text == "0" || (text.starts_with(|first: char| ('1'..='9').contains(&first)));
    canonical.then(|| text.parse().ok())?
}

fn writer_of(text: &str) -> Option<u32> {
    number_of(text)?.try_into().ok().filter(|writer| *writer <= WRITER_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_name_parses_as_written_and_foreign_names_do_not() {
        let table = FileName::Table(TableName { writer: 3, index: 12 });
        for name in [
            FileName::Manifest(7),
            FileName::Log(0),
            FileName::Claimed { writer: 5, by: 8 },
            table,
            FileName::Temporary(9),
        ] {
            assert_eq!(FileName::parse(&name.to_string()), Some(name));
        }
        for foreign in [
            "manifest-",
            "manifest-07",
            "manifest-18446744073709551615",
            "16777216.log",
            "4294967295-1.table",
            "manifest-+7",
            "notes.txt",
            "-1.log",
            "1.2.log",
            "x.bad",
            ".tmp",
            "1-.table",
        ] {
            assert_eq!(FileName::parse(foreign), None, "{foreign}");
        }
    }
}
