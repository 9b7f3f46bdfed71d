//! Publishing a manifest, step by step. The order of the syncs is what a loss of power cannot break:
//! 1. the tables' bytes are synced (their writer did that);
//! 2. the manifest is written under a temporary name and synced, then the folder with the names of all of them;
//! 3. it is linked to its final name, which fails if someone was first;
//! 4. the folder is synced. Only then may anything that the new manifest does not mention be removed.
//!
//! Old manifests are removed at once: if the newest one is ever lost, an older state must not come back in its place.
//! So a number can be free again while a slow participant still aims at it; therefore whoever linked looks once more.
//!
//! Without hard links 3 is create-if-absent, then write and sync. A name that is not whole yet may become so at any
//! moment, or never, if its owner died; whoever comes later passes it over and takes a higher number. Of two who do not
//! know of each other one wins, and nobody acts on what the other one has written:
//! - a manifest is *sure* if a list made after it was read whole has no higher name. Files are removed, and a cache is
//!   begun, on a sure one only;
//! - who has created a name, and finds one whole that he does not build on, withdraws without a byte;
//! - who has written, and finds a higher one whole, withdraws: his was never sure;
//! - who has written, and finds a higher name that is not whole, cannot tell whether its owner has seen him. Perhaps
//!   his is sure, so it stays, and he publishes the same once more above that name.
//!
//! If a higher one is whole, either that happened, or another one has published on top of ours in the meantime. Nobody
//! can tell, and nobody needs to: the answer is `Lost`, and whoever gets it starts again and deletes nothing.

use super::Manifest;
use crate::error::{Error, Result};
use crate::format::FORMAT;
use crate::format::checksum::{Checksum, FramePlace};
use crate::format::file_names::FileName;
use crate::format::frame::{Found, FrameKind, FrameReader, Label, seal_parts};
use crate::platform::failpoints;
use crate::platform::vfs::{Access, Vfs};
use std::io;
use std::ops::Range;

/// Names under which something may be set aside; others may be taken.
const ASIDE_ATTEMPTS: u32 = 8;

/// Who won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    /// Under that number.
    Won(u64),
    Lost,
}

/// Publishes `manifest`, made from the manifest of number `base`, with a temporary file named after `writer`. Says
/// under which number.
pub(crate) fn publish(
    vfs: &dyn Vfs,
    checksum: &Checksum,
    writer: u32,
    base: u64,
    manifest: Manifest,
) -> Result<Published> {
    let temporary = FileName::Temporary(writer).to_string();
    let name = FileName::Manifest(manifest.number).to_string();
    // The number is ours, so whoever left the file lost it with the power.
    remove(vfs, &temporary).map_err(|source| Error::io("remove", &temporary, source))?;
    let outcome = publish_as(vfs, checksum, &temporary, base, manifest);
    let outcome = outcome.map_err(|source| Error::io("publish", &name, source));
    let cleaned = remove(vfs, &temporary);
    let outcome = outcome?;
    cleaned.map_err(|source| Error::io("remove", &temporary, source))?;
    Ok(outcome)
}

/// What became of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placed {
    Won,
    Lost,
    /// Somebody else has the number, or a higher one, or has cleaned our temporary file away.
    Taken,
    /// There is a higher name that is not whole.
    Passed,
}

/// The same with that temporary file, which may stay behind.
pub(crate) fn publish_as(
    vfs: &dyn Vfs,
    checksum: &Checksum,
    temporary: &str,
    base: u64,
    mut manifest: Manifest,
) -> io::Result<Published> {
    let mut ours = Vec::new();
    loop {
        let below = ours.last().copied().unwrap_or(base);
        match place(vfs, checksum, temporary, below, &manifest)? {
            Placed::Won => return Ok(Published::Won(manifest.number)),
            Placed::Passed => ours.push(manifest.number),
            Placed::Taken if !ours.is_empty() => {}
            Placed::Taken | Placed::Lost => break,
        }
        let newest = newest_number(vfs)?;
        if ours.last() == Some(&newest) {
            // Who was above has seen ours and withdrawn.
            return Ok(Published::Won(newest));
        }
        manifest.number = newest + 1;
        remove(vfs, temporary)?;
    }
    ours.into_iter().try_for_each(|number| remove(vfs, &FileName::Manifest(number).to_string()))?;
    Ok(Published::Lost)
}

