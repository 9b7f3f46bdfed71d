//! A content that is not there was lost, or collected since the state was read that names it. Only the newest state
//! tells, and nobody has to go on to it because of that.

use crate::blobs::Content;
use crate::error::Result;
use crate::state::context::Context;
use crate::state::{State, load};
use crate::table::Table;
use std::sync::Arc;

/// How often a state may be followed by a newer one before the content counts as collected.
const READS: u32 = 8;

/// What `look` finds, `None` where it was collected. `Missing` is damage: it was not there while the newest state was
/// one that `names` it. `tables` are open.
pub(crate) fn look(
    context: &Context,
    tables: impl Fn() -> Result<Vec<Arc<Table>>>,
    mut names: impl FnMut(&State) -> bool,
    look: impl Fn() -> Result<Content>,
) -> Result<Option<Content>> {
    let mut seen = None;
    for _ in 0..READS {
        let found = look()?;
        if found != Content::Missing {
            return Ok(Some(found));
        }
        let newest = load(context, &tables()?)?;
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
