//! Regression tests for races found by `npm run test:safety -- concurrency` (`interleavings`, `writers`). Another process or
//! thread acts in the middle of a call, just before the file system is called.

use crate::history::{commit, compact, open};
use crate::hooked::{
    Hook, first_frame, hooked, hooked_with, open_seeded, opened_with, put, put_with, with_a_commit,
    with_a_commit_in,
};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use varve_core::testing::reseal;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{BlobRef, BlobWriter, Durability, Handle};

/// The log was listed and then claimed. A writer that had listed the directory while it was empty created the name once
/// more. A process that opened the cache at that moment missed the commits.
#[test]
fn a_commit_is_found_while_its_log_is_claimed_and_the_name_is_created_again() {
    let (vfs, _writer, _) = with_a_commit();
    let (other, mut is_done) = (vfs.clone(), false);
    let found = opened_with(
        &vfs,
        Box::new(move |call, name| {
            if call == "open" && name == "0.log" && !std::mem::replace(&mut is_done, true) {
                other.rename("0.log", "0-1.taken").expect("claim");
                other.create_new("0.log").expect("create");
            }
        }),
    );
    assert_eq!(found, (Some(b"value".to_vec()), 0));
}

/// A compaction replaces the manifest each time before it is read.
#[test]
fn a_reader_that_loses_every_race_against_compactions_reports_no_damage() {
    let (vfs, mut writer, id) = with_a_commit();
    compact(&writer, true).expect("compact");
    let mut races = 0u32;
    let found = opened_with(
        &vfs,
        Box::new(move |call, name| {
            if call == "open" && name.starts_with("manifest-") && races < 100 {
                races += 1;
                writer.put(id, b"other", &races.to_le_bytes()).expect("put");
                commit(&mut writer, Durability::Relaxed).expect("commit");
                compact(&writer, true).expect("compact");
            }
        }),
    );
    assert_eq!(found, (Some(b"value".to_vec()), 0));
}

/// A writer without a lock commits enough for a table. Before it opens the table, another process checkpoints its log
/// and merges the table into another one. The writer reported the table as damaged and missed its own commit.
#[test]
fn a_process_reads_the_table_it_just_committed_although_another_one_has_merged_it() {
    let vfs = SimVfs::new().without_locks();
    let (other, mut is_done) = (vfs.clone(), false);
    let hook: Hook = Box::new(move |call, name| {
        if call == "open" && name.ends_with(".table") && !std::mem::replace(&mut is_done, true) {
            compact(&open(&other).expect("open"), true).expect("compact");
        }
    });
    let mut handle = hooked(&vfs, hook);
    let id = handle.namespace("n", "1").expect("namespace");
    let value = vec![7; 600 << 10];
    for round in 0..2u8 {
        for key in [b"large", b"great"] {
            handle.put(id, key, &value).expect("put");
        }
        handle.put(id, b"key", &[round]).expect("put");
        commit(&mut handle, Durability::Relaxed).expect("commit");
        assert_eq!(handle.get(id, b"key", <[u8]>::to_vec).expect("get"), Some(vec![round]));
        assert_eq!(handle.get(id, b"large", <[u8]>::len).expect("get"), Some(value.len()));
    }
    assert_eq!(handle.store().status().damage.len(), 0);
}

/// During a compaction, a process reads a commit that attaches a table. Before it opens the table, the writer closes
/// and merges it into another one. Lookups reported "missing file" until the next refresh.
#[test]
fn a_compaction_reports_no_missing_file_when_another_process_merges_a_table() {
    let (vfs, mut writer, id) = with_a_commit();
    let large = vec![7; 600 << 10];
    let armed = Arc::new(Mutex::new(None::<Handle>));
    let closing = Arc::clone(&armed);
    let hook: Hook = Box::new(move |call, name| {
        if call == "open"
            && name.ends_with(".table")
            && let Some(writer) = closing.lock().expect("writer").take()
        {
            writer.store().close().expect("close");
        }
    });
    let mut reader = hooked(&vfs, hook);
    assert_eq!(reader.namespace("n", "1").expect("namespace"), id);
    writer.put(id, b"large", &large).expect("put");
    writer.put(id, b"great", &large).expect("put");
    writer.put(id, b"key", b"newer").expect("put");
    commit(&mut writer, Durability::Relaxed).expect("commit");
    *armed.lock().expect("writer") = Some(writer);
    compact(&reader, false).expect("compact");
    assert!(armed.lock().expect("writer").is_none(), "the table was opened");
    assert_eq!(reader.get(id, b"large", <[u8]>::len).expect("get"), None);
    assert_eq!(reader.get(id, b"key", <[u8]>::to_vec).expect("get"), Some(b"value".to_vec()));
    assert_eq!(reader.store().status().damage, []);
    reader.store().refresh().expect("refresh");
    assert_eq!(reader.get(id, b"large", <[u8]>::len).expect("get"), Some(large.len()));
}

