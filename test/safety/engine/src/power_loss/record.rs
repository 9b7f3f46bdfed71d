//! Random histories of one cache, with a note of what was committed at which operation and in which phase.
//!
//! A history has a machine (with all features, without links, without locks, or Windows; durable appends may be padded)
//! and a scenario:
//! - one writer after another, upgrades, deletion of everything;
//! - two writers at the same time, the second without locks, as WebAssembly beside the native engine;
//! - days: readers that write use records, and a cache that evicts its least recently used entries.

mod beside;
mod days;

use super::recorded::{Changes, Commit, Recorded, apply};
use crate::history::{
    Expected, commit_at, compact, dump, open_with, open_with_blobs, random_key, random_value,
};
use varve_core::testing::sim::SimVfs;
use varve_core::{Durability, Handle, Options};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// What a history is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    OneByOne,
    Beside,
    Days,
}

/// The history of a seed; panics where a step fails, for nothing goes wrong in it but the crash.
pub(crate) fn record(seed: u64) -> Recorded {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut vfs, mut shapes) = (SimVfs::new(), Vec::new());
    let machine = random.u32(..8);
    match machine {
        0 | 1 => vfs = vfs.without_links(),
        2 => vfs = vfs.without_locks(),
        3 => {
            vfs = vfs.windows();
            shapes.push("windows");
        }
        4 | 5 => {
            vfs = vfs.padded();
            shapes.push("padded");
        }
        _ => {}
    }
    let life = match random.u32(..6) {
        0 if machine != 2 => Life::Beside,
        1 => Life::Days,
        _ => Life::OneByOne,
    };
    match life {
        Life::OneByOne => {}
        Life::Beside => shapes.push("beside"),
        Life::Days => shapes.push("days"),
    }
    let blob_bytes_min = if random.bool() { 64 } else { Options::default().blob_bytes_min };
    let bytes_max = if life == Life::Days {
        random.u64(2 << 10..12 << 10)
    } else {
        Options::default().bytes_max
    };
    let base = if random.u32(..5) == 0 {
        damaged(&mut random, &vfs, blob_bytes_min)
    } else {
        Expected::new()
    };
    let first = if vfs.names().is_empty() { "create" } else { "reset" };
    let options =
        Options { block_cache_bytes: 1 << 20, blob_bytes_min, bytes_max, ..Options::default() };
    let mut recorder = Recorder::begin(vfs, options, life, base);
    recorder.pads = shapes.contains(&"padded");
    recorder.is_windows = shapes.contains(&"windows");
    if first == "reset" {
        recorder.version = recorder.current_version();
    }
    recorder.commit_some(&mut random, 0, first);
    for _ in 1..random.usize(2..9) {
        match life {
            Life::OneByOne => recorder.step(&mut random),
            Life::Beside => recorder.step_beside(&mut random),
            Life::Days => recorder.step_of_days(&mut random),
        }
    }
    let Recorder { vfs, commits, beside, steps, writers, reader, .. } = recorder;
    vfs.kill(true);
    drop((writers, reader));
    Recorded { operations: vfs.operations(), vfs, commits, beside, steps, shapes }
}

/// What is in the folder, of whatever version it is.
pub(crate) fn content_of(handle: &mut Handle) -> Expected {
    match handle.store().version_of("n").expect("version") {
        Some(version) => {
            let id = handle.namespace("n", &version).expect("namespace");
            dump(handle, id)
        }
        None => Expected::new(),
    }
}

