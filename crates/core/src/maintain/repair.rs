//! Repairs a cache: quarantines what is damaged and keeps what is sound.
//!
//! 1. Every byte is read (`verify.rs`). A dry run ends here.
//! 2. If a log or manifest is damaged, nothing shows which keys it had, so any entry may be outdated. The cache is
//!    reset (`writer/reset.rs`).
//! 3. Damaged blobs are quarantined. Tables with a damaged block are merged around the hole (`compact.rs`), then
//!    quarantined, too. Entries in the hole are lost, and so are older entries that they may have overwritten.
//! 4. Every byte is read again. Remaining damage belongs to a writer that lives, and can be repaired once that is done.

use crate::commit::Committer;
use crate::compact::{Extent, compact};
use crate::error::{Error, Result};
use crate::format::order;
use crate::maintain::verify::{Verified, verify};
use crate::options::Watch;
use crate::platform::sync::{Mutex, RwLock};
use crate::report::{Damage, RepairReport};
use crate::state::State;
use crate::state::context::Context;
use crate::writer::reset::reset;

/// Repairs the cache. The caller holds the lock `maintenance`.
pub(crate) fn repair(
    context: &Context,
    state: &RwLock<State>,
    committer: &Mutex<Committer>,
    dry_run: bool,
    watch: Watch<'_>,
) -> Result<RepairReport> {
    let Verified { report: found, missing_blobs, unrecoverable } = verify(context, watch)?;
    let mut report = RepairReport {
        sound: found.sound,
        quarantined: damaged_files(context, &found.damage)?,
        damage: found.damage,
        unrecoverable,
        entries_before: found.entries,
        entries_after: found.entries,
        remaining: Vec::new(),
        foreign_files: Vec::new(),
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
    for file in &missing_blobs {
        // Reading a damaged blob quarantines it.
        context.blobs.read(file)?;
        context.blobs.report(file, "missing file");
    }
    compact(context, state, committer, Extent::Due, watch)?;
    let after = verify(context, watch)?.report;
    let mut quarantined = Vec::new();
    for name in std::mem::take(&mut report.quarantined) {
        let is_quarantined = name.contains('/') || is_there(context, &format!("{name}.bad"))?;
        quarantined.extend(is_quarantined.then_some(name));
    }
    report.quarantined = quarantined;
    report.sound = after.sound;
    report.entries_after = after.entries;
    report.remaining = after.damage;
    report.foreign_files = context.foreign.names();
    Ok(report)
}

/// Names of the damaged files that exist, each once.
fn damaged_files(context: &Context, damage: &[Damage]) -> Result<Vec<String>> {
    let mut names: Vec<&str> = damage
        .iter()
        .filter(|place| !place.what.starts_with("missing"))
        .map(|place| place.file.as_str())
        .collect();
    order::sort_by(&mut names, Ord::cmp);
    names.dedup();
    let mut found = Vec::new();
    for name in names {
        // Blobs are in directories below, and were read just now.
        let is_there = name.contains('/') || is_there(context, name)?;
        found.extend(is_there.then(|| name.to_owned()));
    }
    Ok(found)
}

fn is_there(context: &Context, name: &str) -> Result<bool> {
    context.vfs.exists(name).map_err(|source| Error::io("check", name, source))
}
