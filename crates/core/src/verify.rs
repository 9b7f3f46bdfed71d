//! Reading every byte of the folder that counts, past every cache. Modifies nothing.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::options::Watch;
use crate::report::VerifyReport;
use crate::state::load;
use crate::stats::stats;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(crate) fn verify(shared: &Context, watch: Watch<'_>) -> Result<VerifyReport> {
    let context = Context::new(Arc::clone(&shared.vfs), Arc::clone(&shared.pool), shared.options.clone());
    let state = load(&context, &[])?;
    let tables: Vec<_> = state.namespaces.iter().flat_map(|namespace| &namespace.tables).collect();
    let total = tables.iter().map(|live| live.table.meta.bytes).sum();
    let mut done = 0;
    for live in &tables {
        let finished = live.table.verify(&mut |bytes| {
            done += bytes;
            watch(done, total) == ControlFlow::Continue(())
        });
        if !finished {
            return Err(Error::Cancelled);
        }
    }
    let stats = stats(&context, &state)?;
    let damage = context.damage.places();
    Ok(VerifyReport {
        sound: damage.is_empty(),
        files: stats.files,
        bytes: stats.bytes,
        entries: stats.namespaces.iter().map(|namespace| namespace.entries).sum(),
        damage,
    })
}
