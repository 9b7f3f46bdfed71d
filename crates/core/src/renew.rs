//! Moving from one state of the folder to a newer one. What a process sees changes only where a handle asks for it:
//!
//! 1. `renew`, for a handle that refreshes, reads the folder again and makes that visible.
//! 2. `reload`, after a compaction, makes the new state visible only if lookups find the same in it: then nothing but
//!    files and memory changed. Else it lies aside, with own commits added, and the old one stays visible; its files are
//!    open, so they can be read even where they have been removed.
//! 3. `look_ahead`, for a handle that opens the cache, reads the folder again if something changed, likewise aside.
//! 4. `advance` makes visible what lies aside: a handle begins a commit, refreshes or has opened the cache.

use crate::commit::Committer;
use crate::context::Context;
use crate::error::Result;
use crate::planted;
use crate::record_uses::keep_reads;
use crate::state::{State, is_behind, load};
use crate::sync::{Mutex, RwLock};

/// Replaces the state by the newest one. The caller admits no commit of this process meanwhile.
pub(crate) fn renew(context: &Context, state: &RwLock<State>) -> Result<()> {
    let open = state.read()?.tables();
    let fresh = load(context, &open)?;
    replace(context, state, |_| Some(fresh)).map(drop)
}

/// Takes up what a compaction has published; see `State::is_same_as`.
pub(crate) fn reload(
    context: &Context,
    state: &RwLock<State>,
    committer: &Mutex<Committer>,
    merged: Option<(&State, u64)>,
) -> Result<()> {
    let _no_commit = committer.lock()?;
    let open = state.read()?.tables();
    let fresh = load(context, &open)?;
    let is_same = fresh.is_same_as(&*state.read()?, merged) || planted::bug("compaction-takes-up-commits");
    if is_same { replace(context, state, |_| Some(fresh)).map(drop) } else { set_aside(state, fresh) }
}

/// Loads the newest state if this one is behind it, without making it visible.
pub(crate) fn look_ahead(context: &Context, state: &RwLock<State>, committer: &Mutex<Committer>) -> Result<()> {
    let _no_commit = committer.lock()?;
    let open = {
        let state = state.read()?;
        if !is_behind(context, state.newest())? {
            return Ok(());
        }
        state.tables()
    };
    set_aside(state, load(context, &open)?)
}

fn set_aside(state: &RwLock<State>, fresh: State) -> Result<()> {
    let mut state = state.write()?;
    // What this process commits from now on is newer than what it has read.
    state.last_order = state.last_order.max(fresh.last_order);
    let before = state.aside.replace(Box::new(fresh));
    drop(state);
    drop(before);
    Ok(())
}

/// Makes the state visible that lies aside. `true` where there was one.
pub(crate) fn advance(context: &Context, state: &RwLock<State>) -> Result<bool> {
    let is_any = state.read()?.aside.is_some();
    Ok(is_any && replace(context, state, |state| state.aside.take().map(|aside| *aside))?)
}

/// Replaces the state; what was read in the old one stays noted.
fn replace(context: &Context, state: &RwLock<State>, fresh: impl FnOnce(&mut State) -> Option<State>) -> Result<bool> {
    let mut state = state.write()?;
    let Some(fresh) = fresh(&mut state) else { return Ok(false) };
    let kept = fresh.tables().iter().map(|table| table.meta.name.to_string()).collect();
    let old = std::mem::replace(&mut *state, fresh);
    drop(state);
    keep_reads(context, &old, &kept);
    Ok(true)
}
