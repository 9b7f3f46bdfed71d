//! Publishing a manifest; FORMAT.md, "The protocol", section 5. The publisher is a compactor, or the writer that
//! creates or resets a cache.
//!
//! ```text
//!  tables:   temporary manifest:   directory:   base in place? link to   directory:
//!  sync ---> write, sync --------> sync ------> manifest-<n+1> --------> sync -----> list -> won
//!  1         2                     2            3 | no, or name exists   4           5 | a higher one is whole
//!                                                 +-------------------> lost <---------+
//! ```
//! 1. The publisher has synced the bytes of its tables.
//! 2. It writes the manifest under a temporary name and syncs it, then the directory with the names of the tables and
//!    the manifest.
//! 3. It checks that the manifest that it builds on is in place, and links the temporary file to `manifest-<n+1>`,
//!    which fails if that name exists. The directory may have been removed and the cache created again: before the
//!    check, that manifest is another file, and after it, the temporary file is gone.
//! 4. It syncs the directory.
//! 5. It lists the directory again. If its manifest is there and no higher one is whole, it has won, and may remove
//!    what its manifest does not mention. If its manifest is gone, it was removed from outside: the publisher has lost,
//!    because another process may have created the cache again.
//!
//! Old manifests are removed at once, so that no older state can replace a lost newest one. A number may therefore be
//! free again while a slow publisher still uses it.
//!
//! The order of the syncs protects against a power failure. No manifest survives without its tables, and no file is
//! removed before the manifest that replaces it is durable.
//!
//! Without hard links, step 3 creates the name if it is absent, writes and syncs. A name that is not whole may become
//! whole at any moment, or never if its publisher died; later publishers use a higher number. A manifest is *sure* if a
//! list made after it was read whole has no higher name. A process removes files, or begins a log, only on a sure
//! manifest. Of two publishers that do not see each other, exactly one wins:
//! - A publisher that has created a name, and finds a whole manifest that it does not build on, withdraws before it
//!   writes.
//! - A publisher that has written, and finds a whole manifest with a higher number, withdraws: its own was never sure.
//! - A publisher that has written, and finds a higher name that is not whole, cannot know whether the other publisher
//!   has seen its manifest. It keeps that manifest, which may be sure, and publishes it again above the other name.
//!
//! A whole manifest with a higher number may also build on the one just published. The publisher does not distinguish
//! the two: it reports `Lost`, removes nothing else, and the caller begins again.

use super::{Manifest, ManifestFile};
use crate::error::{Error, Result};
use crate::format::FORMAT;
use crate::format::checksum::{Checksum, FramePlace};
use crate::format::file_names::{FileName, highest_manifest};
use crate::format::file_start;
use crate::format::frame::{Found, FrameKind, FrameReader, Label, seal_parts};
use crate::platform::failpoints;
use crate::platform::vfs::{Access, Vfs};
use std::io;
use std::ops::Range;

/// How many names are tried for the quarantine of what is in the way.
const QUARANTINE_ATTEMPTS: u32 = 8;

/// The outcome of publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    /// Published under this number.
    Won(u64),
    Lost,
}

/// Publishes `manifest`, which builds on `base`, through a temporary file named after `writer`.
pub(crate) fn publish(
    vfs: &dyn Vfs,
    checksum: &Checksum,
    writer: u32,
    base: ManifestFile,
    manifest: Manifest,
) -> Result<Published> {
    let temporary = FileName::Temporary(writer).to_string();
    let name = FileName::Manifest(manifest.number).to_string();
    // The number belongs to this process; a process that left the file died in a power failure.
    remove(vfs, &temporary).map_err(|source| Error::io("remove", &temporary, source))?;
    let outcome = publish_as(vfs, checksum, &temporary, base, manifest);
    let outcome = outcome.map_err(|source| Error::io("publish", &name, source));
    let cleaned = remove(vfs, &temporary);
    let outcome = outcome?;
    cleaned.map_err(|source| Error::io("remove", &temporary, source))?;
    Ok(outcome)
}

/// The outcome for one number.
#[derive(Clone, Copy, Debug)]
enum Placed {
    Won,
    Lost,
    /// Another publisher has this number or a higher one, or has removed the temporary file.
    Exists,
    /// There is a higher name that is not whole; this file is below it.
    Passed(ManifestFile),
}

/// Publishes through that temporary file, which may stay behind.
pub(crate) fn publish_as(
    vfs: &dyn Vfs,
    checksum: &Checksum,
    temporary: &str,
    base: ManifestFile,
    mut manifest: Manifest,
) -> io::Result<Published> {
    let mut ours: Vec<ManifestFile> = Vec::new();
    loop {
        // From the second time on, it builds on what it has published itself.
        let (below, base) =
            ours.last().map_or((base.number, base), |last| (last.number, ManifestFile::default()));
        match place(vfs, checksum, temporary, below, base, &manifest)? {
            Placed::Won => return Ok(Published::Won(manifest.number)),
            Placed::Passed(file) => ours.push(file),
            Placed::Exists if !ours.is_empty() => {}
            Placed::Exists | Placed::Lost => break,
        }
        let names = list(vfs)?;
        let newest = highest_manifest(&names);
        match ours.last() {
            // The publisher of the higher name has seen ours and withdrawn.
            Some(last) if last.number == newest => return Ok(Published::Won(newest)),
            Some(last) if !names.contains(&FileName::Manifest(last.number)) => break,
            _ => {}
        }
        manifest.number = newest + 1;
        remove(vfs, temporary)?;
    }
    ours.into_iter().try_for_each(|file| withdraw(vfs, file))?;
    Ok(Published::Lost)
}

