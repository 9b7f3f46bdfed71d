//! Sound caches, edits of their files, and all calls that a user could make on the result.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use varve_core::testing::reseal;
use varve_core::testing::sim::SimVfs;
use varve_core::{Durability, Handle, Options, SerialPool, Store};

/// The table of the compacted cache.
pub(super) const TABLE: &str = "1-1.table";

const KEYS: usize = 24;
/// Values of this many bytes and more are files, so that small inputs have files.
const FILE_BYTES_MIN: usize = 400;
const NEVER: varve_core::Watch<'static> = &|_, _| ControlFlow::Continue(());

/// Made once for the process.
pub(super) struct Folders {
    /// Commits of several kinds in one log.
    pub(super) logs: SimVfs,
    /// One table.
    pub(super) compacted: SimVfs,
    /// Values in files of their own.
    pub(super) blobs: SimVfs,
    /// Tables, a sealed log, a namespace of another version.
    pub(super) mixed: SimVfs,
}

pub(super) fn known_folders() -> &'static Folders {
    static FOLDERS: OnceLock<Folders> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let logs = SimVfs::new();
        write(&logs, 1, 300);
        let compacted = logs.fork();
        let handle = open(&compacted).expect("a sound cache");
        handle.store().compact(true, NEVER).expect("compact");
        handle.store().close().expect("close");
        let blobs = SimVfs::new();
        write(&blobs, 2, 900);
        let mixed = blobs.fork();
        open(&mixed).expect("a sound cache").store().compact(true, NEVER).expect("compact");
        write(&mixed, 3, 300);
        Folders { logs, compacted, blobs, mixed }
    })
}

/// Commits puts and deletes to two namespaces.
fn write(vfs: &SimVfs, round: usize, value_bytes_max: usize) {
    let mut handle = open(vfs).expect("a sound cache");
    let names = [
        handle.namespace("n", "1").expect("name"),
        handle.namespace("m", &round.to_string()).expect("name"),
    ];
    for commit in 0..3 {
        for number in 0..KEYS {
            let value = [round as u8, commit as u8, number as u8]
                .repeat(value_bytes_max * number / KEYS / 3);
            handle.put(names[number % 2], key(number).as_bytes(), &value).expect("put");
        }
        handle.delete(names[0], key(commit).as_bytes()).expect("delete");
        handle
            .begin_commit()
            .expect("something to commit")
            .run(Some(Durability::Durable), 1_000)
            .expect("commit");
    }
}

fn key(number: usize) -> String {
    format!("key {number}")
}

fn open(vfs: &SimVfs) -> varve_core::Result<Handle> {
    let options = Options {
        block_cache_bytes: 1 << 20,
        blob_bytes_min: FILE_BYTES_MIN,
        ..Options::default()
    };
    Store::open(Arc::new(vfs.clone()), Arc::new(SerialPool), options).map(|store| store.handle())
}

/// The folder with other contents of some files and right checksums.
pub(super) fn with_files(vfs: &SimVfs, files: &[(&str, &[u8])]) -> SimVfs {
    let vfs = vfs.fork();
    for (name, bytes) in files {
        vfs.set_contents(name, bytes.to_vec());
    }
    reseal::reseal(&vfs);
    vfs
}

/// Edits: `u8` file, `u8` what, `u16` offset, `u8` count, for some as many bytes.
pub(super) fn edited(vfs: &SimVfs, mut edits: &[u8], is_sealed: bool) -> SimVfs {
    let vfs = vfs.fork();
    while let Some((&[file, what, low, high, count], rest)) = edits.split_first_chunk::<5>() {
        let names = vfs.names();
        let Some(name) = names.get(usize::from(file) % names.len().max(1)) else { break };
        let mut bytes = vfs.contents(name);
        let at = usize::from(u16::from_le_bytes([low, high])).min(bytes.len());
        let end = (at + usize::from(count)).min(bytes.len());
        let (new, rest) = rest.split_at(rest.len().min(usize::from(count)));
        edits = rest;
        match what % 6 {
            0 => {
                bytes[at..end.min(at + new.len())].copy_from_slice(&new[..new.len().min(end - at)])
            }
            1 => drop(bytes.splice(at..at, new.iter().copied())),
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => bytes = vfs.contents(&names[usize::from(count) % names.len()]),
            _ => {
                vfs.erase(name);
                continue;
            }
        }
        vfs.set_contents(name, bytes);
    }
    if is_sealed {
        reseal::reseal(&vfs);
    }
    vfs
}

/// Whether a file has a start of Varve: the letters of its kind, and a zero after them, as in any frame.
fn has_start(vfs: &SimVfs) -> bool {
    const KINDS: [&[u8]; 3] = [b"VLOG", b"VMAN", b"USED"];
    vfs.names().iter().map(|name| vfs.contents(name)).any(|bytes| {
        let is_frame = KINDS.iter().any(|kind| bytes.starts_with(kind))
            && bytes.get(..16).is_some_and(|start| start.contains(&0));
        is_frame || bytes.starts_with(b"varvetbl")
    })
}

/// Makes all calls of a user. Without forged checksums, the last commit must be found. With forged ones,
/// any contents are accepted.
pub(super) fn exercise(vfs: &SimVfs, is_forged: bool) {
    let Ok(mut handle) = open(vfs) else { return };
    read_all(&mut handle);
    let Ok(name) = handle.namespace("n", "1") else { return };
    if handle.put(name, b"new", b"value").is_err() {
        return;
    }
    let is_recognised = has_start(vfs);
    let committed = match handle.begin_commit().map(|commit| commit.run(None, 2_000)) {
        // Nothing shows that Varve wrote any of these files, so they stay, and the cache goes on in memory.
        Some(Err(error)) if error.code() == "NOT_A_CACHE" && !is_recognised => return,
        outcome => outcome.is_some_and(|done| done.is_ok()),
    };
    let there = |handle: &Handle| {
        handle.get(name, b"new", <[u8]>::to_vec).is_ok_and(|value| value.is_some())
    };
    assert!(is_forged || committed && there(&handle), "a commit after damage is there at once");
    let compacted = handle.store().compact(true, NEVER);
    assert!(
        is_forged || compacted.is_ok() && there(&handle),
        "and after a compaction: {compacted:?}"
    );
    let closed = handle.store().close();
    let Ok(mut handle) = open(vfs) else {
        return assert!(is_forged, "a cache that was just compacted opens");
    };
    let found =
        handle.namespace("n", "1").and_then(|name| handle.get(name, b"new", <[u8]>::to_vec));
    assert!(
        is_forged || found.is_ok_and(|value| value.is_some()),
        "and after it was opened again: {closed:?}"
    );
    if !is_forged {
        read_all(&mut handle);
    }
}

fn read_all(handle: &mut Handle) {
    for (name, version) in [("n", "1"), ("m", "1"), ("m", "3")] {
        let Ok(id) = handle.namespace(name, version) else { continue };
        for number in 0..KEYS {
            // A value, a miss or an error: all of them are allowed.
            let _ = handle.get(id, key(number).as_bytes(), |value| value.len());
        }
    }
    if let Ok(mut walk) = handle.store().walk(None, true) {
        walk.go_on(&mut |entry| {
            assert!(entry.value.len() == entry.value_bytes, "a walk has the whole value");
            ControlFlow::Continue(())
        });
    }
    let _ = handle.store().stats();
    let _ = handle.store().verify(NEVER);
    let _ = handle.store().list_blobs();
}
