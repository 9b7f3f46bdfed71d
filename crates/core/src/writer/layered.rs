//! The empty file `layered` marks a cache that was written over layers. A compactor that has no layers open cannot know
//! which keys they have, so it keeps every delete of such a cache.

use crate::error::{Error, Result};
use crate::platform::failpoints;
use crate::state::context::Context;
use std::io;

const NAME: &str = "layered";

/// Marks the cache before the first commit of each log over layers, so that no delete is durable before the mark is.
/// The directory may have been removed since the last log was begun.
pub(crate) fn mark(context: &Context) -> Result<()> {
    if is_marked(context)? || failpoints::bug("unmarked-layers") {
        return Ok(());
    }
    let created = match context.vfs.create_new(NAME) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop),
    };
    created.and_then(|()| context.vfs.sync_folder()).map_err(|source| Error::io("write", NAME, source))
}

/// Whether the cache was written over layers.
pub(crate) fn is_marked(context: &Context) -> Result<bool> {
    context.vfs.exists(NAME).map_err(|source| Error::io("check", NAME, source))
}
