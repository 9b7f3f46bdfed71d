//! Claims logs that get no more commits, and reads them to their end.

use crate::commit::Committer;
use crate::commit::reload::keep_newer;
use crate::error::{Error, Result};
use crate::format::digest::BlobRef;
use crate::format::file_names::FileName;
use crate::format::file_start::{FileStart, start_of};
use crate::log::Stop;
use crate::platform::failpoints;
use crate::platform::sync::{Mutex, RwLock};
use crate::platform::vfs::is_gone_or_in_use;
use crate::state::context::Context;
use crate::state::{Layers, LogView, MemtableEntry, Namespace, State, list, load, renew_copy};
use crate::table::Table;
use std::collections::BTreeSet;

/// What a compaction works on: a state of its own, independent of the visible one.
#[derive(Debug)]
pub(crate) struct ClaimedLogs {
    pub(crate) state: State,
    /// Writers whose logs are claimed and will be checkpointed.
    pub(crate) writers: BTreeSet<u32>,
    /// No other log existed after the last one was claimed, so every later commit is newer than these entries.
    pub(crate) alone: bool,
    /// Blobs that entries name and that are damaged or missing.
    pub(crate) missing: BTreeSet<BlobRef>,
}

/// A process without locks cannot detect which writers with a lock live. It leaves this many of their newest logs and
/// claims the others. A writer that lives notices this after its next append and commits in a new log (`commit.rs`).
/// This costs a few calls and never a commit.
const UNTESTED_LOGS_LEFT: usize = 8;

/// The logs that a compaction leaves to others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// A log whose writer is about to write the start.
    pub(crate) unbegun: bool,
    /// A log that another process has claimed, as long as that one lives.
    pub(crate) claimed: bool,
}

/// Seals the log of this process and finds the logs that can be claimed. The result keeps their locks. `claim` is the
/// number under which the compaction itself writes.
pub(crate) fn survey(
    context: &Context,
    state: &RwLock<State>,
    committer: &Mutex<Committer>,
    claim: Option<u32>,
    patience: Patience,
) -> Result<ClaimedLogs> {
    let layers = state.read()?.layers.clone();
    let state = over_layers(sealed(context, state, committer)?, layers);
    let (mut writers, mut untested) = (BTreeSet::new(), Vec::new());
    // Without a lock, the log of this process looks claimable; its pin would be lost with it.
    let pinning = committer.lock()?.pinning_writer();
    let is_ours = |writer| Some(writer) == claim || Some(writer) == pinning;
    for view in state.logs.iter().filter(|view| !is_ours(view.writer)) {
        let is_free = match view.name {
            FileName::Claimed { .. } => is_taken_over(context, &state, view, claim, patience)?,
            _ if is_not_ours(context, view)? => false,
            _ => view.is_done()? || !patience.unbegun && view.start().is_none(),
        };
        if is_free {
            writers.insert(view.writer);
        } else if matches!(view.name, FileName::Log(_)) && !view.is_lock_testable() {
            untested.extend((!is_not_ours(context, view)?).then_some(view.writer));
        }
    }
    untested.sort_unstable();
    untested.truncate(untested.len().saturating_sub(UNTESTED_LOGS_LEFT));
    writers.extend(untested);
    Ok(ClaimedLogs::new(state, writers, claim, context.blobs.missing()?))
}

/// Whether Varve did not write a file with the name of a log. It is too short to be a damaged log, and stays.
fn is_not_ours(context: &Context, view: &LogView) -> Result<bool> {
    if view.start().is_some() {
        return Ok(false);
    }
    let name = view.name.to_string();
    let start = start_of(&*view.file).map_err(|source| Error::io("read", &name, source))?;
    if start == FileStart::Foreign {
        context.foreign.add(&name);
    }
    Ok(start == FileStart::Foreign)
}

/// A state over the layers of this process. If it has none and other processes had some, it does not know which keys
/// those have, so every delete stays.
fn over_layers(state: State, layers: Layers) -> State {
    let mut starts = state.logs.iter().filter_map(LogView::start);
    let is_layered = state.manifest.layered || starts.any(|start| start.layered);
    state.over(if layers.is_empty() && is_layered { Layers::unknown() } else { layers })
}

/// The newest state, with the log of this process sealed. If only new commits were added, the loaded state is extended.
/// Commits wait only for what was appended meanwhile, and then know as much as this state. The visible one does not
/// change.
fn sealed(context: &Context, state: &RwLock<State>, committer: &Mutex<Committer>) -> Result<State> {
    let mut newest = state.read()?.newest().snapshot();
    let changed_before = renew_copy(context, &mut newest)?;
    let mut committer = committer.lock()?;
    committer.seal(context, state)?;
    let changed = renew_copy(context, &mut newest)? || changed_before;
    if changed && !newest.unrecoverable {
        keep_newer(state, newest.snapshot())?;
    }
    Ok(newest)
}

/// Whether a compaction checkpoints a claimed log: its own, or that of a process that has ended. Otherwise each of
/// several compactors would write the entries of all.
fn is_taken_over(
    context: &Context,
    state: &State,
    view: &LogView,
    claim: Option<u32>,
    patience: Patience,
) -> Result<bool> {
    let FileName::Claimed { by, .. } = view.name else { return Ok(false) };
    // No process waits for another one with what the disk may lack.
    if !patience.claimed || Some(by) == claim || context.failed_syncs.has(view.writer) {
        return Ok(true);
    }
    let claimer = state.logs.iter().find(|log| log.name == FileName::Log(by));
    claimer.map_or(Ok(true), |log| Ok(log.is_done()? || !log.is_lock_testable()))
}

