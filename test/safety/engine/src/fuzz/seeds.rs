//! The first inputs of the fuzzer: the bytes of sound caches and archives.

use super::folders::known_folders;
use varve_archive::tar::{Content, ExportOptions, FileRecord, export};
use varve_core::BlobRef;
use varve_core::testing::sim::SimVfs;

/// Bytes of the description of a table, and the place of its count of entries.
const TABLE_BYTES: usize = 112;
const ENTRIES_AT: usize = 24;

/// Inputs of a target: sound ones, and those that found a bug.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folders = known_folders();
    let all = [&folders.logs, &folders.compacted, &folders.blobs, &folders.mixed];
    match target {
        "manifest" => {
            let names = |name: &str| name.starts_with("manifest-");
            let sound: Vec<_> = all.iter().flat_map(|vfs| files(vfs, names)).map(body).collect();
            let crowded = sound.iter().filter_map(|body| crowded(body)).collect::<Vec<_>>();
            [sound, crowded].concat()
        }
        "log" => all.iter().flat_map(|vfs| files(vfs, |name| name.ends_with(".log"))).collect(),
        "table" => all.iter().flat_map(|vfs| files(vfs, |name| name.ends_with(".table"))).collect(),
        "block" => all
            .iter()
            .flat_map(|vfs| files(vfs, |name| name.ends_with(".table")))
            .filter_map(blocks)
            .collect(),
        "tar" => archives(),
        "folder" => {
            (0..8).map(|choice| vec![choice, 0, 0, 40, 0, 2, 7, 7, 1, 2, 9, 0, 3]).collect()
        }
        _ => Vec::new(),
    }
}

/// The same manifest, whose last table says that it has more entries than any table. A walk over them did not end.
fn crowded(body: &[u8]) -> Option<Vec<u8>> {
    let mut body = body.to_owned();
    let at = body.len().checked_sub(TABLE_BYTES)? + ENTRIES_AT;
    body.get_mut(at..at + 6)?.fill(0xff);
    Some(body)
}

fn files(vfs: &SimVfs, which: fn(&str) -> bool) -> Vec<Vec<u8>> {
    vfs.names().iter().filter(|name| which(name)).map(|name| vfs.contents(name)).collect()
}

/// The body of a manifest, by the length in its head.
fn body(bytes: Vec<u8>) -> Vec<u8> {
    let length = u32_at(&bytes, 4) as usize;
    bytes[32..32 + length].to_vec()
}

/// The first block of keys and the first of values, in the form of the target.
fn blocks(table: Vec<u8>) -> Option<Vec<u8>> {
    let footer = table.len() - 96;
    let (key_blocks, value_blocks) =
        (u32_at(&table, footer + 12) as usize, u32_at(&table, footer + 16) as usize);
    let rows = u32_at(&table, footer + 56) as usize - (key_blocks + value_blocks) * 24;
    let row = |index: usize| {
        let at = rows + index * 24;
        let (offset, stored) = (u32_at(&table, at + 8) as usize, u32_at(&table, at + 16) as usize);
        (&table[offset..offset + stored], u32_at(&table, at + 20))
    };
    let (keys, key_raw) = row(0);
    let (values, value_raw) = if value_blocks > 0 { row(key_blocks) } else { (&[][..], 0) };
    let stored = u16::try_from(keys.len()).ok()?;
    Some(
        [&stored.to_le_bytes()[..], &key_raw.to_le_bytes(), &value_raw.to_le_bytes(), keys, values]
            .concat(),
    )
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("a sound file"))
}

/// Plain, gzip, zstd.
fn archives() -> Vec<Vec<u8>> {
    let content = b"content of a file".repeat(20);
    let BlobRef { digest, bytes } = BlobRef::of(&content);
    let long = format!("{}/file", "folder".repeat(30));
    let records = [
        ("a/b", Content::File { digest, bytes, executable: true }),
        ("a/empty", Content::Folder),
        ("a/link", Content::Link { target: "b".to_owned() }),
        (&long, Content::File { digest, bytes, executable: false }),
    ];
    let records = records.map(|(path, content)| FileRecord { path: path.to_owned(), content });
    let written = |options: ExportOptions| {
        let mut out = Vec::new();
        let read = |_: &_| Ok(content.clone());
        let mut write = |part: &[u8]| {
            out.extend_from_slice(part);
            Ok(())
        };
        export(&records, options, &read, &mut write).expect("sound records");
        out
    };
    let plain = written(ExportOptions { gzip: false });
    let zstd = in_zstd(&plain);
    vec![plain, written(ExportOptions { gzip: true }), zstd]
}

/// A frame of zstd with one block that is not compressed.
fn in_zstd(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() - 256) as u16;
    let block = (bytes.len() as u32) << 3 | 1;
    let head = [0x28, 0xB5, 0x2F, 0xFD, 0x60];
    [&head[..], &length.to_le_bytes(), &block.to_le_bytes()[..3], bytes].concat()
}
