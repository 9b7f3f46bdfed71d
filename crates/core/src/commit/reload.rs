//! Moving from one state of the cache to a newer one. What a process sees changes only when a handle asks for it:
//!
//! 1. `renew`, for a handle that refreshes or whose commit found the directory changed, loads the directory and makes
//!    the result visible.
//! 2. `reload`, after a compaction, makes the new state visible only if lookups give the same results in it, so that
//!    only files and memory changed. Otherwise the new state is kept beside the visible one and receives own commits,
//!    too. The files of the visible state are open, so they can be read after their removal.
//! 3. `look_ahead`, for a handle that opens the cache, loads the directory if it has changed, and keeps the result
//!    beside the visible state.
//! 4. `advance` makes that state visible when a handle begins a commit, refreshes, or has opened the cache. It may run
//!    on JavaScript's thread, so the old state is left to `Replaced::drop`: unmapping or closing a large removed file
//!    takes as long as removing it.

use crate::commit::Committer;
use crate::error::Result;
use crate::format::file_names::TableName;
use crate::platform::sync::{Mutex, RwLock};
use crate::state::context::Context;
use crate::state::record_usage::keep_reads;
use crate::state::{State, is_behind, load, renew_copy};
use std::collections::HashSet;
use std::sync::PoisonError;

/// The state that `advance` replaced last.
#[derive(Debug, Default)]
pub(crate) struct Replaced {
    last: Mutex<Option<ReplacedState>>,
}

/// A replaced state, and the names of the tables that its successor shares.
#[derive(Debug)]
pub(crate) struct ReplacedState {
    state: State,
    kept: HashSet<TableName>,
}

/// Replaces the state by the newest one. The caller prevents commits of this process meanwhile.
pub(crate) fn renew(context: &Context, state: &RwLock<State>) -> Result<()> {
    let known = state.read()?.known();
    let fresh = load(context, &known)?;
    let old = replace(&mut *state.write()?, fresh);
    old.drop(context);
    Ok(())
}

/// Loads what a compaction has published; see `State::is_same_as`. Commits wait only for what was appended meanwhile.
pub(crate) fn reload(
    context: &Context,
    state: &RwLock<State>,
    committer: &Mutex<Committer>,
    merged: Option<(&State, u64)>,
) -> Result<()> {
    let known = state.read()?.known();
    let mut fresh = load(context, &known)?;
    let _no_commit = committer.lock()?;
    renew_copy(context, &mut fresh)?;
    let is_same = fresh.is_same_as(&*state.read()?, merged);
    if !is_same {
        return keep_newer(state, fresh);
    }
    let old = replace(&mut *state.write()?, fresh);
    old.drop(context);
    Ok(())
}

/// Loads the newest state if this one is behind it, without making it visible.
pub(crate) fn look_ahead(
    context: &Context,
    state: &RwLock<State>,
    committer: &Mutex<Committer>,
) -> Result<()> {
    let _no_commit = committer.lock()?;
    let known = {
        let state = state.read()?;
        if !is_behind(context, state.newest())? {
            return Ok(());
        }
        state.known()
    };
    keep_newer(state, load(context, &known)?)
}

/// Keeps a newer state beside the visible one. The caller prevents commits of this process meanwhile.
pub(crate) fn keep_newer(state: &RwLock<State>, fresh: State) -> Result<()> {
    let mut state = state.write()?;
    let fresh = fresh.over(state.layers.clone());
    // Later commits of this process are newer than everything that it has read.
    state.last_sequence = state.last_sequence.max(fresh.last_sequence);
    let before = state.newer.replace(Box::new(fresh));
    drop(state);
    drop(before);
    Ok(())
}

/// Makes the newer state visible. `true` = there was one.
pub(crate) fn advance(
    context: &Context,
    state: &RwLock<State>,
    replaced: &Replaced,
) -> Result<bool> {
    if state.read()?.newer.is_none() {
        return Ok(false);
    }
    let mut state = state.write()?;
    let Some(fresh) = state.newer.take() else { return Ok(false) };
    let old = replace(&mut state, *fresh);
    drop(state);
    let before = replaced.last.lock().unwrap_or_else(PoisonError::into_inner).replace(old);
    before.into_iter().for_each(|old| old.drop(context));
    Ok(true)
}

impl Replaced {
    /// Drops the replaced state.
    pub(crate) fn drop(&self, context: &Context) {
        let old = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        old.into_iter().for_each(|old| old.drop(context));
    }
}

impl ReplacedState {
    /// Drops the state and keeps the usage of what was read in it.
    pub(crate) fn drop(self, context: &Context) {
        keep_reads(context, &self.state, &self.kept);
    }
}

/// Replaces the state, except its layers, and returns the old one.
pub(crate) fn replace(state: &mut State, mut fresh: State) -> ReplacedState {
    // Those of `fresh` may be older: blocks may have been dropped since.
    fresh.layers = std::mem::take(&mut state.layers);
    let kept = fresh.live_tables().map(|live| live.table.meta.name).collect();
    ReplacedState { state: std::mem::replace(state, fresh), kept }
}