/// The bytes of a manifest's file.
pub(crate) fn encode(checksum: &Checksum, manifest: &Manifest) -> Vec<u8> {
    let place = FramePlace { file_number: manifest.number, offset: 0 };
    let body = manifest.write();
    let (head, padding) =
        seal_parts(checksum, Label::new(FrameKind::Manifest, u64::from(FORMAT)), place, &[&body]);
    [&head, &*body, padding].concat()
}

/// Writes the manifest under its number unless one above `below` is whole, or `base` is not in place.
fn place(
    vfs: &dyn Vfs,
    checksum: &Checksum,
    temporary: &str,
    below: u64,
    base: ManifestFile,
    manifest: &Manifest,
) -> io::Result<Placed> {
    let bytes = encode(checksum, manifest);
    let bytes: [&[u8]; 1] = [&bytes];
    let target = FileName::Manifest(manifest.number).to_string();
    let file = vfs.create_new(temporary)?;
    file.append(&bytes)?;
    file.sync()?;
    drop(file);
    vfs.sync_folder()?;
    if highest_manifest(&list(vfs)?) + 1 != manifest.number {
        return Ok(Placed::Exists);
    }
    failpoints::panics("publish");
    if !base.is_in_place(vfs)? {
        return Ok(Placed::Lost);
    }
    let linked = match vfs.link(temporary, &target) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => match vfs.create_new(&target) {
            Ok(file) => {
                let empty = stat_of(vfs, manifest.number)?;
                if is_any_whole(vfs, checksum, below + 1..u64::MAX)? || !base.is_in_place(vfs)? {
                    return withdraw(vfs, empty).map(|()| Placed::Lost);
                }
                if let Err(error) = file.append(&bytes).and_then(|()| file.sync()) {
                    // Readers see it now, but it may be gone after a crash: remove it, so that it never counts as
                    // published. While it is open, no other file is this one.
                    let found = stat_of(vfs, manifest.number)?;
                    withdraw(vfs, if found.stat.file == empty.stat.file { found } else { empty })?;
                    return Err(error);
                }
                Ok(())
            }
            Err(error) => Err(error),
        },
        linked => linked,
    };
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return clear_name(vfs, &target).map(|()| Placed::Exists);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Placed::Exists),
        linked => linked?,
    }
    let ours = stat_of(vfs, manifest.number)?;
    vfs.sync_folder()?;
    let names = list(vfs)?;
    if !names.contains(&FileName::Manifest(manifest.number)) {
        return Ok(Placed::Lost);
    }
    if highest_manifest(&names) == manifest.number {
        return Ok(Placed::Won);
    }
    if is_any_whole(vfs, checksum, manifest.number + 1..u64::MAX)? {
        return withdraw(vfs, ours).map(|()| Placed::Lost);
    }
    Ok(Placed::Passed(ours))
}

/// Quarantines a directory, a link or a FIFO under the name of a manifest, which no list contains and which would block
/// the name for ever. A regular file is another publisher's manifest and stays.
fn clear_name(vfs: &dyn Vfs, target: &str) -> io::Result<()> {
    match vfs.open(target, Access::Stream) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            for attempt in 0..QUARANTINE_ATTEMPTS {
                let name = if attempt == 0 {
                    format!("{target}.bad")
                } else {
                    format!("{target}.{attempt}.bad")
                };
                if vfs.rename(target, &name).is_ok() {
                    return Ok(());
                }
            }
            Err(io::ErrorKind::AlreadyExists.into())
        }
        _ => Ok(()),
    }
}

/// The file that has the name of this manifest now.
fn stat_of(vfs: &dyn Vfs, number: u64) -> io::Result<ManifestFile> {
    let stat = vfs.stat(&FileName::Manifest(number).to_string())?;
    Ok(ManifestFile { number, stat: stat.unwrap_or_default() })
}

/// Removes a manifest of this publisher, unless its name has another file by now: the directory was removed, and the
/// cache created again.
fn withdraw(vfs: &dyn Vfs, file: ManifestFile) -> io::Result<()> {
    file_start::remove_if(vfs, &file.name(), || file.is_in_place(vfs)).map(drop)
}

/// Removes a file of Varve; another process may have removed it already.
fn remove(vfs: &dyn Vfs, name: &str) -> io::Result<()> {
    file_start::remove(vfs, name).map(drop)
}

/// Whether a manifest of these numbers exists and is whole. If one vanishes meanwhile, it was withdrawn or replaced by
/// a higher one, and the directory is listed again.
fn is_any_whole(vfs: &dyn Vfs, checksum: &Checksum, numbers: Range<u64>) -> io::Result<bool> {
    'again: loop {
        let listed = list(vfs)?.into_iter().filter_map(FileName::manifest);
        for number in listed.filter(|number| numbers.contains(number)) {
            let file = match vfs.open(&FileName::Manifest(number).to_string(), Access::Stream) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue 'again,
                file => file?,
            };
            if matches!(FrameReader::new(&*file, checksum, number)?.at(0)?, Found::Frame { .. }) {
                return Ok(true);
            }
        }
        return Ok(false);
    }
}

fn list(vfs: &dyn Vfs) -> io::Result<Vec<FileName>> {
    Ok(vfs.list()?.iter().filter_map(|name| FileName::parse(name)).collect())
}