/// Claims the logs of the survey by renaming them. The new name contains the number of this process. The old name may
/// already belong to a slow writer that tries the number; renaming that log must not replace a claimed one.
pub(crate) fn claim_logs(
    context: &Context,
    mut surveyed: ClaimedLogs,
    claim: u32,
    patience: Patience,
) -> Result<ClaimedLogs> {
    failpoints::panics("take");
    let mut complete = true;
    for view in
        surveyed.state.logs.iter_mut().filter(|view| surveyed.writers.contains(&view.writer))
    {
        if matches!(view.name, FileName::Log(_)) {
            let (source, name) =
                (view.name.to_string(), FileName::Claimed { writer: view.writer, by: claim });
            let target = name.to_string();
            if context.vfs.exists(&target).map_err(|error| Error::io("check", &target, error))? {
                complete = false;
                continue;
            }
            match context.vfs.rename(&source, &target) {
                Ok(()) => view.name = name,
                // Another process has the log open on a system that locks open files: leave it for now.
                Err(error) if is_gone_or_in_use(&error) => complete = false,
                Err(error) => return Err(Error::io("claim", &source, error)),
            }
        }
        complete &= view.stop == Stop::Sealed;
    }
    if complete && nothing_new(context, &surveyed.state, claim)? {
        return Ok(ClaimedLogs::new(
            surveyed.state,
            surveyed.writers,
            Some(claim),
            surveyed.missing,
        ));
    }
    // Load again what was appended before each log lost its name.
    let state = over_layers(load(context, &surveyed.state.known())?, surveyed.state.layers.clone());
    let mut writers = BTreeSet::new();
    for view in &state.logs {
        if is_taken_over(context, &state, view, Some(claim), patience)? {
            writers.insert(view.writer);
        }
    }
    Ok(ClaimedLogs::new(state, writers, Some(claim), surveyed.missing))
}

/// Whether the directory has the logs and the manifest of the survey, and the log of this process. Logs that were
/// sealed then are complete. What other writers append to open logs is newer than all of this and stays there.
fn nothing_new(context: &Context, state: &State, claim: u32) -> Result<bool> {
    Ok(list(context)?.into_iter().all(|name| match name {
        FileName::Manifest(number) => number <= state.manifest.number,
        name => name.log_writer().is_none_or(|writer| {
            writer == claim
                || !state.manifest.is_open(writer)
                || state.logs.iter().any(|view| view.name == name)
        }),
    }))
}

impl ClaimedLogs {
    fn new(
        state: State,
        writers: BTreeSet<u32>,
        claim: Option<u32>,
        missing: BTreeSet<BlobRef>,
    ) -> Self {
        let alone = state
            .logs
            .iter()
            .all(|view| writers.contains(&view.writer) || Some(view.writer) == claim);
        Self { state, writers, alone, missing }
    }

    /// *Next writer* of the next manifest: above the number of this process and those of the claimed logs, and never
    /// lower than before. Every lower number was created before these, so the list of logs, which was made later,
    /// contains them all.
    pub(crate) fn next_writer(&self, own: u32) -> u32 {
        let done = self.writers.iter().copied().fold(own, u32::max);
        self.state.manifest.next_writer.max(done + 1)
    }

    /// Whether a log below *next writer* has no whole start yet. The next manifest could not list it.
    pub(crate) fn has_unbegun(&self, context: &Context, own: u32) -> Result<bool> {
        let next = self.next_writer(own);
        for view in self.state.logs.iter().filter(|view| view.writer < next) {
            let is_unbegun = view.start().is_none() && matches!(view.name, FileName::Log(_));
            if is_unbegun && !is_not_ours(context, view)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a table may be merged: the manifest names it, or the log that attached it is claimed.
    pub(crate) fn may_merge(&self, attached_by: Option<u32>) -> bool {
        attached_by.is_none_or(|writer| self.writers.contains(&writer))
    }

    /// Memtable entries of one namespace from the claimed logs, in order of arrival.
    pub(crate) fn entries<'a>(
        &'a self,
        namespace: &'a Namespace,
    ) -> impl Iterator<Item = (u32, MemtableEntry<'a>)> {
        self.state
            .memtable_entries(namespace)
            .filter(|(_, found)| self.writers.contains(&found.writer))
    }

    /// Memtable entries of one namespace from the other logs.
    pub(crate) fn open_entries<'a>(
        &'a self,
        namespace: &'a Namespace,
    ) -> impl Iterator<Item = (u32, MemtableEntry<'a>)> {
        self.state
            .memtable_entries(namespace)
            .filter(|(_, found)| !self.writers.contains(&found.writer))
    }

    pub(crate) fn names_missing_blobs(&self, table: &Table) -> bool {
        let names_missing = || {
            table
                .directory()
                .is_some_and(|all| all.blobs().any(|file| self.missing.contains(&file)))
        };
        !self.missing.is_empty() && table.meta.blob_bytes > 0 && names_missing()
    }

    /// Bytes of all tables and logs that go into the next manifest.
    pub(crate) fn bytes(&self) -> u64 {
        let tables = self.state.live_tables().filter(|live| self.may_merge(live.attached_by));
        tables.map(|live| live.table.meta.bytes).sum::<u64>() + self.log_bytes()
    }

    /// Those bytes and the bytes of the blobs that tables name.
    pub(crate) fn total_bytes(&self) -> u64 {
        let tables = self.state.live_tables().filter(|live| self.may_merge(live.attached_by));
        self.bytes().saturating_add(tables.map(|live| live.table.meta.blob_bytes).sum())
    }

    pub(crate) fn log_bytes(&self) -> u64 {
        self.state
            .logs
            .iter()
            .filter(|view| self.writers.contains(&view.writer))
            .map(|view| view.end)
            .sum()
    }
}
