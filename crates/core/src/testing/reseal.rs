//! Forging: gives all bytes of a simulated cache valid checksums. A reader detects damage by the first bad checksum.
//! The checks behind it (lengths, counts, offsets, sequence numbers) matter only for an attacker, or a fuzzer that
//! forges.
//!
//! 1. Tables: every block that a row names, the pages of rows, then the directory and the footer, which gives a new
//!    root.
//! 2. Logs and manifests: the new roots are written into the descriptions of the tables, then every frame is sealed
//!    again.
//!
//! A part whose place cannot be read any more stays as it is: it is damage, and refused.

use crate::format::bytes::Reader;
use crate::format::checksum::{Checksum, FramePlace, Kind as Of};
use crate::format::entry::{Entry, Kind};
use crate::format::file_names::{FileName, TableName};
use crate::format::frame::{FrameKind, HEAD_BYTES, Label, seal_parts};
use crate::format::mac_key::MacKey;
use crate::manifest::Manifest;
use crate::table::{FOOTER_BYTES, Footer, TableMeta, reseal_rows};
use crate::testing::sim::SimVfs;
use crate::usage::number_of_record;
use std::collections::HashMap;

/// New root and length of each table.
type Roots = HashMap<TableName, (u64, u64)>;

/// Gives every byte a valid checksum, for a cache without a secret.
pub fn reseal(vfs: &SimVfs) {
    reseal_with(vfs, None);
}

/// Gives every byte a valid checksum for that secret.
pub fn reseal_with(vfs: &SimVfs, key: Option<&MacKey>) {
    let main = Checksum::new(key);
    let cache_id = newest_cache_id(vfs);
    let parsed =
        || vfs.names().into_iter().filter_map(|name| Some((FileName::parse(&name)?, name)));
    let mut roots = Roots::new();
    for (parsed, name) in parsed() {
        if let FileName::Table(table) = parsed {
            let (mut bytes, checksum) = (vfs.contents(&name), main.of_file(cache_id, parsed));
            if let Some(root) = reseal_table(&checksum, &mut bytes) {
                roots.insert(table, (root, bytes.len() as u64));
                vfs.set_contents(&name, bytes);
            }
        }
    }
    for (parsed, name) in parsed() {
        let (number, checksum) = match parsed {
            FileName::Manifest(number) => (number, main),
            FileName::Log(writer) | FileName::Claimed { writer, .. } => {
                (u64::from(writer), main.of_file(cache_id, FileName::Log(writer)))
            }
            FileName::Table(_) | FileName::Temporary(_) => continue,
        };
        let sealed = reseal_frames(&checksum, &vfs.contents(&name), number, &roots);
        vfs.set_contents(&name, sealed);
    }
    for name in vfs.names() {
        if let Some(number) = name.strip_prefix("used/").and_then(number_of_record) {
            let sealed = reseal_frames(&main, &vfs.contents(&name), number, &roots);
            vfs.set_contents(&name, sealed);
        }
    }
}

/// The id of the cache, from its newest manifest.
fn newest_cache_id(vfs: &SimVfs) -> u64 {
    let names = vfs.names();
    let newest = names.iter().filter_map(|name| FileName::parse(name)?.manifest()).max();
    let bytes = newest
        .map(|number| vfs.contents(&FileName::Manifest(number).to_string()))
        .unwrap_or_default();
    let manifest = frame_at(&bytes, 0).and_then(|(_, body)| Manifest::read(0, body));
    manifest.map_or(0, |manifest| manifest.cache_id)
}

/// A manifest, or a log of one frame, with this body.
pub fn manifest(number: u64, format: u32, body: &[u8]) -> Vec<u8> {
    let place = FramePlace { file_number: number, offset: 0 };
    let (head, padding) = seal_parts(
        &Checksum::Open,
        Label::new(FrameKind::Manifest, u64::from(format)),
        place,
        &[body],
    );
    [&head, body, padding].concat()
}