/// Another process stores the same content between the check and the link, and a collection removes it before the next
/// check. The call failed with "operation interrupted".
#[test]
fn a_blob_is_stored_although_others_store_and_collect_it_at_the_same_time() {
    let vfs = SimVfs::new();
    let content = [7; 50];
    let file = BlobRef::of(&content);
    let name = file.digest.to_string();
    let path = format!("files/{}/{name}", &name[..2]);
    let (other, mut calls) = (vfs.clone(), 0u32);
    let hook: Hook = Box::new(move |call, of| {
        if of == name {
            calls += 1;
            match (calls, call) {
                (1, "open") => {}
                (2, "link") => other.set_contents(&path, content.to_vec()),
                (3, "open") => other.remove(&path).expect("collect"),
                _ => assert!(calls > 3, "{calls} is {call}"),
            }
        }
    });
    let handle = hooked(&vfs, hook);
    let intake = BlobWriter::new(handle.store()).expect("hold");
    assert_eq!(intake.store(&content).expect("store"), file);
    assert_eq!(handle.store().read_blob(&file).expect("read"), Some(content.to_vec()));
}

/// Without hard links, a process may crash after creating the name of a manifest and before writing it. A process that
/// had just written a lower manifest withdrew it, although others might already have removed the logs that it covered.
#[test]
fn a_manifest_with_an_empty_one_above_it_is_published_again_above_both() {
    let (vfs, writer, _) = with_a_commit_in(SimVfs::new().without_links());
    drop(writer);
    let (other, mut is_done) = (vfs.clone(), false);
    let is_written = |vfs: &SimVfs| {
        vfs.names().iter().any(|name| name == "manifest-2" && !vfs.contents(name).is_empty())
    };
    let hook: Hook = Box::new(move |call, _| {
        if call == "list" && is_written(&other) && !std::mem::replace(&mut is_done, true) {
            compact(&open(&other).expect("open"), false).expect("collect");
            other.create_new("manifest-3").expect("create");
        }
    });
    compact(&hooked(&vfs, hook), true).expect("compact");
    let manifests: Vec<_> =
        vfs.names().into_iter().filter(|name| name.starts_with("manifest-")).collect();
    assert_eq!(manifests, ["manifest-4"]);
    assert_eq!(opened_with(&vfs, Box::new(|_, _| {})), (Some(b"value".to_vec()), 0));
}

/// A compaction claims a log, loses the race to publish, and begins again. Meanwhile a slow writer creates the name of
/// the log once more. That file was claimed as well, and replaced the first one.
#[test]
fn a_claimed_log_is_not_replaced_by_a_new_log_of_the_same_number() {
    const START_BYTES: usize = 64;
    let (vfs, writer, _) = with_a_commit_in(SimVfs::new().without_locks());
    drop(writer);
    let (other, mut is_done) = (vfs.clone(), false);
    let hook: Hook = Box::new(move |call, name| {
        if call == "link" && name == "manifest-2" && !std::mem::replace(&mut is_done, true) {
            let first = other.contents("manifest-1");
            let body_bytes =
                u32::from_le_bytes(*first[4..].first_chunk().expect("a length")) as usize;
            other.set_contents("manifest-2", reseal::manifest(2, 1, &first[32..32 + body_bytes]));
            other.set_contents("0.log", other.contents("0-1.taken")[..START_BYTES].to_vec());
        }
    });
    compact(&hooked(&vfs, hook), true).expect("compact");
    assert_eq!(opened_with(&vfs, Box::new(|_, _| {})), (Some(b"value".to_vec()), 0));
}

