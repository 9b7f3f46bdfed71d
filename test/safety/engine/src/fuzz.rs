//! The targets of the fuzzer: any bytes replace a manifest, a log, a table, a block, an archive or any file of a cache.
//! Their checksums are corrected first, because otherwise the engine would reject nearly every input early. No input
//! may cause a panic, a hang, huge memory or an unusable cache; a call may return any value or error.

mod folders;
mod seeds;

use folders::{TABLE, edited, exercise, known_folders, with_files};
pub use seeds::seeds;
use std::io::Cursor;
use std::ops::ControlFlow;
use varve_archive::tar::{ImportOptions, Links, import};
use varve_core::testing::reseal;
use varve_core::{BlobRef, SerialPool};

/// A target: takes one input.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 6] = [
    ("manifest", manifest),
    ("log", log),
    ("table", table),
    ("block", block),
    ("tar", tar),
    ("folder", folder),
];

/// Bytes as the body of a manifest, over the tables and logs of a sound cache.
pub fn manifest(bytes: &[u8]) {
    let vfs = known_folders().mixed.fork();
    let name = vfs.names().into_iter().find(|name| name.starts_with("manifest-"));
    let number = name.as_deref().and_then(|name| name.strip_prefix("manifest-")?.parse().ok());
    if let (Some(name), Some(number)) = (name, number) {
        vfs.set_contents(&name, reseal::manifest(number, 1, bytes));
        reseal::reseal(&vfs);
        exercise(&vfs, true);
    }
}

/// Bytes as a log.
pub fn log(bytes: &[u8]) {
    exercise(&with_files(&known_folders().logs, &[("0.log", bytes)]), true);
}

/// Bytes as a table.
pub fn table(bytes: &[u8]) {
    exercise(&with_files(&known_folders().compacted, &[(TABLE, bytes)]), true);
}

/// Bytes as the blocks of a table: `u16` stored bytes of the block of keys, `u32` its raw bytes, `u32` raw bytes of the
/// block of values, the two blocks.
pub fn block(bytes: &[u8]) {
    let Some((head, blocks)) = bytes.split_first_chunk::<10>() else { return };
    let [low, high, k0, k1, k2, k3, v0, v1, v2, v3] = *head;
    let split = usize::from(u16::from_le_bytes([low, high])).min(blocks.len());
    let (keys, values) = blocks.split_at(split);
    let raw = (u32::from_le_bytes([k0, k1, k2, k3]), u32::from_le_bytes([v0, v1, v2, v3]));
    table(&reseal::table((keys, raw.0), (values, raw.1)));
}

/// Bytes as an archive, plain or compressed.
pub fn tar(bytes: &[u8]) {
    let options = ImportOptions {
        links: Links::Inside,
        bytes_max: 64 << 20,
        file_bytes_max: 16 << 20,
        files_max: 10_000,
        ..ImportOptions::default()
    };
    let store = |content: &[u8]| Ok(BlobRef::of(content).digest);
    // The archive may be read or rejected.
    let _ = import(&mut Cursor::new(bytes), &options, &SerialPool, &store, &|_, _| {
        ControlFlow::Continue(())
    });
}

/// Bytes as edits of the files of a sound cache; the first byte selects the cache, and whether checksums are corrected.
pub fn folder(bytes: &[u8]) {
    let Some((&choice, edits)) = bytes.split_first() else { return };
    let folders = known_folders();
    let vfs = match choice & 3 {
        0 => &folders.logs,
        1 => &folders.compacted,
        2 => &folders.blobs,
        _ => &folders.mixed,
    };
    let is_forged = choice & 4 == 0;
    exercise(&edited(vfs, edits, is_forged), is_forged);
}

#[cfg(test)]
mod tests {
    use super::{TARGETS, seeds};

    /// The fuzzer starts with these inputs, so they must pass without it.
    #[test]
    fn no_seed_and_no_prefix_of_a_seed_panics() {
        for (name, target) in TARGETS {
            let seeds = seeds(name);
            assert!(seeds.len() >= 2, "{name}");
            for seed in seeds {
                target(&seed);
                (0..seed.len())
                    .step_by(1 + seed.len() / 64)
                    .for_each(|length| target(&seed[..length]));
            }
        }
    }
}
