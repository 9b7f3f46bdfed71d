//! Reads every byte of the cache that counts, without using cached blocks. Changes nothing.

use crate::blobs::{Content, each_in_parallel};
use crate::error::{Error, Result};
use crate::format::digest::BlobRef;
use crate::format::order;
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

/// Blobs that each thread reads between two reports of progress.
const BLOBS_PER_THREAD: usize = 4;

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
    let pool = &*context.pool;
    let mut done = 0;
    let mut note = |bytes: u64| {
        done += bytes;
        match watch(done, total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled.boxed()),
        }
    };
    for round in tables.chunks(pool.threads()) {
        each_in_parallel(pool, round, |table| {
            table.verify();
            Ok(())
        })?;
        note(round.iter().map(|table| table.meta.bytes).sum())?;
    }
    let mut missing_blobs = Vec::new();
    let mut named = (state.moment(), Cow::Borrowed(&files));
    let all: Vec<BlobRef> = files.iter().copied().collect();
    for round in all.chunks(BLOBS_PER_THREAD * pool.threads()) {
        let found = each_in_parallel(pool, round, |file| {
            Ok(matches!(context.blobs.read(file)?, Content::Whole(_)))
        })?;
        for (file, _) in round.iter().zip(found).filter(|(_, is_whole)| !is_whole) {
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
        }
        note(round.iter().map(|file| file.bytes).sum())?;
    }
    context.usage_folder.verify(state.manifest.cache_id, |name, what| {
        context.damage.add(Damage::new(name, 0, what))
    });
    let stats = stats(&context, &state)?;
    let mut damage = context.damage.places();
    // Threads find it in any order.
    order::sort_by(&mut damage, |one, other| {
        (&one.file, one.offset).cmp(&(&other.file, other.offset))
    });
    let report = VerifyReport {
        sound: damage.is_empty(),
        files: stats.files,
        bytes: stats.bytes,
        entries: stats.namespaces.iter().map(|namespace| namespace.entries).sum(),
        damage,
    };
    Ok(Verified { report, missing_blobs, unrecoverable: state.unrecoverable })
}
