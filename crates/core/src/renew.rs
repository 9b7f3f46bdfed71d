//! Reading the folder anew in place of what a process knows of it. No commit of this process may come in between.

use crate::context::Context;
use crate::error::Result;
use crate::record_uses::keep_reads;
use crate::state::{State, load};
use crate::sync::RwLock;

/// Replaces the state by the newest one; what was read in the old one stays noted.
pub(crate) fn renew(context: &Context, state: &RwLock<State>) -> Result<()> {
    let open = state.read()?.tables();
    let fresh = load(context, &open)?;
    let kept = fresh.tables().iter().map(|table| table.meta.name.to_string()).collect();
    let old = std::mem::replace(&mut *state.write()?, fresh);
    keep_reads(context, &old, &kept);
    Ok(())
}
