//! Removing files that nobody needs: neither a table nor a log names them. A loss of power must never bring back an
//! entry whose file is gone: a compaction publishes durably what it drops, and logs that hide entries are synced before
//! a file is removed.
//!
//! Nobody waits for anybody, so somebody may store the same content just now, and rely on the file that is there:
//! 1. While any log says that its writer holds files, nothing is collected.
//! 2. The folders are listed, then the folder of the cache is read: what was written later is not in the list.
//! 3. What nobody names is renamed to `.<random>.gone`, a name of this collection only, so that it decides on nothing
//!    but what it has renamed itself. Who stores that content from now on finds it missing, and writes it.
//! 4. The folder of the cache is read once more. Whoever found the content before 3 had said so in his log before he
//!    looked: his hold, or by now the entry, is there, and the file gets its name back.
//! 5. The rest is removed, once the logs are durable that were read in 4. Where a collection died half way, or is just
//!    as far, the next one takes over what it has renamed; readers look there as well.

use crate::blobs::Name;
use crate::error::{Error, Result};
use crate::format::digest::Digest;
use crate::platform::failpoints;
use crate::platform::vfs::{Vfs, is_gone_or_in_use};
use crate::state::context::Context;
use crate::state::{OpenTables, State, load};
use std::collections::{BTreeSet, HashSet};
use std::io::{self, ErrorKind};

/// What the folder of the cache says about files.
struct Needed {
    named: HashSet<Digest>,
    held: bool,
    /// Writers whose logs are not folded.
    writers: HashSet<u32>,
}

/// Removes what nobody needs. Returns the number of files removed; 0 where somebody holds files, or where it cannot be
/// known what is needed. `open` are tables that are open.
pub(crate) fn collect(context: &Context, open: &OpenTables) -> Result<u64> {
    failpoints::panics("collect");
    let files = &context.files;
    let listed = files.names()?;
    if listed.is_empty() {
        files.set_collect_due(false);
        return Ok(0);
    }
    let Some(needed) = Needed::read(context, open)?.filter(|needed| !needed.held) else { return Ok(0) };
    let gone_name = |digest| Name::Gone { digest, by: context.options.random };
    let mut gone = Vec::new();
    let mut removed = 0;
    for (shard, name) in listed {
        let folder = files.shard(shard)?;
        match name {
            Name::Content(digest) if needed.named.contains(&digest) => {}
            Name::Content(digest) | Name::Gone { digest, .. } => {
                if rename(folder, name, gone_name(digest))? {
                    gone.push(digest);
                }
            }
            Name::Temporary { writer, .. } if needed.writers.contains(&writer) => {}
            Name::Temporary { .. } | Name::Bad(_) => removed += u64::from(remove(folder, name)?),
        }
    }
    let needed = if gone.is_empty() { Needed::read(context, open)? } else { Needed::read_durable(context, open)? };
    let is_needed = |digest: &Digest| needed.as_ref().is_none_or(|needed| needed.held || needed.named.contains(digest));
    for digest in gone {
        let folder = files.shard(digest.shard())?;
        if is_needed(&digest) {
            give_back(folder, gone_name(digest), Name::Content(digest))?;
        } else {
            removed += u64::from(remove(folder, gone_name(digest))?);
        }
    }
    let is_done = needed.is_some_and(|needed| !needed.held);
    files.set_collect_due(!is_done);
    Ok(removed)
}

impl Needed {
    /// `None` = some table cannot be read, so nothing is known.
    fn read(context: &Context, open: &OpenTables) -> Result<Option<Self>> {
        Self::of(&load(context, open)?)
    }

    /// The same, and it cannot be lost with the power any more.
    fn read_durable(context: &Context, open: &OpenTables) -> Result<Option<Self>> {
        let mut state = load(context, open)?;
        state.sync_others(context, None)?;
        Self::of(&state)
    }

    fn of(state: &State) -> Result<Option<Self>> {
        if state.lost {
            return Ok(None);
        }
        if state.live_tables().any(|live| live.table.directory().is_none()) {
            return Ok(None);
        }
        let files = if failpoints::bug("collect-live-file") { BTreeSet::new() } else { state.named_files() };
        let named = files.into_iter().map(|file| file.digest).collect();
        let held = state.logs.iter().any(|log| log.holds);
        Ok(Some(Self { named, held, writers: state.logs.iter().map(|log| log.writer).collect() }))
    }
}

/// A file that is needed after all gets its name back, unless the content was written anew.
fn give_back(folder: &dyn Vfs, gone: Name, content: Name) -> Result<()> {
    match folder.link(&gone.to_string(), &content.to_string()) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return rename(folder, gone, content).map(drop);
        }
        Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
        outcome => outcome.map_err(|source| Error::io("give back", &content.to_string(), source))?,
    }
    remove(folder, gone).map(drop)
}

fn rename(folder: &dyn Vfs, source: Name, target: Name) -> Result<bool> {
    let outcome = folder.rename(&source.to_string(), &target.to_string());
    is_ours(outcome).map_err(|error| Error::io("rename", &source.to_string(), error))
}

fn remove(folder: &dyn Vfs, name: Name) -> Result<bool> {
    is_ours(folder.remove(&name.to_string())).map_err(|error| Error::io("remove", &name.to_string(), error))
}

/// Someone else was faster, or has it open on a system that minds: then it waits for the next collection.
fn is_ours(outcome: io::Result<()>) -> io::Result<bool> {
    match outcome {
        Err(error) if is_gone_or_in_use(&error) => Ok(false),
        outcome => outcome.map(|()| true),
    }
}
