//! Reads every byte of the cache that counts, without using cached blocks. Changes nothing.

use crate::blobs::Content;
use crate::error::{Error, Result};
use crate::format::digest::BlobRef;
use crate::options::{Options, Watch};
use crate::platform::failpoints;
use crate::read::missing_blob;
use crate::read::stats::stats;
use crate::report::{Damage, VerifyReport};
use crate::state::context::Context;
use crate::state::{Known, Layers, State, load};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The result of a verification, and what a repair needs in addition.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) report: VerifyReport,
    /// Blobs that entries name and that are missing or damaged.
    pub(crate) missing_blobs: Vec<BlobRef>,
    /// It is unknown which entries are the newest.
    pub(crate) unrecoverable: bool,
}

pub(crate) fn verify(shared: &Context, watch: Watch<'_>) -> Result<Verified> {
    failpoints::panics("verify");
    let options = Options { read_only: true, ..shared.options.clone() };
    let context = Context::new(Arc::clone(&shared.vfs), Arc::clone(&shared.pool), options);
    let layers = Layers::open(&context, &context.options.layers)?;
    let state = load(&context, &Known::default())?.over(layers);
    let tables: Vec<_> =
        state.live_tables().map(|live| &live.table).chain(state.layers.all_tables()).collect();
    let files = state.named_blobs();
    let total = tables
        .iter()
        .map(|table| table.meta.bytes)
        .chain(files.iter().map(|file| file.bytes))
        .sum();
    let mut done = 0;
    for table in &tables {
        let finished = table.verify(&mut |bytes| {
            done += bytes;
            watch(done, total) == ControlFlow::Continue(())
        });
        if !finished {
            return Err(Error::Cancelled.boxed());
        }
    }
    let mut missing_blobs = Vec::new();
    let mut named = (state.moment(), Cow::Borrowed(&files));
    for file in &files {
        let names = |newest: &State| {
            if named.0 != newest.moment() {
                named = (newest.moment(), Cow::Owned(newest.named_blobs()));
            }
            named.1.contains(file)
        };
        match missing_blob::look(
            &context,
            || Ok((state.known(), state.layers.clone())),
            names,
            || context.blobs.read(file),
        )? {
            Some(Content::Whole(_)) | None => {}
            Some(Content::Damaged) => missing_blobs.push(*file),
            Some(Content::Missing) => {
                context.blobs.report(file, "missing file");
                missing_blobs.push(*file);
            }
        }
        done += file.bytes;
        if watch(done, total) == ControlFlow::Break(()) {
            return Err(Error::Cancelled.boxed());
        }
    }
    context.usage_folder.verify(state.manifest.cache_id, |name, what| {
        context.damage.add(Damage::new(name, 0, what))
    });
    let stats = stats(&context, &state)?;
    let damage = context.damage.places();
    let report = VerifyReport {
        sound: damage.is_empty(),
        files: stats.files,
        bytes: stats.bytes,
        entries: stats.namespaces.iter().map(|namespace| namespace.entries).sum(),
        damage,
    };
    Ok(Verified { report, missing_blobs, unrecoverable: state.unrecoverable })
}
