//! Stores the large values of a batch as blobs, each compressed if that pays. They are synced before the commit names
//! them, as its tables are, so that no entry survives a power failure without its value.

use crate::batch::Batch;
use crate::blobs::each_in_parallel;
use crate::error::Result;
use crate::format::blob_refs::{BlobRefs, Form};
use crate::format::digest::BlobRef;
use crate::format::entry::{Entry, Kind};
use crate::format::lz4;
use crate::state::context::Context;

/// Stores values of at least `bytes_min` bytes as blobs, under temporary names of `writer`, and returns the batch that
/// names them.
pub(super) fn store_values(
    context: &Context,
    writer: u32,
    batch: &Batch,
    bytes_min: usize,
) -> Result<Batch> {
    let is_large = |entry: &Entry<'_>| entry.kind == Kind::Put && entry.value.len() >= bytes_min;
    let large: Vec<Entry<'_>> = batch.entries().map(|(_, entry)| entry).filter(is_large).collect();
    let stored = each_in_parallel(&*context.pool, &large, |entry| {
        store_value(context, writer, entry.value)
    })?;
    context.blobs.sync_folders(stored.iter().map(|(file, _)| file.digest))?;
    let mut stored = stored.into_iter();
    let mut with_blobs = Batch::default();
    let mut value = Vec::new();
    for (id, entry) in batch.entries() {
        if is_large(&entry)
            && let Some((file, form)) = stored.next()
        {
            value.clear();
            BlobRefs::write(&[file], form, &mut value);
            with_blobs.add(id, Kind::PutWithBlobs, entry.key, &value)?;
        } else {
            with_blobs.add(id, entry.kind, entry.key, entry.value)?;
        }
    }
    Ok(with_blobs)
}

/// The batch with a delete in place of each entry whose blobs are gone. For a writer without a lock whose log was
/// claimed, and its pin with it.
pub(super) fn without_missing(context: &Context, batch: &Batch) -> Result<Batch> {
    let mut kept = Batch::default();
    for (id, entry) in batch.entries() {
        let refs =
            if entry.kind == Kind::PutWithBlobs { BlobRefs::parse(entry.value) } else { None };
        let mut is_whole = true;
        for file in refs.iter().flat_map(BlobRefs::blobs) {
            is_whole = is_whole && context.blobs.is_stored(&file)?;
        }
        let (kind, value) =
            if is_whole { (entry.kind, entry.value) } else { (Kind::Delete, &[][..]) };
        kept.add(id, kind, entry.key, value)?;
    }
    Ok(kept)
}

fn store_value(context: &Context, writer: u32, value: &[u8]) -> Result<(BlobRef, Form<'static>)> {
    let mut scratch = Vec::new();
    match lz4::pack(value, &mut scratch) {
        Some(packed) => Ok((
            context.blobs.put(writer, packed, true)?,
            Form::Packed { raw_bytes: value.len() as u32 },
        )),
        None => Ok((context.blobs.put(writer, value, true)?, Form::Content)),
    }
}