/// Writes the manifest under its number, unless one above `below` is whole.
fn place(vfs: &dyn Vfs, checksum: &Checksum, temporary: &str, below: u64, manifest: &Manifest) -> io::Result<Placed> {
    let place = FramePlace { file_number: manifest.number, offset: 0 };
    let body = manifest.write();
    let (head, padding) = seal_parts(checksum, Label::new(FrameKind::Manifest, u64::from(FORMAT)), place, &[&body]);
    let bytes: [&[u8]; 3] = [&head, &body, padding];
    let target = FileName::Manifest(manifest.number).to_string();
    let file = vfs.create_new(temporary)?;
    file.append(&bytes)?;
    file.sync()?;
    drop(file);
    vfs.sync_folder()?;
    if newest_number(vfs)? >= manifest.number {
        return Ok(Placed::Taken);
    }
    failpoints::panics("publish");
    let linked = match vfs.link(temporary, &target) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => match vfs.create_new(&target) {
            Ok(file) => {
                if is_any_whole(vfs, checksum, below + 1..u64::MAX)? {
                    return remove(vfs, &target).map(|()| Placed::Lost);
                }
                if let Err(error) = file.append(&bytes).and_then(|()| file.sync()) {
                    // It may be read here and be gone after a crash: nobody may take it for published.
                    remove(vfs, &target)?;
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
            return make_room(vfs, &target).map(|()| Placed::Taken);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Placed::Taken),
        linked => linked?,
    }
    vfs.sync_folder()?;
    if newest_number(vfs)? == manifest.number {
        return Ok(Placed::Won);
    }
    if is_any_whole(vfs, checksum, manifest.number + 1..u64::MAX)? {
        return remove(vfs, &target).map(|()| Placed::Lost);
    }
    Ok(Placed::Passed)
}

/// What has the name of a manifest and is no file (a folder, a link, a FIFO) would be in the way for ever: it is no
/// manifest and is not in any list. It is set aside; a file is somebody's manifest.
fn make_room(vfs: &dyn Vfs, target: &str) -> io::Result<()> {
    match vfs.open(target, Access::Stream) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            for attempt in 0..ASIDE_ATTEMPTS {
                let name = if attempt == 0 { format!("{target}.bad") } else { format!("{target}.{attempt}.bad") };
                if vfs.rename(target, &name).is_ok() {
                    return Ok(());
                }
            }
            Err(io::ErrorKind::AlreadyExists.into())
        }
        _ => Ok(()),
    }
}

/// Removes a file that somebody may have swept away already.
fn remove(vfs: &dyn Vfs, name: &str) -> io::Result<()> {
    match vfs.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a manifest of these numbers is there and arrived whole. One that vanishes meanwhile was withdrawn, or swept
/// away for a higher one: then they are listed again.
fn is_any_whole(vfs: &dyn Vfs, checksum: &Checksum, numbers: Range<u64>) -> io::Result<bool> {
    'again: loop {
        for number in all_numbers(vfs)?.into_iter().filter(|number| numbers.contains(number)) {
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

fn newest_number(vfs: &dyn Vfs) -> io::Result<u64> {
    Ok(all_numbers(vfs)?.into_iter().max().unwrap_or(0))
}

fn all_numbers(vfs: &dyn Vfs) -> io::Result<Vec<u64>> {
    Ok(vfs.list()?.iter().filter_map(|name| FileName::parse(name)?.manifest()).collect())
}
