//! Numbers of writers, manifests or commits that are used up. No cache reaches them, so an attacker has planted them,
//! or a name was damaged. The next commit must work, so what has such a number is quarantined:
//!
//! 1. files with such a number in their name, which costs no entry if no sound file refers to them;
//! 2. if the manifest or a log has such a number inside, all files. Then the cache is created again, as after its
//!    directory was removed.
//!
//! The manifest comes last. While it is in place, no other process has created the cache again.

use crate::error::{Error, Result};
use crate::format::file_names::{FileName, MANIFESTS_MAX, WRITERS_MAX};
use crate::format::file_start::Removal;
use crate::format::sequence::is_used_up;
use crate::state::context::Context;
use crate::state::{Known, State, list, load};
use crate::writer::quarantine::{quarantine, trim};

/// Whether no number is left for a log, a manifest or a commit.
pub(crate) fn is_exhausted(state: &State) -> bool {
    state.next_writer_seen >= WRITERS_MAX
        || state.manifest_seen >= MANIFESTS_MAX
        || is_used_up(state.last_sequence)
}

/// Quarantines what has used up the numbers, unless another process has done so already.
pub(crate) fn start_over(context: &Context) -> Result<()> {
    for is_in_name in [true, false] {
        let found = load(context, &Known::default())?;
        if !is_exhausted(&found) {
            break;
        }
        let (manifests, others): (Vec<FileName>, Vec<FileName>) =
            list(context)?.into_iter().partition(|name| name.manifest().is_some());
        let file = found.manifest_file;
        let chosen =
            others.into_iter().chain(manifests).filter(|name| !is_in_name || is_beyond(name));
        for name in chosen.filter(|name| !matches!(name, FileName::Temporary(_))) {
            let text = name.to_string();
            match quarantine(context, &text, None, || file.is_in_place(&*context.vfs))? {
                Removal::Replaced => break,
                Removal::Foreign if is_beyond(&name) => {
                    return Err(Error::Foreign { name: text }.boxed());
                }
                Removal::Foreign | Removal::Removed | Removal::Missing => {}
            }
        }
        trim(context)?;
    }
    Ok(())
}

fn is_beyond(name: &FileName) -> bool {
    name.manifest().is_some_and(|number| number >= MANIFESTS_MAX)
        || name.writer_max().is_some_and(|writer| writer + 1 >= WRITERS_MAX)
}
