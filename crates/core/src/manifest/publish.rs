//! Publishing a manifest, step by step. The order of the syncs is what a loss of power cannot break:
//! 1. the tables' bytes are synced (their writer did that);
//! 2. the manifest is written under a temporary name and synced, then the folder with the names of all of them;
//! 3. it is linked to its final name, which fails if someone was first;
//! 4. the folder is synced. Only then may anything that the new manifest does not mention be removed.
//!
//! Old manifests are removed at once: if the newest one is ever lost, an older state must not come back in its place.
//! So a number can be free again while a slow participant still aims at it; therefore whoever linked looks once more.
//! Without hard links 3 is create-if-absent, then write and sync. A manifest that is not whole yet may become so at any
//! moment; whoever publishes a higher number passes it over, and looks once more after its own name is there: of two
//! who do not know of each other, at least one finds the other's name or the other's whole manifest, and has lost.
//!
//! If a higher number exists, either that happened, or another one has published on top of ours in the meantime. Nobody
//! can tell, and nobody needs to: the answer is `Lost`, and whoever gets it starts again and deletes nothing.

use super::Manifest;
use crate::error::{Error, Result};
use crate::format::FORMAT;
use crate::format::checksum::{Checksum, FramePlace};
use crate::format::frame::{Found, FrameKind, FrameReader, seal_parts};
use crate::format::names::FileName;
use crate::planted;
use crate::vfs::{Access, Vfs};
use std::io;
use std::ops::Range;

/// Names under which something may be set aside; others may be taken.
const ASIDE_ATTEMPTS: u32 = 8;

/// Who won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    Won,
    Lost,
}

/// Publishes `manifest`, made from the manifest of number `base`, with a temporary file named after `writer`.
pub(crate) fn publish(
    vfs: &dyn Vfs,
    checksum: &Checksum,
    writer: u32,
    base: u64,
    manifest: &Manifest,
) -> Result<Published> {
    let temporary = FileName::Temporary(writer).to_string();
    let mut outcome = write_and_link(vfs, checksum, &temporary, base, manifest);
    // The number is ours, so whoever left the file lost it with the power.
    if outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
        outcome = vfs.remove(&temporary).and_then(|()| write_and_link(vfs, checksum, &temporary, base, manifest));
    }
    let outcome = outcome.map_err(|source| Error::io("publish", &format!("manifest-{}", manifest.number), source));
    let cleaned = vfs.remove(&temporary);
    let outcome = outcome?;
    match cleaned {
        Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", &temporary, source)),
        _ => {}
    }
    Ok(outcome)
}

/// With `base` 0 = with nothing beneath it, as a cache begins (`begin.rs`).
pub(super) fn write_and_link(
    vfs: &dyn Vfs,
    checksum: &Checksum,
    temporary: &str,
    base: u64,
    manifest: &Manifest,
) -> io::Result<Published> {
    let place = FramePlace { file_number: manifest.number, offset: 0 };
    let body = manifest.write();
    let (head, padding) = seal_parts(checksum, FrameKind::Manifest, u64::from(FORMAT), place, &[&body]);
    let bytes: [&[u8]; 3] = [&head, &body, padding];
    let target = FileName::Manifest(manifest.number).to_string();
    let file = vfs.create_new(temporary)?;
    file.append(&bytes)?;
    file.sync()?;
    drop(file);
    vfs.sync_folder()?;
    if newest_number(vfs)? >= manifest.number {
        return Ok(Published::Lost);
    }
    planted::panics("publish");
    match vfs.link(temporary, &target) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::Unsupported => match vfs.create_new(&target) {
            Ok(file) => {
                let rivals = if base == 0 { 1..u64::MAX } else { base + 1..manifest.number };
                if is_any_whole(vfs, checksum, rivals)? {
                    return withdraw(vfs, &target);
                }
                if let Err(error) = file.append(&bytes).and_then(|()| file.sync()) {
                    // It may be read here and be gone after a crash: nobody may take it for published.
                    withdraw(vfs, &target)?;
                    return Err(error);
                }
            }
            Err(error) => return lost_or(error),
        },
        Err(error) => {
            if error.kind() == io::ErrorKind::AlreadyExists {
                make_room(vfs, &target)?;
            }
            return lost_or(error);
        }
    }
    vfs.sync_folder()?;
    // With nothing beneath it, only what is whole may take its place: somebody may rest on it.
    let is_passed = match base {
        0 => is_any_whole(vfs, checksum, manifest.number + 1..u64::MAX)?,
        _ => newest_number(vfs)? > manifest.number,
    };
    if is_passed { withdraw(vfs, &target) } else { Ok(Published::Won) }
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

fn withdraw(vfs: &dyn Vfs, target: &str) -> io::Result<Published> {
    match vfs.remove(target) {
        // Whoever published after us has swept it away already.
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(Published::Lost),
    }
}

/// Whether a manifest of these numbers is there and arrived whole.
fn is_any_whole(vfs: &dyn Vfs, checksum: &Checksum, numbers: Range<u64>) -> io::Result<bool> {
    for number in all_numbers(vfs)?.into_iter().filter(|number| numbers.contains(number)) {
        match vfs.open(&FileName::Manifest(number).to_string(), Access::Stream) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(file) => {
                if matches!(FrameReader::new(&*file, checksum, number)?.at(0)?, Found::Frame { .. }) {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// The name is taken, or somebody cleaned our temporary file away: in both cases another one was first.
fn lost_or(error: io::Error) -> io::Result<Published> {
    match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Ok(Published::Lost),
        _ => Err(error),
    }
}

fn newest_number(vfs: &dyn Vfs) -> io::Result<u64> {
    Ok(all_numbers(vfs)?.into_iter().max().unwrap_or(0))
}

fn all_numbers(vfs: &dyn Vfs) -> io::Result<Vec<u64>> {
    let numbers = vfs.list()?.into_iter().filter_map(|name| match FileName::parse(&name) {
        Some(FileName::Manifest(number)) => Some(number),
        _ => None,
    });
    Ok(numbers.collect())
}
