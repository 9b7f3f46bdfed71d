//! Symptoms of races that `npm run test:concurrency` found (`interleavings`, `writers`). Somebody else acts
//! in the middle of a call: just before the file system is asked for it.

use crate::history::{commit, compact, open};
use crate::meddled::{Meddler, meddled, meddled_with, opened_with, put, put_with, with_a_commit, with_a_commit_in};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use varve_core::testing::reseal;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{BlobRef, BlobWriter, Durability, Handle};

/// Another thread is at its lock by then; where it is not, a test proves less and is not wrong.
const WAIT: Duration = Duration::from_millis(50);

/// The log was listed, then taken, and its number created once more by somebody who had seen the folder when it was
/// empty. He would see that the number is used and go; whoever opened the cache at that moment missed the commits.
#[test]
fn a_commit_is_not_missed_while_its_log_is_taken_and_the_name_created_once_more() {
    let (vfs, _writer, _) = with_a_commit();
    let (other, mut is_done) = (vfs.clone(), false);
    let found = opened_with(
        &vfs,
        Box::new(move |call, name| {
            if call == "open" && name == "0.log" && !std::mem::replace(&mut is_done, true) {
                other.rename("0.log", "0-1.taken").expect("take");
                other.create_new("0.log").expect("create");
            }
        }),
    );
    assert_eq!(found, (Some(b"value".to_vec()), 0));
}