/// A folder with some past in which one file was damaged, and what is left in it.
fn damaged(random: &mut fastrand::Rng, vfs: &SimVfs, blob_bytes_min: usize) -> Expected {
    let mut handle = open_with_blobs(vfs, blob_bytes_min).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    for _ in 0..random.usize(1..4) {
        change(random, &mut handle, id, false);
        commit_at(&mut handle, Durability::Relaxed, 1_000).expect("commit");
        if random.bool() {
            compact(&handle, random.bool()).expect("compact");
        }
    }
    if random.bool() {
        handle.store().close().expect("close");
    }
    drop(handle);
    let names = vfs.names();
    let name = &names[random.usize(..names.len())];
    match vfs.length(name) {
        0 => {}
        length if random.u32(..4) > 0 => vfs.flip(name, random.u64(..length), random.u32(..8)),
        _ => vfs.erase(name),
    }
    vfs.settle();
    // Reading may quarantine damaged contents, so that a copy is read.
    content_of(&mut open_with_blobs(&vfs.fork(), blob_bytes_min).expect("open damaged"))
}

struct Recorder {
    vfs: SimVfs,
    options: Options,
    life: Life,
    pads: bool,
    is_windows: bool,
    /// The writers; the second one has no locks and exists only in histories with two writers.
    writers: Vec<Handle>,
    /// Whether each has committed.
    wrote: [bool; 2],
    /// A reader that has files open while others write.
    reader: Option<Handle>,
    version: u32,
    day: u64,
    content: Expected,
    commits: Vec<Commit>,
    beside: Vec<(usize, Changes)>,
    steps: Vec<(usize, &'static str)>,
}

impl Recorder {
    fn begin(vfs: SimVfs, options: Options, life: Life, base: Expected) -> Self {
        let commit = Commit { begun: 0, acknowledged: 0, durable: true, content: base.clone() };
        let beside = if life == Life::Beside { vec![(0, Changes::new())] } else { Vec::new() };
        let mut recorder = Self {
            vfs,
            options,
            life,
            pads: false,
            is_windows: false,
            writers: Vec::new(),
            wrote: [false; 2],
            reader: None,
            version: 1,
            day: 20_000,
            content: base,
            commits: vec![commit],
            beside,
            steps: Vec::new(),
        };
        recorder.writers.push(recorder.open(0));
        recorder
    }

    /// A new participant.
    fn open(&self, slot: usize) -> Handle {
        let vfs = if slot == 0 { self.vfs.clone() } else { self.vfs.lockless() };
        let handle = open_with(&vfs, self.options.clone()).expect("open");
        if self.life == Life::Days {
            handle.store().set_now(self.now_ms());
        }
        handle
    }

    fn now_ms(&self) -> u64 {
        if self.life == Life::Days { self.day * DAY_MS + 1 } else { 1_000 }
    }

    /// One step of one writer after another.
    fn step(&mut self, random: &mut fastrand::Rng) {
        match random.u32(..14) {
            0..6 => self.commit_some(random, 0, "commit"),
            6 => self.compact(random, 0, false),
            7 => self.compact(random, 0, true),
            8 => self.flush(0),
            9 | 10 => self.end(random, 0),
            11 | 12 => {
                self.version += 1;
                self.content.clear();
                self.commit_some(random, 0, "upgrade");
            }
            _ => {
                let id = self.namespace(0);
                let keys = std::mem::take(&mut self.content).into_keys();
                for key in keys.chain([b"something to commit".to_vec()]) {
                    self.writers[0].delete(id, &key).expect("delete");
                }
                self.commit("clear", 0, random.bool(), Changes::new());
                compact(&self.writers[0], true).expect("compact");
            }
        }
    }

    fn begin_step(&mut self, step: &'static str) {
        self.steps.push((self.vfs.operation_count(), step));
    }

    fn namespace(&mut self, slot: usize) -> u32 {
        self.writers[slot].namespace("n", &self.version.to_string()).expect("namespace")
    }

    fn current_version(&self) -> u32 {
        let version = self.writers[0].store().version_of("n").expect("version");
        version.map_or(1, |version| version.parse().expect("a number"))
    }

    fn commit_some(&mut self, random: &mut fastrand::Rng, slot: usize, step: &'static str) {
        let id = self.namespace(slot);
        let large = random.u32(..12) == 0;
        let step = if large && step == "commit" { "attach" } else { step };
        let changes = change(random, &mut self.writers[slot], id, large);
        apply(&changes, &mut self.content);
        // Padding comes with the second durable commit in a row.
        let durable = if self.pads { random.u32(..8) > 0 } else { random.bool() };
        self.commit(step, slot, durable, changes);
    }