/// Two processes collect at once. One had renamed a blob, the blob was stored again, and the other process removed it.
#[test]
#[expect(clippy::disallowed_methods, reason = "it stands for another process")]
fn a_blob_stored_during_two_concurrent_collections_stays() {
    let vfs = SimVfs::new();
    let content = [7; 50];
    let file = BlobRef::of(&content);
    BlobWriter::new(open(&vfs).expect("open").store())
        .expect("hold")
        .store(&content)
        .expect("store");
    let (reached, is_reached) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let mut second = Some(hooked_with(
        &vfs,
        Box::new(move |call, name| {
            if call == "remove" && name.ends_with(".gone") {
                reached.send(()).expect("send");
                may_go_on.recv().expect("wait");
            }
        }),
        2,
    ));
    let (other, name, mut running, mut kept) = (vfs.clone(), file.digest.to_string(), None, None);
    let first = hooked(
        &vfs,
        Box::new(move |call, of| {
            if call == "rename"
                && of == name
                && let Some(second) = second.take()
            {
                running = Some(thread::spawn(move || compact(&second, true)));
                is_reached.recv().expect("the second collection is about to remove it");
                let intake = BlobWriter::new(open(&other).expect("open").store()).expect("hold");
                assert_eq!(intake.store(&content).expect("store"), file);
                kept = Some(intake);
            } else if call == "link"
                && of == name
                && let Some(running) = running.take()
            {
                go_on.send(()).expect("send");
                running.join().expect("no panic").expect("compact");
                assert!(kept.is_some());
            }
        }),
    );
    compact(&first, true).expect("compact");
    assert_eq!(first.store().read_blob(&file).expect("read"), Some(content.to_vec()));
}

/// A log that is renamed during a listing may be missing in it. A process that refreshed at that moment missed
/// acknowledged commits until its next refresh.
#[test]
fn a_refresh_finds_a_log_that_is_renamed_during_the_listing() {
    let (vfs, _writer, _) = with_a_commit();
    let hidden = Arc::new(Mutex::new(0u32));
    let hook: Hook = {
        let (other, hidden) = (vfs.clone(), Arc::clone(&hidden));
        Box::new(move |call, _| {
            let mut left = hidden.lock().expect("hidden");
            if call == "list" && *left > 0 {
                *left -= 1;
                let (from, to) =
                    if *left == 1 { ("1.log", "hidden") } else { ("hidden", "1-2.taken") };
                other.rename(from, to).expect("rename");
            }
        })
    };
    let mut handle = hooked(&vfs, hook);
    put(&mut open(&vfs).expect("open"), b"second");
    *hidden.lock().expect("hidden") = 2;
    assert!(handle.store().refresh().expect("refresh"));
    let id = handle.namespace("n", "1").expect("namespace");
    assert_eq!(handle.get(id, b"second", <[u8]>::to_vec).expect("get"), Some(b"value".to_vec()));
}

/// Without hard links, several processes may create a cache at once under different numbers. A process that found a
/// higher number withdrew its manifest, and with it all commits of other processes since then.
#[test]
fn a_cache_created_by_several_processes_at_once_without_hard_links_keeps_every_commit() {
    let vfs = SimVfs::new().without_links();
    let (other, mut lists) = (vfs.clone(), 0u32);
    let is_created = |vfs: &SimVfs| {
        vfs.names().iter().any(|name| name == "manifest-1" && !vfs.contents(name).is_empty())
    };
    let hook: Hook = Box::new(move |call, _| {
        lists += u32::from(call == "list" && (lists > 0 || is_created(&other)));
        if call == "list" && lists == 1 {
            put(&mut open(&other).expect("open"), b"second");
            // A process that had seen no manifest creates this one and crashes.
            other.create_new("manifest-2").expect("create");
        } else if call == "list" && lists == 2 {
            put(&mut open(&other).expect("open"), b"third");
        }
    });
    put(&mut hooked_with(&vfs, hook, 7), b"first");
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    for key in [b"first".as_slice(), b"second", b"third"] {
        assert_eq!(handle.get(id, key, <[u8]>::to_vec).expect("get"), Some(b"value".to_vec()));
    }
    assert_eq!(handle.store().status().damage.len(), 0);
}

