//! A missing blob was lost, or it was collected since the state that names it was loaded. Only the newest state shows
//! which. It is loaded for that, but not made visible.

use crate::blobs::Content;
use crate::error::Result;
use crate::state::context::Context;
use crate::state::{Layers, State, load};
use crate::table::Table;
use std::sync::Arc;

/// How many newer states are loaded before the blob counts as collected.
const READS: u32 = 8;

/// Calls `look`; `None` = the blob was collected. `Missing` is damage: the blob was missing while the newest state
/// still `names` it. `open` returns open tables, for reuse, and the layers.
pub(crate) fn look(
    context: &Context,
    open: impl Fn() -> Result<(Vec<Arc<Table>>, Layers)>,
    mut names: impl FnMut(&State) -> bool,
    look: impl Fn() -> Result<Content>,
) -> Result<Option<Content>> {
    let mut seen = None;
    for _ in 0..READS {
        let found = look()?;
        if found != Content::Missing {
            return Ok(Some(found));
        }
        let (tables, layers) = open()?;
        let newest = load(context, &tables)?.over(layers);
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
