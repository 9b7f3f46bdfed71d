//! Random histories of one folder, with a note of what was committed when and which part of its life it was.

use super::phase::phase_of;
use crate::history::{Expected, commit, compact, dump, open_filing, random_key, random_value};
use std::fmt;
use varve_core::vfs::sim::SimVfs;
use varve_core::{Durability, Handle, Options};

/// A history and what was committed when. The journal of `vfs` begins with the first step.
pub(crate) struct Recorded {
    pub(crate) vfs: SimVfs,
    /// The first is what was there before.
    pub(crate) commits: Vec<Commit>,
    steps: Vec<(usize, &'static str)>,
    operations: Vec<String>,
}

/// What the cache holds after a commit.
pub(crate) struct Commit {
    /// Operations when it began and when it was acknowledged.
    pub(crate) begun: usize,
    pub(crate) acknowledged: usize,
    pub(crate) durable: bool,
    pub(crate) content: Expected,
}

impl Recorded {
    /// A history that somebody else made.
    pub(crate) fn of(vfs: SimVfs, commits: Vec<Commit>) -> Self {
        Self { operations: vfs.operations(), vfs, commits, steps: Vec::new() }
    }

    /// The phase of the last operation of this prefix.
    pub(crate) fn phase_at(&self, prefix: usize) -> &str {
        let Some(last) = prefix.checked_sub(1) else { return "create" };
        let step = self.steps.iter().rev().find(|(from, _)| *from <= last).map_or("create", |(_, step)| step);
        phase_of(&self.operations[last], step)
    }
}

/// Its operations by step, for people.
impl fmt::Display for Recorded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, operation) in self.operations.iter().enumerate() {
            for (_, step) in self.steps.iter().filter(|(from, _)| *from == number) {
                writeln!(out, "{step}:")?;
            }
            for (index, commit) in self.commits.iter().enumerate().filter(|(_, commit)| commit.begun == number) {
                writeln!(out, "  [commit {index}, {}]", if commit.durable { "durable" } else { "relaxed" })?;
            }
            writeln!(out, "  {} {operation}", number + 1)?;
        }
        Ok(())
    }
}

