//! Stores the large values of a batch as blobs, each compressed if that pays. They are synced before the commit names
//! them, as its tables are, so that no entry survives a power failure without its value.

use crate::batch::Batch;
use crate::blobs::each_in_parallel;
use crate::error::Result;
use crate::format::blob_refs::{Filed, Form};
use crate::format::digest::FileRef;
use crate::format::entry::{Entry, Kind};
use crate::format::lz4;
use crate::state::context::Context;

/// Stores values of at least `bytes_min` bytes as blobs, under temporary names of `writer`, and returns the batch that
/// names them.
pub(super) fn file_values(context: &Context, writer: u32, batch: &Batch, bytes_min: usize) -> Result<Batch> {
    let is_large = |entry: &Entry<'_>| entry.kind == Kind::Put && entry.value.len() >= bytes_min;
    let large: Vec<Entry<'_>> = batch.entries().map(|(_, entry)| entry).filter(is_large).collect();
    let stored = each_in_parallel(&*context.pool, &large, |entry| file_value(context, writer, entry.value))?;
    context.files.sync_folders(stored.iter().map(|(file, _)| file.digest))?;
    let mut stored = stored.into_iter();
    let mut filed = Batch::default();
    let mut value = Vec::new();
    for (id, entry) in batch.entries() {
        if is_large(&entry)
            && let Some((file, form)) = stored.next()
        {
            value.clear();
            Filed::write(&[file], form, &mut value);
            filed.add(id, Kind::PutFiled, entry.key, &value)?;
        } else {
            filed.add(id, entry.kind, entry.key, entry.value)?;
        }
    }
    Ok(filed)
}

/// The batch with a delete in place of each entry whose blobs are gone. For a writer without a lock whose log was
/// claimed, and its pin with it.
pub(super) fn without_lost(context: &Context, batch: &Batch) -> Result<Batch> {
    let mut kept = Batch::default();
    for (id, entry) in batch.entries() {
        let filed = if entry.kind == Kind::PutFiled { Filed::parse(entry.value) } else { None };
        let mut is_whole = true;
        for file in filed.iter().flat_map(Filed::files) {
            is_whole = is_whole && context.files.is_stored(&file)?;
        }
        let (kind, value) = if is_whole { (entry.kind, entry.value) } else { (Kind::Delete, &[][..]) };
        kept.add(id, kind, entry.key, value)?;
    }
    Ok(kept)
}

fn file_value(context: &Context, writer: u32, value: &[u8]) -> Result<(FileRef, Form<'static>)> {
    let mut scratch = Vec::new();
    match lz4::pack(value, &mut scratch) {
        Some(packed) => Ok((context.files.put(writer, packed, true)?, Form::Packed { raw_bytes: value.len() as u32 })),
        None => Ok((context.files.put(writer, value, true)?, Form::Content)),
    }
}
