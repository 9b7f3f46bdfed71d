//! `files/tarball/files_N`, after pnpm: imports a .tar from memory into an empty store, relaxed. Below 32 files the
//! import uses one thread, so one thread and two must take the same time. Times opening the store, importing and
//! storing, without making the archive and closing.

use super::{BLOCK_CACHE_BYTES, Trial, Unit};
use crate::data::{SEED, random};
use crate::measure::timed;
use std::collections::HashMap;
use varve_archive::tar::{Content, ExportOptions, FileRecord, export};
use varve_core::Digest;

/// Files of npm packages have about these sizes; few are large.
const FILE_BYTES: [usize; 8] = [300, 700, 1_200, 2_000, 3_500, 6_000, 12_000, 40_000];

pub(super) fn trials(quick: bool) -> Vec<Trial> {
    [8, 31, 32, 1000].map(|files| trial(files, if quick { 15 } else { 41 })).into()
}

fn trial(files: usize, rounds: usize) -> Trial {
    let archive = archive_of(files);
    Trial {
        id: format!("files/tarball/files_{files}"),
        unit: Unit::Us,
        rounds,
        run: Box::new(move |subject, folder| {
            let (sample, store) = timed(|| {
                let mut store = subject.open(folder, BLOCK_CACHE_BYTES);
                assert_eq!(store.import_tar(&archive), files, "every file of the archive");
                store
            });
            store.close();
            sample
        }),
    }
}

/// A .tar of `files` files with random contents.
fn archive_of(files: usize) -> Vec<u8> {
    let mut contents = HashMap::new();
    let records: Vec<FileRecord> = (0..files)
        .map(|index| {
            let length = FILE_BYTES[index % FILE_BYTES.len()];
            let content = random(SEED + index as u64, 1, length);
            let (digest, bytes) = (Digest::of(&content), length as u64);
            contents.insert(digest, content);
            let path = format!("package/lib/part{}/file{index}.js", index % 13);
            FileRecord { path, content: Content::File { digest, bytes, executable: false } }
        })
        .collect();
    let mut archive = Vec::new();
    let read = |digest: &Digest| Ok(contents[digest].clone());
    let mut write = |bytes: &[u8]| {
        archive.extend_from_slice(bytes);
        Ok(())
    };
    export(&records, ExportOptions::default(), &read, &mut write).expect("an archive");
    archive
}