/// The history of a seed; panics where a step fails, for nothing goes wrong in it but the crash.
pub(crate) fn record(seed: u64) -> Recorded {
    let mut random = fastrand::Rng::with_seed(seed);
    let vfs = match random.u32(..4) {
        0 => SimVfs::new().without_links(),
        1 => SimVfs::new().without_locks(),
        _ => SimVfs::new(),
    };
    let file_bytes_min = if random.bool() { 64 } else { Options::default().file_bytes_min };
    let base = if random.u32(..5) == 0 { damaged(&mut random, &vfs, file_bytes_min) } else { Expected::new() };
    let first = if vfs.names().is_empty() { "create" } else { "reset" };
    let mut recorder = Recorder {
        writer: open_filing(&vfs, file_bytes_min).expect("open"),
        file_bytes_min,
        version: 1,
        wrote: false,
        content: base.clone(),
        commits: vec![Commit { begun: 0, acknowledged: 0, durable: true, content: base }],
        steps: Vec::new(),
        vfs,
    };
    if first == "reset" {
        recorder.version = recorder.current_version();
    }
    for number in 0..random.usize(2..9) {
        recorder.step(&mut random, (number == 0).then_some(first));
    }
    let Recorder { vfs, commits, steps, .. } = recorder;
    Recorded { operations: vfs.operations(), vfs, commits, steps }
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
fn damaged(random: &mut fastrand::Rng, vfs: &SimVfs, file_bytes_min: usize) -> Expected {
    let mut handle = open_filing(vfs, file_bytes_min).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    for _ in 0..random.usize(1..4) {
        change(random, &mut handle, id, &mut Expected::new(), false);
        commit(&mut handle, Durability::Relaxed).expect("commit");
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
    // Reading may set damaged contents aside, so that a copy is read.
    content_of(&mut open_filing(&vfs.fork(), file_bytes_min).expect("open damaged"))
}

struct Recorder {
    vfs: SimVfs,
    writer: Handle,
    file_bytes_min: usize,
    version: u32,
    wrote: bool,
    content: Expected,
    commits: Vec<Commit>,
    steps: Vec<(usize, &'static str)>,
}

impl Recorder {
    /// One step; the first is a commit, whose `phase` is given.
    fn step(&mut self, random: &mut fastrand::Rng, phase: Option<&'static str>) {
        let what = if phase.is_some() { 0 } else { random.u32(..14) };
        let large = random.u32(..12) == 0;
        match what {
            0..6 => self.commit_some(random, phase.unwrap_or(if large { "attach" } else { "commit" }), large),
            6 | 7 => {
                let full = random.bool();
                self.begin(if full { "compact" } else { "fold" });
                let other = (what == 7).then(|| open_filing(&self.vfs, self.file_bytes_min).expect("open"));
                compact(other.as_ref().unwrap_or(&self.writer), full).expect("compact");
            }
            8 => {
                self.begin("flush");
                self.writer.store().flush().expect("flush");
                self.mark_durable();
            }
            9 | 10 => self.end(random),
            11 | 12 => {
                self.version += 1;
                self.content.clear();
                self.commit_some(random, "upgrade", large);
            }
            _ => {
                let id = self.namespace();
                let keys = std::mem::take(&mut self.content).into_keys();
                for key in keys.chain([b"something to commit".to_vec()]) {
                    self.writer.delete(id, &key).expect("delete");
                }
                self.commit("clear", random.bool());
                compact(&self.writer, true).expect("compact");
            }
        }
    }

    fn begin(&mut self, step: &'static str) {
        self.steps.push((self.vfs.operation_count(), step));
    }

    fn namespace(&mut self) -> u32 {
        self.writer.namespace("n", &self.version.to_string()).expect("namespace")
    }

    fn current_version(&self) -> u32 {
        let version = self.writer.store().version_of("n").expect("version");
        version.map_or(1, |version| version.parse().expect("a number"))
    }

    fn commit_some(&mut self, random: &mut fastrand::Rng, step: &'static str, large: bool) {
        let id = self.namespace();
        change(random, &mut self.writer, id, &mut self.content, large);
        self.commit(step, random.bool());
    }

    fn commit(&mut self, step: &'static str, durable: bool) {
        self.begin(step);
        let begun = self.vfs.operation_count();
        commit(&mut self.writer, if durable { Durability::Durable } else { Durability::Relaxed }).expect("commit");
        self.wrote = true;
        let acknowledged = self.vfs.operation_count();
        self.commits.push(Commit { begun, acknowledged, durable, content: self.content.clone() });
    }

    /// The writer closes or dies; another one takes over, perhaps after somebody took the log of the dead.
    fn end(&mut self, random: &mut fastrand::Rng) {
        self.begin("close");
        let closes = random.bool();
        if closes {
            self.writer.store().close().expect("close");
            // Who only read leaves things as they are.
            if self.wrote {
                self.mark_durable();
            }
        }
        self.wrote = false;
        self.writer = open_filing(&self.vfs, self.file_bytes_min).expect("open again");
        if !closes && random.bool() {
            self.begin("fold");
            compact(&self.writer, false).expect("take a dead log");
        }
    }

    /// From now on the last commit is durable.
    fn mark_durable(&mut self) {
        let now = self.vfs.operation_count();
        self.commits.push(Commit { begun: now, acknowledged: now, durable: true, content: self.content.clone() });
    }
}

fn change(random: &mut fastrand::Rng, writer: &mut Handle, id: u32, content: &mut Expected, large: bool) {
    for _ in 0..random.usize(1..4) {
        let (key, value) = (random_key(random), random_value(random));
        if random.u32(..5) == 0 {
            writer.delete(id, &key).expect("delete");
            content.remove(&key);
        } else {
            writer.put(id, &key, &value).expect("put");
            content.insert(key, value);
        }
    }
    if large {
        // Two that make the commit so large that it writes a table, or one that is a file.
        let bytes = if random.bool() { 600 << 10 } else { 1 << 20 };
        for key in [b"large", b"great"] {
            let value = vec![random.u8(..); bytes];
            writer.put(id, key, &value).expect("put");
            content.insert(key.to_vec(), value);
        }
    }
}