    fn commit(&mut self, step: &'static str, slot: usize, durable: bool, changes: Changes) {
        self.begin_step(step);
        let begun = self.vfs.operation_count();
        let (durability, now_ms) =
            (if durable { Durability::Durable } else { Durability::Relaxed }, self.now_ms());
        commit_at(&mut self.writers[slot], durability, now_ms).expect("commit");
        self.wrote[slot] = true;
        self.note(slot, begun, durable, changes);
    }

    /// A commit, or what is like one, is acknowledged now.
    fn note(&mut self, slot: usize, begun: usize, durable: bool, changes: Changes) {
        let acknowledged = self.vfs.operation_count();
        self.commits.push(Commit { begun, acknowledged, durable, content: self.content.clone() });
        if self.life == Life::Beside {
            self.beside.push((slot, changes));
        }
    }

    /// From now on the last commit of this writer is durable. Not on Windows, where the name of a new manifest is
    /// durable only with the next sync of a file: there only a durable commit ends with one in any case.
    fn mark_durable(&mut self, slot: usize) {
        self.note(slot, self.vfs.operation_count(), !self.is_windows, Changes::new());
    }

    /// A compaction by the writer or by another process, while a reader may have files open.
    fn compact(&mut self, random: &mut fastrand::Rng, slot: usize, by_other: bool) {
        let full = random.bool();
        self.begin_step(if full { "compact" } else { "checkpoint" });
        let begun = self.vfs.operation_count();
        if random.u32(..3) == 0 {
            self.reader = Some(self.open(0));
        }
        let other = by_other.then(|| self.open(slot));
        let names = self.vfs.names();
        self.vfs.watch(names.get(random.usize(..names.len() * 2)).map(String::as_str));
        compact(other.as_ref().unwrap_or(&self.writers[slot]), full).expect("compact");
        self.vfs.watch(None);
        self.note_evicted(begun);
    }

    fn flush(&mut self, slot: usize) {
        self.begin_step("flush");
        self.writers[slot].store().flush().expect("flush");
        self.mark_durable(slot);
    }

    /// The writer closes or is killed, and another one continues, perhaps after a third process claimed the old log.
    fn end(&mut self, random: &mut fastrand::Rng, slot: usize) {
        self.begin_step("close");
        let begun = self.vfs.operation_count();
        let closes = random.bool();
        if closes {
            self.writers[slot].store().close().expect("close");
            self.note_evicted(begun);
            // A reader changes nothing when it closes.
            if self.wrote[slot] {
                self.mark_durable(slot);
            }
        }
        self.wrote[slot] = false;
        let next = self.open(slot);
        self.vfs.kill(!closes);
        self.writers[slot] = next;
        self.vfs.kill(false);
        if !closes && random.bool() {
            self.begin_step("checkpoint");
            let begun = self.vfs.operation_count();
            compact(&self.writers[slot], false).expect("take a dead log");
            self.note_evicted(begun);
        }
    }
}

fn change(random: &mut fastrand::Rng, writer: &mut Handle, id: u32, large: bool) -> Changes {
    let mut changes = Changes::new();
    for _ in 0..random.usize(1..4) {
        let (key, value) = (random_key(random), random_value(random));
        let value = (random.u32(..5) > 0).then_some(value);
        match &value {
            Some(value) => writer.put(id, &key, value).expect("put"),
            None => writer.delete(id, &key).expect("delete"),
        }
        changes.push((key, value));
    }
    if large {
        // Two that make the commit so large that it writes a table, or one that is a file.
        let bytes = if random.bool() { 600 << 10 } else { 1 << 20 };
        for key in [b"large", b"great"] {
            let value = vec![random.u8(..); bytes];
            writer.put(id, key, &value).expect("put");
            changes.push((key.to_vec(), Some(value)));
        }
    }
    changes
}
