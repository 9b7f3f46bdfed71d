//! A missing blob was lost, or it was collected since the state that names it was loaded. Only the newest state shows
//! which. It is loaded for that, but not made visible.

use crate::blobs::Content;
use crate::error::Result;
use crate::state::context::Context;
use crate::state::{Known, Layers, State, load};

/// How many newer states are loaded before the blob counts as collected.
const READS: u32 = 8;

/// Calls `look`; `None` = the blob was collected. `Missing` is damage: the blob was missing while the newest state
/// still `names` it. `known` returns what a load need not read again, and the layers.
pub(crate) fn look(
    context: &Context,
    known: impl Fn() -> Result<(Known, Layers)>,
    mut names: impl FnMut(&State) -> bool,
    look: impl Fn() -> Result<Content>,
) -> Result<Option<Content>> {
    let mut seen = None;
    for _ in 0..READS {
        let found = look()?;
        if found != Content::Missing {
            return Ok(Some(found));
        }
        let (known, layers) = known()?;
        let newest = load(context, &known)?.over(layers);
        if !names(&newest) {
            return Ok(None);
        }
        let now = newest.moment();
        if seen.replace(now) == Some(now) {
            return Ok(Some(Content::Missing));
        }
    }
    Ok(None)
}