/// The state was locked while a flush synced the logs of other processes, so every lookup and commit waited for the
/// disk.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a thread of the host, next to one that waits for the disk"
)]
fn lookups_and_commits_continue_while_a_flush_waits_for_the_disk() {
    let vfs = SimVfs::new();
    let mut other = open(&vfs).expect("open");
    let beside: Arc<Mutex<Option<Handle>>> = Arc::default();
    let waiting = Arc::clone(&beside);
    let (sender, receiver) = mpsc::channel();
    let mut handle = hooked(
        &vfs,
        Box::new(move |call, _| {
            if call != "sync_folder" {
                return;
            }
            let Some(mut beside) = waiting.lock().expect("beside").take() else { return };
            let (found, finds) = mpsc::channel();
            thread::spawn(move || {
                let id = put_with(&mut beside, b"meanwhile", Durability::Relaxed);
                found.send(beside.get(id, b"theirs", <[u8]>::to_vec).expect("get")).expect("send");
            });
            sender.send(finds.recv_timeout(Duration::from_secs(20))).expect("send");
        }),
    );
    put(&mut handle, b"own");
    put_with(&mut other, b"theirs", Durability::Relaxed);
    assert!(handle.store().refresh().expect("refresh"));
    *beside.lock().expect("beside") = Some(handle.store().handle());
    handle.store().flush().expect("flush");
    let found = receiver.try_recv().expect("the flush synced the directory");
    assert_eq!(found.expect("the other thread did not wait for the disk"), Some(b"value".to_vec()));
}

/// The manifest was lost after a writer had claimed its log and while another process created the cache, which ignored
/// that log. Every entry of the new cache became a miss as soon as the writer appended to its log.
#[test]
fn commits_to_a_cache_created_again_stay_although_the_writer_of_an_older_log_appends_to_it() {
    let mut created = 0; // counts the lists at which the scenario happens
    for list in 1..=3 {
        let vfs = SimVfs::new();
        let (other, mut lists, whole) = (vfs.clone(), 0, Arc::new(Mutex::new(Vec::new())));
        let log = Arc::clone(&whole);
        let hook: Hook = Box::new(move |call, _| {
            lists += usize::from(call == "list");
            if lists != list || call != "list" {
                return;
            }
            let late = open_seeded(&other, 2);
            let _hold = BlobWriter::new(late.store()).expect("hold");
            let bytes = other.contents("0.log");
            // Cuts its last frame, which pins blobs.
            other.truncate("0.log", bytes.len() as u64 - 32);
            other.erase("manifest-1");
            *log.lock().expect("log") = bytes;
        });
        put(&mut hooked(&vfs, hook), b"key");
        let log = std::mem::take(&mut *whole.lock().expect("log"));
        if log.is_empty() || !vfs.names().iter().any(|name| name == "0.log") {
            continue; // the cache was created before or reset
        }
        vfs.set_contents("0.log", log);
        let mut reader = open_seeded(&vfs, 3);
        let id = reader.namespace("n", "1").expect("namespace");
        assert!(
            reader.has(id, b"key").expect("has"),
            "at list {list}: {:?}",
            reader.store().status().damage
        );
        created += 1;
    }
    assert!(created > 0);
}

