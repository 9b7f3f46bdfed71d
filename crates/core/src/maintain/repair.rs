//! Repairing a folder: what is damaged is set aside, what is sound stays, nothing is invented.
//!
//! 1. Every byte is read (`verify.rs`). A dry run ends here.
//! 2. A damaged log or manifest: nothing tells which keys it had, so any entry may be an old one. Everything is let go
//!    (`reset.rs`).
//! 3. Damaged contents are set aside; tables with a damaged block are merged around the hole (`compact.rs`), then they
//!    are set aside, too. Entries of the hole are lost, and so are older ones that they may have overwritten.
//! 4. Every byte is read once more. What is damaged still belongs to a writer that lives, and is healed after it is
//!    done.

use crate::commit::Committer;
use crate::compact::compact;
use crate::error::{Error, Result};
use crate::maintain::verify::{Verified, verify};
use crate::options::Watch;
use crate::platform::failpoints;
use crate::platform::sync::{Mutex, RwLock};
use crate::report::{Damage, RepairReport};
use crate::state::State;
use crate::state::context::Context;
use crate::writer::reset::reset;
use std::collections::BTreeSet;

/// The caller holds `maintenance`.
pub(crate) fn repair(
    context: &Context,
    state: &RwLock<State>,
    committer: &Mutex<Committer>,
    dry_run: bool,
    watch: Watch<'_>,
) -> Result<RepairReport> {
    let Verified { report: found, lost_files, unrecoverable } = verify(context, watch)?;
    let mut report = RepairReport {
        sound: found.sound,
        quarantined: damaged_files(context, &found.damage)?,
        damage: found.damage,
        unrecoverable,
        entries_before: found.entries,
        entries_after: found.entries,
        remaining: Vec::new(),
    };
    if found.sound || dry_run {
        return Ok(report);
    }
    for place in &report.damage {
        context.damage.add(place.clone());
    }
    if unrecoverable {
        let _no_commit = committer.lock()?;
        reset(context, state)?;
    }
    for file in &lost_files {
        // Reading sets aside what is damaged.
        context.files.read(file)?;
        context.files.note(file, "missing file");
    }
    if !failpoints::bug("repair-without-merge") {
        compact(context, state, committer, false, watch)?;
    }
    let after = verify(context, watch)?.report;
    let mut quarantined = Vec::new();
    for name in std::mem::take(&mut report.quarantined) {
        let is_aside = name.contains('/') || is_there(context, &format!("{name}.bad"))?;
        quarantined.extend(is_aside.then_some(name));
    }
    report.quarantined = quarantined;
    report.sound = after.sound;
    report.entries_after = after.entries;
    report.remaining = after.damage;
    Ok(report)
}

/// Names of the damaged files that are there, each once.
fn damaged_files(context: &Context, damage: &[Damage]) -> Result<Vec<String>> {
    let names: BTreeSet<&str> =
        damage.iter().filter(|place| !place.what.starts_with("missing")).map(|place| place.file.as_str()).collect();
    let mut found = Vec::new();
    for name in names {
        // Contents are in folders below, and were read just now.
        let is_there = name.contains('/') || is_there(context, name)?;
        found.extend(is_there.then(|| name.to_owned()));
    }
    Ok(found)
}

fn is_there(context: &Context, name: &str) -> Result<bool> {
    context.vfs.exists(name).map_err(|source| Error::io("look for", name, source))
}
