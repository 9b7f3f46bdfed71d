//! Collecting blobs that no table and no log names; FORMAT.md, "The protocol", section 9. A power failure must never
//! restore an entry whose blob is gone. So a compaction publishes durably what it drops, and the collector syncs logs
//! that hide entries before it removes a blob.
//!
//! ```text
//!  pins? -> list -> load -> rename to .gone -> load again: named or pinned? -> sync logs -> remove
//!  1        2       2       3                  4 | yes: link back, sync        5
//! ```
//! A writer may store the same content at the same time and rely on the existing file:
//! 1. While the log of any writer pins blobs, the collector collects nothing.
//! 2. The collector lists the directories of blobs, then loads the state. Blobs written later are not in the list.
//! 3. It renames blobs that no entry names to `.<random>.gone`. The random number is its own, so it only decides on
//!    blobs that it has renamed itself. A writer that stores that content from now on finds it missing and writes it.
//! 4. It loads the state again. A writer that found the content before step 3 had pinned it first. So the pin, or by
//!    now the entry, is in its log. The collector gives the blob its name back, durably, and then removes the
//!    other one.
//! 5. It removes the rest once the logs read in step 4 are durable. If another collection died half way or runs at the
//!    same time, the next one continues with the blobs it has renamed. Readers find them under that name, too.

use crate::blobs::BlobName;
use crate::error::{Error, Result};
use crate::format::digest::Digest;
use crate::platform::failpoints;
use crate::platform::vfs::{Vfs, is_gone_or_in_use};
use crate::state::context::Context;
use crate::state::{Known, State, load};
use std::collections::HashSet;
use std::io::{self, ErrorKind};

/// What the state of the cache requires of blobs.
struct Needed {
    named: HashSet<Digest>,
    pinned: bool,
    /// Writers whose logs are open.
    writers: HashSet<u32>,
}

/// Removes obsolete blobs. Returns the number of files removed; 0 if blobs are pinned, or if a table cannot be read.
/// What is `known` is not read again.
pub(crate) fn collect(context: &Context, known: &Known) -> Result<u64> {
    failpoints::panics("collect");
    let blobs = &context.blobs;
    let listed = blobs.names()?;
    if listed.is_empty() {
        blobs.set_collect_due(false);
        return Ok(0);
    }
    let Some(needed) = Needed::read(context, known)?.filter(|needed| !needed.pinned) else {
        return Ok(0);
    };
    let gone_name = |digest| BlobName::Gone { digest, by: context.options.random };
    let mut gone = Vec::new();
    let mut removed = 0;
    for (shard, name) in listed {
        let folder = blobs.shard(shard)?;
        match name {
            BlobName::Content(digest) if needed.named.contains(&digest) => {}
            BlobName::Content(digest) | BlobName::Gone { digest, .. } => {
                if rename(folder, name, gone_name(digest))? {
                    gone.push(digest);
                }
            }
            BlobName::Temporary { writer, .. } if needed.writers.contains(&writer) => {}
            BlobName::Temporary { .. } | BlobName::Bad(_) => {
                removed += u64::from(blobs.remove(shard, name)?)
            }
        }
    }
    let needed = if gone.is_empty() {
        Needed::read(context, known)?
    } else {
        Needed::read_durable(context, known)?
    };
    let is_needed = |digest: &Digest| {
        needed.as_ref().is_none_or(|needed| needed.pinned || needed.named.contains(digest))
    };
    let (kept, obsolete): (Vec<Digest>, Vec<Digest>) = gone.into_iter().partition(is_needed);
    for digest in &kept {
        restore_name(blobs.shard(digest.shard())?, gone_name(*digest), BlobName::Content(*digest))?;
    }
    // Otherwise a power failure could take the names that were restored, and not those that are removed now.
    blobs.sync_these(&*context.pool, &kept)?;
    for digest in kept {
        blobs.remove(digest.shard(), gone_name(digest))?;
    }
    for digest in obsolete {
        removed += u64::from(blobs.remove(digest.shard(), gone_name(digest))?);
    }
    let is_done = needed.is_some_and(|needed| !needed.pinned);
    blobs.set_collect_due(!is_done);
    Ok(removed)
}

impl Needed {
    /// Reads what is needed. `None` = a table cannot be read, or there is no manifest, so that is unknown.
    fn read(context: &Context, known: &Known) -> Result<Option<Self>> {
        Self::of(&load(context, known)?)
    }

    /// Reads what is needed and syncs the logs, so that it survives a power failure.
    fn read_durable(context: &Context, known: &Known) -> Result<Option<Self>> {
        let mut state = load(context, known)?;
        state.sync_others(context, None)?;
        Self::of(&state)
    }

    fn of(state: &State) -> Result<Option<Self>> {
        // Without a manifest, the files may not be blobs of Varve.
        if state.unrecoverable || state.manifest.number == 0 {
            return Ok(None);
        }
        if state.live_tables().any(|live| live.table.directory().is_none()) {
            return Ok(None);
        }
        let blobs = state.named_blobs();
        let named = blobs.into_iter().map(|blob| blob.digest).collect();
        let pinned = state.logs.iter().any(|log| log.pins);
        Ok(Some(Self { named, pinned, writers: state.logs.iter().map(|log| log.writer).collect() }))
    }
}

/// Gives a blob that is still needed its name back, unless its content was written again.
fn restore_name(folder: &dyn Vfs, gone: BlobName, content: BlobName) -> Result<()> {
    match folder.link(&gone.to_string(), &content.to_string()) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            rename(folder, gone, content).map(drop)
        }
        Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {
            Ok(())
        }
        outcome => outcome.map_err(|source| Error::io("restore", &content.to_string(), source)),
    }
}

fn rename(folder: &dyn Vfs, source: BlobName, target: BlobName) -> Result<bool> {
    let outcome = folder.rename(&source.to_string(), &target.to_string());
    is_ours(outcome).map_err(|error| Error::io("rename", &source.to_string(), error))
}

/// `false` = another process was faster, or has the file open on a system that locks open files. The next collection
/// tries again.
fn is_ours(outcome: io::Result<()>) -> io::Result<bool> {
    match outcome {
        Err(error) if is_gone_or_in_use(&error) => Ok(false),
        outcome => outcome.map(|()| true),
    }
}
