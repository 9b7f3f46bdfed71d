//! The usage records of a cache. Errors are ignored: a record that cannot be read counts as missing, and one that
//! cannot be written is omitted.
//!
//! A new record gets an unused name and is not synced. If there are too many records, it absorbs the marks of the small
//! ones:
//! 1. They are read; torn and damaged ones contribute nothing.
//! 2. The new record is written and synced, then the directory.
//! 3. The records that were read are removed. Another process that does the same at the same time has all their marks,
//!    too.

use super::{Day, MARKS_MAX, Marks, record};
use crate::format::FORMAT;
use crate::format::checksum::{Checksum, FramePlace};
use crate::format::file_names::number_of;
use crate::format::file_start;
use crate::format::frame::{
    BODY_BYTES_MAX, Found, FrameKind, FrameReader, HEAD_BYTES, Label, seal_parts,
};
use crate::format::hash::key_hash;
use crate::format::order;
use crate::platform::vfs::{Access, Vfs};
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, OnceLock};

/// Most records before they are merged.
const RECORDS_MAX: usize = 8;

/// Most records that are read. Only an attacker creates more.
const RECORDS_READ_MAX: usize = 256;

/// A new record absorbs a record of at most this many times the size of those gathered before it. Each counts as at
/// least the minimum.
const RATIO: u64 = 3;
const WEIGHT_MIN: u64 = 4 << 10;

/// Mask for the numbers of records: bits of the hash of their bytes.
const NUMBER_MASK: u64 = (1 << 48) - 1;

const ATTEMPTS: u64 = 4;

const TORN: &str = "end of a use record";

/// Not damage: the record was copied here, or the cache has been reset since.
const FOREIGN: &str = "use record of another cache";

/// The directory of the records.
pub(crate) struct UsageFolder {
    vfs: Arc<dyn Vfs>,
    checksum: Checksum,
    folder: OnceLock<Arc<dyn Vfs>>,
}

/// Name of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    day: Day,
    number: u64,
}

/// The content of a file.
enum Content {
    Marks(Marks),
    /// Torn, damaged or invalid.
    Nothing(&'static str),
    /// Missing, or not readable now.
    Unknown,
}

impl Name {
    fn parse(name: &str) -> Option<Self> {
        let (day, number) = name.split_once('-')?;
        let number = number_of(number).filter(|number| *number <= NUMBER_MASK)?;
        Some(Self { day: number_of(day)?.try_into().ok()?, number })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.day, self.number)
    }
}

impl UsageFolder {
    pub(crate) fn new(vfs: Arc<dyn Vfs>, checksum: Checksum) -> Self {
        Self { vfs, checksum, folder: OnceLock::new() }
    }

    fn folder(&self) -> io::Result<&dyn Vfs> {
        if let Some(folder) = self.folder.get() {
            return Ok(&**folder);
        }
        let folder = self.vfs.folder("used")?;
        Ok(&**self.folder.get_or_init(|| folder))
    }

    /// All marks.
    pub(crate) fn read_all(&self, cache_id: u64) -> Marks {
        self.read_since(cache_id, 0)
    }

    /// Marks of that day and later ones.
    pub(crate) fn read_since(&self, cache_id: u64, day: Day) -> Marks {
        let mut all = Marks::default();
        let Ok(folder) = self.folder() else { return all };
        for name in names(folder).into_iter().filter(|name| name.day >= day) {
            if let Content::Marks(marks) = self.read(folder, cache_id, name) {
                all.absorb(marks);
                all.bound_to(MARKS_MAX);
            }
        }
        all.retain(|_, mark| mark.day() >= day);
        all
    }

    /// Names and lengths of all records.
    pub(crate) fn list(&self) -> Vec<(String, u64)> {
        let Ok(folder) = self.folder() else { return Vec::new() };
        names(folder)
            .into_iter()
            .filter_map(|name| Some((name.to_string(), length(folder, name)?)))
            .collect()
    }