/// Two compactions claim a log. Between them, a slow writer that had chosen the same number creates its name again. A
/// third process commits before a manifest is published. Its log had seen two logs of one number, and counted as "log
/// of another lineage" under the manifest, which knew one of them, or both: the cache was reset.
#[test]
fn a_commit_beside_compactions_that_claimed_two_logs_of_one_number_stays() {
    // The call of the compaction before which the other one claims its log.
    for (call, file) in [("rename", "0.log"), ("link", "manifest-2")] {
        let (vfs, mut first, _) = with_a_commit_in(SimVfs::new().without_locks());
        let (ghost, other, mut committed) = (given_up_log(&vfs), vfs.clone(), false);
        let hook: Hook = Box::new(move |called, name| {
            if (called, name) == (call, file) && !committed {
                if call == "rename" {
                    other.rename("0.log", "0-2.taken").expect("claim");
                }
                let created = if call == "rename" { "0.log" } else { "0-2.taken" };
                other.set_contents(created, ghost.clone());
            }
            if (called, name) == ("link", "manifest-2") && !std::mem::replace(&mut committed, true)
            {
                let mut third = open_seeded(&other, 3);
                put(&mut third, b"third");
            }
        });
        compact(&hooked_with(&vfs, hook, 2), true).expect("compact");
        let mut reader = open(&vfs).expect("open");
        let id = reader.namespace("n", "1").expect("namespace");
        let found = |key: &[u8]| reader.has(id, key).expect("has");
        let damage = reader.store().status().damage;
        assert!(found(b"key") && found(b"third"), "beside {call} of {file}: {damage:?}");
        assert_eq!(damage, []);
        put(&mut first, b"key");
    }
}

/// The log of number 0 that another process began on the same manifest, and gave up.
fn given_up_log(vfs: &SimVfs) -> Vec<u8> {
    let elsewhere = vfs.fork();
    elsewhere.remove("0.log").expect("remove");
    let mut handle = open_seeded(&elsewhere, 9);
    put(&mut handle, b"key");
    first_frame(&elsewhere.contents("0.log"))
}

/// A process looked for the start of a log before its writer had begun it, and read the log after the writer had sealed
/// it. The log without a start then counted as missing: the next commit reset the cache.
#[test]
fn a_log_that_is_begun_and_sealed_while_it_is_read_is_no_damage() {
    let (vfs, _first, _) = with_a_commit_in(SimVfs::new());
    let elsewhere = vfs.fork();
    let mut second = open_seeded(&elsewhere, 2);
    put(&mut second, b"second");
    second.store().close().expect("close");
    vfs.create_new("1.log").expect("create");
    let (other, mut scans) = (vfs.clone(), 0);
    let hook: Hook = Box::new(move |call, name| {
        scans += u32::from((call, name) == ("len", "1.log"));
        if scans == 2 {
            other.set_contents("1.log", elsewhere.contents("1.log"));
        }
    });
    let mut reader = hooked_with(&vfs, hook, 3);
    put(&mut open_seeded(&vfs, 4), b"third");
    let id = put(&mut reader, b"own");
    reader.store().refresh().expect("refresh");
    assert_eq!(reader.store().status().damage, []);
    for key in [b"key".as_slice(), b"second", b"third", b"own"] {
        assert!(reader.has(id, key).expect("has"), "{key:?}");
    }
}

/// Without hard links, a reset found the manifest of another reset not yet whole, and published a second one above it
/// after it had become whole: commits made since then were lost.
#[test]
fn commits_after_a_reset_stay_although_another_process_that_resets_saw_its_manifest_unfinished() {
    let (vfs, _, _) = with_a_commit_in(SimVfs::new().without_links());
    vfs.flip("manifest-1", 40, 0);
    let other = vfs.fork();
    put(&mut open_seeded(&other, 3), b"after the reset");
    vfs.create_new("manifest-2").expect("create");
    let (here, mut finished) = (vfs.clone(), false);
    let hook: Hook = Box::new(move |call, name| {
        if (call, name) == ("link", "manifest-3") && !std::mem::replace(&mut finished, true) {
            here.erase("manifest-1");
            other.names().iter().for_each(|name| here.set_contents(name, other.contents(name)));
        }
    });
    put(&mut hooked_with(&vfs, hook, 5), b"at the same time");
    let mut reader = open(&vfs).expect("open");
    let id = reader.namespace("n", "1").expect("namespace");
    let damage = reader.store().status().damage;
    assert!(reader.has(id, b"after the reset").expect("has"), "{:?}, {damage:?}", vfs.names());
    assert!(reader.has(id, b"at the same time").expect("has"), "{:?}, {damage:?}", vfs.names());
}
