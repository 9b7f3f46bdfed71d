//! Publishes, at close, a manifest that lists the open logs and their ends; FORMAT.md, "The protocol", section 7. From
//! then on a log that is missing, cut or partly zero is damage. Before, it looks like a log that a power failure has
//! shortened.
//!
//! Only sealed logs are listed with their end, because only that is durable. The tables stay as they are.

use crate::compact::remove_older_manifests;
use crate::error::Result;
use crate::log::Stop;
use crate::manifest::{KnownLog, Manifest, Published};
use crate::state::context::Context;
use crate::state::{Known, LogView, State, outline};
use crate::writer::create::publish_unnumbered;

/// Tries before other processes, which close or compact at the same time, count as faster; they list the logs then.
const ATTEMPTS: u32 = 4;

/// Lists the logs unless the newest manifest does already.
pub(crate) fn list_logs(context: &Context, known: &Known) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let found = outline(context, known)?;
        let open_logs: Vec<KnownLog> =
            found.logs.iter().filter_map(|view| listed(&found, view)).collect();
        if found.unrecoverable || open_logs == found.manifest.open_logs {
            return Ok(());
        }
        let manifest = Manifest {
            number: found.manifest_seen + 1,
            id: context.new_id(),
            parent: found.manifest.id,
            last_sequence: found.last_sequence,
            open_logs,
            checkpointed_logs: Vec::new(),
            ..found.manifest.clone()
        };
        if let Published::Won(number) = publish_unnumbered(context, found.manifest_file, manifest)?
        {
            return remove_older_manifests(context, number);
        }
    }
    Ok(())
}

fn listed(found: &State, view: &LogView) -> Option<KnownLog> {
    let before = found.manifest.open_logs.iter().find(|log| view.is(log)).map_or(0, |log| log.end);
    let end = if view.stop == Stop::Sealed { view.end } else { before };
    view.start().map(|start| KnownLog { writer: view.writer, id: start.id, end })
}