    /// Calls `each` with the name of every damaged record and what is damaged. Torn records, and those of another
    /// cache, are not damage.
    pub(crate) fn verify(&self, cache_id: u64, mut each: impl FnMut(String, &'static str)) {
        let Ok(folder) = self.folder() else { return };
        for name in names(folder) {
            match self.read(folder, cache_id, name) {
                Content::Nothing(what) if what != TORN && what != FOREIGN => {
                    each(format!("used/{name}"), what)
                }
                Content::Nothing(_) | Content::Marks(_) | Content::Unknown => {}
            }
        }
    }

    /// Adds marks.
    pub(crate) fn add(&self, cache_id: u64, marks: Marks, today: Day) {
        let _hint = self.try_add(cache_id, marks, today, None);
    }

    /// Adds marks and removes invalid records; if it merges records, `prune` may drop marks.
    pub(crate) fn prune(
        &self,
        cache_id: u64,
        marks: Marks,
        today: Day,
        prune: &mut dyn FnMut(&mut Marks),
    ) {
        let _hint = self.try_add(cache_id, marks, today, Some(prune));
    }

    /// Removes invalid records.
    pub(crate) fn remove_damaged(&self, cache_id: u64) {
        let Ok(folder) = self.folder() else { return };
        for name in names(folder) {
            if matches!(self.read(folder, cache_id, name), Content::Nothing(_)) {
                let _ = file_start::remove(folder, &name.to_string());
            }
        }
    }

    fn try_add(
        &self,
        cache_id: u64,
        mut marks: Marks,
        today: Day,
        prune: Option<&mut dyn FnMut(&mut Marks)>,
    ) -> io::Result<()> {
        let folder = self.folder()?;
        let names = names(folder);
        let is_sound = |name: &Name| {
            prune.is_none() || !matches!(self.read(folder, cache_id, *name), Content::Nothing(_))
        };
        let (sound, mut obsolete): (Vec<Name>, Vec<Name>) = names.into_iter().partition(is_sound);
        let merged = if sound.len() < RECORDS_MAX {
            Vec::new()
        } else {
            to_merge(folder, &sound, marks.len())
        };
        for name in &merged {
            match self.read(folder, cache_id, *name) {
                Content::Marks(found) => marks.absorb(found),
                Content::Nothing(_) => {}
                Content::Unknown => continue,
            }
            obsolete.push(*name);
        }
        if let Some(prune) = prune.filter(|_| !merged.is_empty()) {
            prune(&mut marks);
        }
        marks.settle_at(today);
        let written = if marks.is_empty() {
            None
        } else {
            Some(self.write(folder, cache_id, &marks, !obsolete.is_empty())?)
        };
        for name in obsolete.into_iter().filter(|name| Some(*name) != written) {
            // Another process was faster, or has it open on a system that locks open files.
            let _ = file_start::remove(folder, &name.to_string());
        }
        Ok(())
    }
}

/// The number in the name of a record.
#[cfg(any(test, feature = "sim"))]
pub(crate) fn number_of_record(name: &str) -> Option<u64> {
    Name::parse(name).map(|name| name.number)
}

/// Names of records, newest days first.
fn names(folder: &dyn Vfs) -> Vec<Name> {
    let listed = folder.list().unwrap_or_default();
    let mut names: Vec<Name> = listed.iter().filter_map(|name| Name::parse(name)).collect();
    order::sort_by(&mut names, |left, right| right.cmp(left));
    names.truncate(RECORDS_READ_MAX);
    names
}

fn length(folder: &dyn Vfs, name: Name) -> Option<u64> {
    folder.open(&name.to_string(), Access::Stream).and_then(|file| file.len()).ok()
}

/// Small records, each not much larger than all before it; at least so many that half of the limit remains.
fn to_merge(folder: &dyn Vfs, names: &[Name], new_marks: usize) -> Vec<Name> {
    let mut by_size: Vec<(u64, Name)> = names
        .iter()
        .map(|name| (length(folder, *name).unwrap_or(0).max(WEIGHT_MIN), *name))
        .collect();
    order::sort_by(&mut by_size, Ord::cmp);
    let mut gathered = (new_marks as u64 * 2).max(WEIGHT_MIN);
    let mut merged = Vec::new();
    for (bytes, name) in by_size {
        if bytes > gathered * RATIO && names.len() - merged.len() <= RECORDS_MAX / 2 {
            break;
        }
        gathered += bytes;
        merged.push(name);
    }
    merged
}

impl UsageFolder {
    fn read(&self, folder: &dyn Vfs, cache_id: u64, name: Name) -> Content {
        let Ok(file) = folder.open(&name.to_string(), Access::Stream) else {
            return Content::Unknown;
        };
        let Ok(mut frames) = FrameReader::new(&*file, &self.checksum, name.number) else {
            return Content::Unknown;
        };
        match frames.at(0) {
            Ok(Found::Frame { kind: FrameKind::Usage, tag, body, .. })
                if tag == u64::from(FORMAT) =>
            {
                match record::read(body) {
                    Some((id, marks)) if id == cache_id && marks.newest() == Some(name.day) => {
                        Content::Marks(marks)
                    }
                    Some((id, _)) if id != cache_id => Content::Nothing(FOREIGN),
                    _ => Content::Nothing("use record"),
                }
            }
            Ok(Found::Frame { .. }) => Content::Nothing("kind of a use record"),
            Ok(Found::Damaged(what)) => Content::Nothing(what),
            Ok(Found::End | Found::Torn) => Content::Nothing(TORN),
            Err(_) => Content::Unknown,
        }
    }

    /// Writes a record; `sync` = other records will be removed afterwards.
    fn write(
        &self,
        folder: &dyn Vfs,
        cache_id: u64,
        marks: &Marks,
        sync: bool,
    ) -> io::Result<Name> {
        let body = record::write(cache_id, marks);
        if body.len() > BODY_BYTES_MAX {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let day = marks.newest().unwrap_or(0);
        for attempt in 0..ATTEMPTS {
            let name = Name { day, number: key_hash(&body).wrapping_add(attempt) & NUMBER_MASK };
            let file = match folder.create_new(&name.to_string()) {
                Ok(file) => file,
                // The same record, or the torn rest of one.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    match self.read(folder, cache_id, name) {
                        Content::Marks(_) => return Ok(name),
                        Content::Nothing(_) | Content::Unknown => continue,
                    }
                }
                Err(error) => return Err(error),
            };
            let (head, padding) = self.seal(name, &body);
            let written = file
                .append(&[&head, &body, padding])
                .and_then(|()| if sync { file.sync() } else { Ok(()) });
            let written = written.and_then(|()| if sync { folder.sync_folder() } else { Ok(()) });
            return match written {
                Ok(()) => Ok(name),
                Err(error) => {
                    let _ = file_start::remove(folder, &name.to_string());
                    Err(error)
                }
            };
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    fn seal(&self, name: Name, body: &[u8]) -> ([u8; HEAD_BYTES], &'static [u8]) {
        let place = FramePlace { file_number: name.number, offset: 0 };
        seal_parts(&self.checksum, Label::new(FrameKind::Usage, u64::from(FORMAT)), place, &[body])
    }
}

impl fmt::Debug for UsageFolder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("UsageFolder").finish_non_exhaustive()
    }
}