/// Each time that the manifest is about to be read, a compaction has replaced it.
#[test]
fn who_loses_every_race_against_compactions_tells_no_damage() {
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

/// A writer without a lock commits so much that it writes a table, and before it opens that table somebody has folded
/// its log and merged the table into another. It told the table as damaged and missed its own commit.
#[test]
fn who_has_just_committed_a_table_reads_it_although_it_is_merged_already() {
    let vfs = SimVfs::new().without_locks();
    let (other, mut is_done) = (vfs.clone(), false);
    let meddler: Meddler = Box::new(move |call, name| {
        if call == "open" && name.ends_with(".table") && !std::mem::replace(&mut is_done, true) {
            compact(&open(&other).expect("open"), true).expect("compact");
        }
    });
    let mut handle = meddled(&vfs, meddler);
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

/// While a process compacts, it reads a commit that attaches a table, and before it opens that table the writer has
/// closed and merged it into another. Lookups reported "missing file" until the next refresh.
#[test]
fn who_compacts_while_a_table_is_merged_away_reports_no_missing_file() {
    let (vfs, mut writer, id) = with_a_commit();
    let large = vec![7; 600 << 10];
    let armed = Arc::new(Mutex::new(None::<Handle>));
    let closing = Arc::clone(&armed);
    let meddler: Meddler = Box::new(move |call, name| {
        if call == "open"
            && name.ends_with(".table")
            && let Some(writer) = closing.lock().expect("writer").take()
        {
            writer.store().close().expect("close");
        }
    });
    let mut reader = meddled(&vfs, meddler);
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

/// Somebody stores the same content between our look and our link; it is collected before we look again. That was an
/// error, "operation interrupted".
#[test]
fn content_that_others_store_and_collect_meanwhile_is_stored() {
    let vfs = SimVfs::new();
    let content = [7; 50];
    let file = BlobRef::of(&content);
    let name = file.digest.to_string();
    let path = format!("files/{}/{name}", &name[..2]);
    let (other, mut calls) = (vfs.clone(), 0u32);
    let meddler: Meddler = Box::new(move |call, of| {
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
    let handle = meddled(&vfs, meddler);
    let intake = BlobWriter::new(handle.store()).expect("hold");
    assert_eq!(intake.store(&content).expect("store"), file);
    assert_eq!(handle.store().read_blob(&file).expect("read"), Some(content.to_vec()));
}

/// Without hard links somebody may die between creating the name of a manifest and writing it. Whoever had written a
/// lower one just then took it back, although others might have removed by then what it had folded.
#[test]
fn a_manifest_with_an_empty_one_above_it_is_published_once_more_above_both() {
    let (vfs, writer, _) = with_a_commit_in(SimVfs::new().without_links());
    drop(writer);
    let (other, mut is_done) = (vfs.clone(), false);
    let is_written =
        |vfs: &SimVfs| vfs.names().iter().any(|name| name == "manifest-2" && !vfs.contents(name).is_empty());
    let meddler: Meddler = Box::new(move |call, _| {
        if call == "list" && is_written(&other) && !std::mem::replace(&mut is_done, true) {
            compact(&open(&other).expect("open"), false).expect("sweep");
            other.create_new("manifest-3").expect("create");
        }
    });
    compact(&meddled(&vfs, meddler), true).expect("compact");
    let manifests: Vec<_> = vfs.names().into_iter().filter(|name| name.starts_with("manifest-")).collect();
    assert_eq!(manifests, ["manifest-4"]);
    assert_eq!(opened_with(&vfs, Box::new(|_, _| {})), (Some(b"value".to_vec()), 0));
}

/// A compaction takes a log, loses against somebody else, and begins again. Meanwhile somebody slow has created the
/// log's number once more; it was taken as well, and replaced the first.
#[test]
fn a_log_that_was_taken_is_not_replaced_by_one_created_under_its_number() {
    const START_BYTES: usize = 64;
    let (vfs, writer, _) = with_a_commit_in(SimVfs::new().without_locks());
    drop(writer);
    let (other, mut is_done) = (vfs.clone(), false);
    let meddler: Meddler = Box::new(move |call, name| {
        if call == "link" && name == "manifest-2" && !std::mem::replace(&mut is_done, true) {
            let first = other.contents("manifest-1");
            let body_bytes = u32::from_le_bytes(*first[4..].first_chunk().expect("a length")) as usize;
            other.set_contents("manifest-2", reseal::manifest(2, 1, &first[32..32 + body_bytes]));
            other.set_contents("0.log", other.contents("0-1.taken")[..START_BYTES].to_vec());
        }
    });
    compact(&meddled(&vfs, meddler), true).expect("compact");
    assert_eq!(opened_with(&vfs, Box::new(|_, _| {})), (Some(b"value".to_vec()), 0));
}

/// Two collect at once. What one had renamed, just after it was stored anew, the other one removed.
#[test]
#[expect(clippy::disallowed_methods, reason = "the other one is another process")]
fn content_that_is_stored_between_two_collections_stays() {
    let vfs = SimVfs::new();
    let content = [7; 50];
    let file = BlobRef::of(&content);
    BlobWriter::new(open(&vfs).expect("open").store()).expect("hold").store(&content).expect("store");
    let (reached, is_reached) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let mut second = Some(meddled_with(
        &vfs,
        Box::new(move |call, name| {
            if call == "remove" && name.ends_with(".gone") {
                reached.send(()).expect("tell");
                may_go_on.recv().expect("wait");
            }
        }),
        2,
    ));
    let (other, name, mut running, mut kept) = (vfs.clone(), file.digest.to_string(), None, None);
    let first = meddled(
        &vfs,
        Box::new(move |call, of| {
            if call == "rename"
                && of == name
                && let Some(second) = second.take()
            {
                running = Some(thread::spawn(move || compact(&second, true)));
                is_reached.recv().expect("the second one is about to remove it");
                let intake = BlobWriter::new(open(&other).expect("open").store()).expect("hold");
                assert_eq!(intake.store(&content).expect("store"), file);
                kept = Some(intake);
            } else if call == "link"
                && of == name
                && let Some(running) = running.take()
            {
                go_on.send(()).expect("tell");
                running.join().expect("no panic").expect("compact");
                assert!(kept.is_some());
            }
        }),
    );
    compact(&first, true).expect("compact");
    assert_eq!(first.store().read_blob(&file).expect("read"), Some(content.to_vec()));
}

/// A log that is renamed while the folder is listed may be in no list. Who refreshed at that moment missed commits that
/// were acknowledged, until the next time.
#[test]
fn a_refresh_does_not_miss_a_log_that_is_renamed_while_the_folder_is_listed() {
    let (vfs, _writer, _) = with_a_commit();
    let hidden = Arc::new(Mutex::new(0u32));
    let meddler: Meddler = {
        let (other, hidden) = (vfs.clone(), Arc::clone(&hidden));
        Box::new(move |call, _| {
            let mut left = hidden.lock().expect("hidden");
            if call == "list" && *left > 0 {
                *left -= 1;
                let (from, to) = if *left == 1 { ("1.log", "aside") } else { ("aside", "1-2.taken") };
                other.rename(from, to).expect("rename");
            }
        })
    };
    let mut handle = meddled(&vfs, meddler);
    put(&mut open(&vfs).expect("open"), b"second");
    *hidden.lock().expect("hidden") = 2;
    assert!(handle.store().refresh().expect("refresh"));
    let id = handle.namespace("n", "1").expect("namespace");
    assert_eq!(handle.get(id, b"second", <[u8]>::to_vec).expect("get"), Some(b"value".to_vec()));
}

/// Without hard links several may begin a cache under numbers of their own. Who found somebody else's number above his
/// took his manifest away, and with it whatever others had committed since.
#[test]
fn a_cache_that_several_begin_at_once_without_hard_links_keeps_what_is_committed() {
    let vfs = SimVfs::new().without_links();
    let (other, mut lists) = (vfs.clone(), 0u32);
    let is_begun = |vfs: &SimVfs| vfs.names().iter().any(|name| name == "manifest-1" && !vfs.contents(name).is_empty());
    let meddler: Meddler = Box::new(move |call, _| {
        lists += u32::from(call == "list" && (lists > 0 || is_begun(&other)));
        if call == "list" && lists == 1 {
            put(&mut open(&other).expect("open"), b"second");
            // Somebody who had seen no manifest, and dies here.
            other.create_new("manifest-2").expect("create");
        } else if call == "list" && lists == 2 {
            put(&mut open(&other).expect("open"), b"third");
        }
    });
    put(&mut meddled_with(&vfs, meddler, 7), b"first");
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    for key in [b"first".as_slice(), b"second", b"third"] {
        assert_eq!(handle.get(id, key, <[u8]>::to_vec).expect("get"), Some(b"value".to_vec()));
    }
    assert_eq!(handle.store().status().damage.len(), 0);
}

/// A commit that waited for another one while a third thread closed the store wrote on top of a state that knew
/// nothing: it was acknowledged under a number below those of older commits, which came back.
#[test]
#[expect(clippy::disallowed_methods, reason = "threads of the host, of which one has to come first")]
fn a_commit_that_waits_while_the_store_is_closed_is_refused() {
    let (vfs, _writer, _) = with_a_commit();
    let second: Arc<Mutex<Option<Handle>>> = Arc::default();
    let waiting = Arc::clone(&second);
    let (tell, told) = mpsc::channel();
    let mut first = meddled(
        &vfs,
        Box::new(move |_, _| {
            let Some(mut second) = waiting.lock().expect("second").take() else { return };
            let closing = Arc::clone(second.store());
            let committed = thread::spawn(move || {
                let id = second.namespace("n", "1").expect("namespace");
                second.put(id, b"key", b"second").expect("put");
                commit(&mut second, Durability::Relaxed)
            });
            thread::sleep(WAIT);
            let closed = thread::spawn(move || closing.close());
            thread::sleep(WAIT);
            tell.send((committed, closed)).expect("tell");
        }),
    );
    *second.lock().expect("second") = Some(first.store().handle());
    let id = first.namespace("n", "1").expect("namespace");
    first.put(id, b"key", b"first").expect("put");
    commit(&mut first, Durability::Relaxed).expect("commit");
    let (committed, closed) = told.try_recv().expect("the commit asked for a file");
    closed.join().expect("no panic").expect("close");
    let refused = committed.join().expect("no panic").expect_err("closed");
    assert_eq!(refused.code(), "CLOSED");
    let mut last = open(&vfs).expect("open");
    let id = last.namespace("n", "1").expect("namespace");
    assert_eq!(last.get(id, b"key", <[u8]>::to_vec).expect("get"), Some(b"first".to_vec()));
}

/// The state was locked while a flush synced the logs of other processes: every lookup and commit waited for the disk.
#[test]
#[expect(clippy::disallowed_methods, reason = "another thread of the host, beside one that waits for the disk")]
fn lookups_and_commits_go_on_while_a_flush_waits_for_the_disk() {
    let vfs = SimVfs::new();
    let mut other = open(&vfs).expect("open");
    let beside: Arc<Mutex<Option<Handle>>> = Arc::default();
    let waiting = Arc::clone(&beside);
    let (tell, told) = mpsc::channel();
    let mut handle = meddled(
        &vfs,
        Box::new(move |call, _| {
            if call != "sync_folder" {
                return;
            }
            let Some(mut beside) = waiting.lock().expect("beside").take() else { return };
            let (found, finds) = mpsc::channel();
            thread::spawn(move || {
                let id = put_with(&mut beside, b"meanwhile", Durability::Relaxed);
                found.send(beside.get(id, b"theirs", <[u8]>::to_vec).expect("get")).expect("tell");
            });
            tell.send(finds.recv_timeout(Duration::from_secs(20))).expect("tell");
        }),
    );
    put(&mut handle, b"own");
    put_with(&mut other, b"theirs", Durability::Relaxed);
    assert!(handle.store().refresh().expect("refresh"));
    *beside.lock().expect("beside") = Some(handle.store().handle());
    handle.store().flush().expect("flush");
    let found = told.try_recv().expect("the flush synced the folder");
    assert_eq!(found.expect("the other thread did not wait for the disk"), Some(b"value".to_vec()));
}

/// A writer had claimed its log when the manifest was lost, and another process was about to begin the cache: it did so
/// without regard to that log. What the log's writer appended next made all of the new cache a miss.
#[test]
fn commits_to_a_cache_that_was_begun_again_stay_although_an_older_log_is_appended_to() {
    let mut begun = 0; // at the last list, which the process makes that begins the cache
    for list in 1..=3 {
        let vfs = SimVfs::new();
        let (other, mut lists, whole) = (vfs.clone(), 0, Arc::new(Mutex::new(Vec::new())));
        let log = Arc::clone(&whole);
        let meddler: Meddler = Box::new(move |call, _| {
            lists += usize::from(call == "list");
            if lists != list || call != "list" {
                return;
            }
            let late = meddled_with(&other, Box::new(|_, _| ()), 2);
            let _hold = BlobWriter::new(late.store()).expect("hold");
            let bytes = other.contents("0.log");
            // Before its last frame, which says that files are held.
            other.truncate("0.log", bytes.len() as u64 - 32);
            other.erase("manifest-1");
            *log.lock().expect("log") = bytes;
        });
        put(&mut meddled(&vfs, meddler), b"key");
        let log = std::mem::take(&mut *whole.lock().expect("log"));
        if log.is_empty() || !vfs.names().iter().any(|name| name == "0.log") {
            continue; // the cache was not begun in between, or started afresh
        }
        vfs.set_contents("0.log", log);
        let mut reader = meddled_with(&vfs, Box::new(|_, _| ()), 3);
        let id = reader.namespace("n", "1").expect("namespace");
        assert!(reader.has(id, b"key").expect("has"), "at list {list}: {:?}", reader.store().status().damage);
        begun += 1;
    }
    assert!(begun > 0);
}
