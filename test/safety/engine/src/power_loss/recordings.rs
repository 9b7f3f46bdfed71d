//! Crash states of programs that used the built package, natively and under WebAssembly. `power-loss/record.mjs` has
//! recorded their system calls. A case is `<recording>:<model>:<state>`.

use super::check::read;
use super::recorded::{Changes, Commit, Recorded, apply};
use super::{crash, replay_state};
use crate::history::Expected;
use crate::order::{Order, numbers};
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::work::{caught, each};
use serde_json::Value;
use std::fs;
use std::path::Path;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs as _;

/// What the workloads are about, each with a goal for its number of states.
const PHASES: [&str; 6] = ["create", "commit", "compact", "collect", "quarantine", "clear"];

/// The part `recordings`.
pub(crate) fn recordings(order: &Order) -> Outcome {
    let random_states = if order.is_long { 80 } else { 6 };
    if let Some(case) = &order.replay {
        let mut tally = Tally::default();
        let (name, rest) = case.split_once(':').unwrap_or((case, ""));
        let state = || {
            replay_state(
                &recording(&order.recordings.join(name)),
                &numbers(rest),
                order.seed,
                random_states,
            )
        };
        if let Err(what) = caught(state).and_then(|outcome| outcome) {
            tally.violation(&what, case);
        }
        tally.add("replayed", 1);
        return tally.into_outcome(&[]);
    }
    let folders = fs::read_dir(&order.recordings)
        .expect("the recordings")
        .map(|entry| entry.expect("an entry").path());
    let folders: Vec<_> = folders.collect();
    let tally = each(0..folders.len() as u64, |index, tally| {
        let folder = &folders[index as usize];
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        match caught(|| recording(folder)) {
            Ok(history) => {
                let states = crash(&history, &name, order.seed, random_states, tally).len();
                tally.add("states.distinct", states as u64);
            }
            Err(what) => tally.violation(&what, &name),
        }
    });
    let names = PHASES.map(|phase| format!("shape.{phase}"));
    let due = if order.is_long { 20_000 } else { 2_000 };
    tally.into_outcome(&names.each_ref().map(|name| (name.as_str(), due)))
}

/// Plays a recording on a simulated directory, and checks that it leads to the real one.
fn recording(folder: &Path) -> Recorded {
    let bytes = fs::read(folder.join("recording.json")).expect("a recording");
    let all: Value = serde_json::from_slice(&bytes).expect("JSON");
    let vfs = SimVfs::new();
    for name in texts(&all["first"]) {
        vfs.set_contents(
            name,
            fs::read(folder.join("first").join(name)).expect("a file at the start"),
        );
    }
    vfs.settle();
    let mut content = content_before(&all, &vfs);
    let mut commits =
        vec![Commit { begun: 0, acknowledged: 0, durable: true, content: content.clone() }];
    let (mut begun, mut changes) = (0, list(&all["commits"]).iter());
    for operation in list(&all["operations"]) {
        let Some("mark") = operation[0].as_str() else {
            play(operation, &vfs);
            continue;
        };
        let (now, mark) = (vfs.operation_count(), text(&operation[1]));
        match mark {
            "begin" => {
                change(changes.next().expect("as many commits as marks"), &mut content);
                begun = now;
            }
            // A flush, or the end of a cache, makes the last commit durable.
            "durable" => begun = now,
            _ => {}
        }
        let commit = Commit {
            begun,
            acknowledged: now,
            durable: mark.ends_with("durable"),
            content: content.clone(),
        };
        match mark {
            "begin" => commits.push(Commit { acknowledged: usize::MAX, durable: false, ..commit }),
            "durable" => commits.push(commit),
            _ => {
                *commits.last_mut().expect("a commit that begins before it is acknowledged") =
                    commit
            }
        }
    }
    assert!(changes.next().is_none(), "every commit has a mark");
    compare(&vfs, &folder.join("last"), &all["last"]);
    let phase = PHASES.into_iter().find(|phase| *phase == text(&all["phase"])).expect("a phase");
    Recorded { shapes: vec![phase], steps: vec![(0, phase)], ..Recorded::of(vfs, commits) }
}

/// The content of the directory at the start. If a file in it was damaged, some entries are gone.
fn content_before(all: &Value, vfs: &SimVfs) -> Expected {
    let mut expected = Expected::new();
    list(&all["before"]).iter().for_each(|commit| change(commit, &mut expected));
    let found = read(&vfs.fork()).expect("the directory at the start");
    if all["isDamaged"] == true {
        assert!(
            found.iter().all(|(key, value)| expected.get(key) == Some(value)),
            "damage only removes entries"
        );
    } else {
        assert!(found == expected, "the directory at the start has what was committed");
    }
    found
}

/// Applies the changes of a commit.
fn change(commit: &Value, content: &mut Expected) {
    if commit["isReset"] == true {
        content.clear();
    }
    let one = |put: &Value| (text(&put[0]).as_bytes().to_vec(), put[1].as_str().map(bytes_of));
    apply(&list(&commit["changes"]).iter().map(one).collect::<Changes>(), content);
}

/// Makes one operation on the simulated directory.
fn play(operation: &Value, vfs: &SimVfs) {
    let name = |index: usize| text(&operation[index]);
    let number = |index: usize| operation[index].as_u64().expect("a number");
    let file = || number(1) as usize;
    let outcome = match name(0) {
        "create" => vfs.create_new(name(1)).map(drop),
        "link" => vfs.link(name(1), name(2)),
        "rename" => vfs.rename(name(1), name(2)),
        "remove" => vfs.remove(name(1)),
        "sync-folder" if name(1).is_empty() => vfs.sync_folder(),
        "sync-folder" => vfs.folder(name(1)).and_then(|folder| folder.sync_folder()),
        "write" => return vfs.write_at(file(), number(2), bytes_of(name(3))),
        "cut" => return vfs.cut(file(), number(2)),
        "sync" => return vfs.sync_file(file()),
        "sync-newest" => return vfs.sync_newest(file()),
        other => panic!("unknown operation {other}"),
    };
    outcome.unwrap_or_else(|error| panic!("{operation}: {error}"));
}

/// The recording is complete if its operations give every file of the real directory, byte for byte.
fn compare(vfs: &SimVfs, folder: &Path, names: &Value) {
    let names: Vec<&str> = texts(names).collect();
    assert_eq!(vfs.names(), names, "the names that the recorded calls leave");
    for name in names {
        let real = fs::read(folder.join(name)).expect("a file at the end");
        assert!(vfs.contents(name) == real, "the recorded calls give {name}");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    list(value).iter().map(text)
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// The bytes of hexadecimal digits.
fn bytes_of(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).expect("a digit") as u8;
    hex.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