/// A table of one key block and one value block, both as stored in the file.
pub fn table(keys: (&[u8], u32), values: (&[u8], u32)) -> Vec<u8> {
    let mut bytes = [keys.0, values.0].concat();
    for (offset, (block, raw_bytes)) in [(0, keys), (keys.0.len() as u64, values)] {
        bytes.extend_from_slice(&0u64.to_le_bytes());
        bytes.extend_from_slice(&offset.to_le_bytes());
        bytes.extend_from_slice(&(block.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&raw_bytes.to_le_bytes());
    }
    let directory_offset = bytes.len() as u64;
    // The hash of the first entry, by which a lookup finds the block, and the checksums of two pages of rows.
    bytes.extend_from_slice(keys.0.get(24..28).unwrap_or(&[0; 4]));
    bytes.extend_from_slice(&[0; 16]);
    let footer = Footer {
        key_blocks: 1,
        value_blocks: 1,
        blobs: 0,
        entries: 1,
        deletes: 0,
        sequence_min: 0,
        sequence_max: u64::from(u32::MAX),
        directory_offset,
        key_bytes: 1,
        value_bytes: 1,
        directory_checksum: 0,
    };
    bytes.extend_from_slice(&footer.write(&Checksum::Open).0);
    bytes
}

/// Returns the new root; `None` = the footer or directory cannot be read.
fn reseal_table(checksum: &Checksum, bytes: &mut [u8]) -> Option<u64> {
    let footer_at = bytes.len().checked_sub(FOOTER_BYTES)?;
    let footer = Footer::parse(bytes.get(footer_at..)?)?;
    let rows_at = usize::try_from(footer.rows_offset()?).ok()?;
    let start =
        usize::try_from(footer.directory_offset).ok().filter(|start| *start <= footer_at)?;
    let (blocks, rest) = bytes.split_at_mut(rows_at);
    let (rows, rest) = rest.split_at_mut(start - rows_at);
    let (directory, tail) = rest.split_at_mut(footer_at - start);
    reseal_rows(rows, directory, &footer, checksum, |offset, stored_bytes| {
        let end = offset.checked_add(u64::from(stored_bytes))?;
        let block = blocks.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)?;
        Some(checksum.of_part(Of::Block, offset, block))
    });
    let directory_checksum = checksum.of_part(Of::Directory, 0, directory);
    let (sealed, root) = Footer { directory_checksum, ..footer }.write(checksum);
    tail.copy_from_slice(&sealed);
    Some(root)
}

/// The same frames with new roots and valid checksums; a length beyond the end of the file stops this.
fn reseal_frames(checksum: &Checksum, bytes: &[u8], file_number: u64, roots: &Roots) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    while let Some((label, body)) = frame_at(bytes, out.len()) {
        let body = new_roots(label.kind, body, roots);
        let place = FramePlace { file_number, offset: out.len() as u64 };
        let (head, padding) = seal_parts(checksum, label, place, &[&body]);
        out.extend_from_slice(&head);
        out.extend_from_slice(&body);
        out.extend_from_slice(padding);
    }
    out.extend_from_slice(bytes.get(out.len()..).unwrap_or_default());
    out
}

fn frame_at(bytes: &[u8], offset: usize) -> Option<(Label, &[u8])> {
    let rest = bytes.get(offset..)?;
    let (label, body_bytes) = Label::read(rest)?;
    let padded = body_bytes.checked_next_multiple_of(HEAD_BYTES)?;
    let body = rest.get(HEAD_BYTES..)?.get(..padded)?.get(..body_bytes)?;
    Some((label, body))
}

/// The body with new roots in every description of a table that can be read.
fn new_roots(kind: FrameKind, body: &[u8], roots: &Roots) -> Vec<u8> {
    let set = |meta: &mut TableMeta| {
        if let Some((root, bytes)) = roots.get(&meta.name) {
            (meta.root, meta.bytes) = (*root, *bytes);
        }
    };
    match kind {
        FrameKind::Manifest => {
            let Some(mut manifest) = Manifest::read(0, body) else { return body.to_vec() };
            manifest
                .namespaces
                .iter_mut()
                .flat_map(|namespace| &mut namespace.tables)
                .for_each(set);
            manifest.write()
        }
        FrameKind::Commit => attached(body, set).unwrap_or_else(|| body.to_vec()),
        FrameKind::LogStart
        | FrameKind::Seen
        | FrameKind::Pin
        | FrameKind::Seal
        | FrameKind::Usage => body.to_vec(),
    }
}

/// The body of a commit after `set` was applied to the tables that it attaches.
fn attached(body: &[u8], set: impl Fn(&mut TableMeta)) -> Option<Vec<u8>> {
    let mut reader = Reader::new(body);
    reader.u64()?;
    for _ in 0..reader.u16()? {
        reader.u16()?;
        reader.text()?;
        reader.text()?;
    }
    let mut out = body.get(..body.len() - reader.remaining())?.to_vec();
    while !reader.is_empty() {
        let entry = Entry::read(&mut reader)?;
        let mut value = entry.value.to_vec();
        if entry.kind == Kind::Attach
            && let Some(mut meta) = TableMeta::read(&mut Reader::new(&value))
        {
            set(&mut meta);
            value.clear();
            meta.write(&mut value);
        }
        Entry { value: &value, ..entry }.write(&mut out);
    }
    Some(out)
}
