//! Reading every byte of the folder that counts, past every cache. Modifies nothing.

use crate::blobs::Content;
use crate::error::{Error, Result};
use crate::format::digest::FileRef;
use crate::options::{Options, Watch};
use crate::platform::failpoints;
use crate::read::missing_blob;
use crate::read::stats::stats;
use crate::report::{Damage, VerifyReport};
use crate::state::context::Context;
use crate::state::{State, load};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What was found, and what a repair needs beside it.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) report: VerifyReport,
    /// Contents that entries name and that are not there or not what they were.
    pub(crate) lost_files: Vec<FileRef>,
    /// Nothing tells which entries are the newest.
    pub(crate) unrecoverable: bool,
}

pub(crate) fn verify(shared: &Context, watch: Watch<'_>) -> Result<Verified> {
    failpoints::panics("verify");
    let options = Options { read_only: true, ..shared.options.clone() };
    let context = Context::new(Arc::clone(&shared.vfs), Arc::clone(&shared.pool), options);
    let state = load(&context, &[])?;
    let tables: Vec<_> = state.live_tables().collect();
    let files = state.named_files();
    let total = tables.iter().map(|live| live.table.meta.bytes).chain(files.iter().map(|file| file.bytes)).sum();
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
    let mut lost_files = Vec::new();
    let mut named = (state.moment(), Cow::Borrowed(&files));
    for file in &files {
        let names = |newest: &State| {
            if named.0 != newest.moment() {
                named = (newest.moment(), Cow::Owned(newest.named_files()));
            }
            named.1.contains(file)
        };
        match missing_blob::look(&context, || Ok(state.tables()), names, || context.files.read(file))? {
            Some(Content::Whole(_)) | None => {}
            Some(Content::Damaged) => lost_files.push(*file),
            Some(Content::Missing) => {
                context.files.note(file, "missing file");
                lost_files.push(*file);
            }
        }
        done += file.bytes;
        if watch(done, total) == ControlFlow::Break(()) {
            return Err(Error::Cancelled);
        }
    }
    context.used.verify(state.manifest.cache_id, |name, what| context.damage.add(Damage::new(name, 0, what)));
    let stats = stats(&context, &state)?;
    let damage = context.damage.places();
    let report = VerifyReport {
        sound: damage.is_empty(),
        files: stats.files,
        bytes: stats.bytes,
        entries: stats.namespaces.iter().map(|namespace| namespace.entries).sum(),
        damage,
    };
    Ok(Verified { report, lost_files, unrecoverable: state.lost })
}
