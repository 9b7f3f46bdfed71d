//! The files of an open cache are replaced while it works: by an older copy of it, a diverged one, another cache, or
//! nothing. What arrives is visible file by file, and before it is whole.

use crate::history::{commit, compact, open_with};
use crate::hooked::{Hook, hooked_by};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use varve_core::testing::sim::SimVfs;
use varve_core::{BlobWriter, Durability, Handle, Options};

const ROUNDS: u64 = 150;

/// Keys that each commit writes, all with the same value.
const KEYS: [&str; 3] = ["a", "b", "c"];

/// The smallest value that becomes a blob.
const BLOB_BYTES_MIN: usize = 64;

/// Bytes from which a commit is written to tables.
const LARGE_BYTES: usize = 1 << 20;

fn options(random: &mut fastrand::Rng) -> Options {
    Options { random: random.u64(..), blob_bytes_min: BLOB_BYTES_MIN, ..Options::default() }
}

fn open(vfs: &SimVfs, random: &mut fastrand::Rng) -> Handle {
    open_with(vfs, options(random)).expect("open")
}

/// The result of a call. While half of a blob has arrived, and nothing else that shows who wrote it, the directory is
/// refused.
fn accepted<T>(result: varve_core::Result<T>) -> Option<T> {
    match result {
        Err(error) if error.code() == "NOT_A_CACHE" => None,
        result => Some(result.expect("the call works")),
    }
}

/// Puts the same value under all keys: small, a blob, or so large that the commit is written to tables.
fn put(handle: &mut Handle, tag: &str, random: &mut fastrand::Rng) {
    let id = handle.namespace("n", "1").expect("namespace");
    let value = match random.u32(..12) {
        0..8 => tag.to_owned(),
        _ => format!("{tag} {}", "long ".repeat(30)),
    };
    if random.u32(..20) == 0 {
        for number in 0..LARGE_BYTES / 32 {
            handle.put(id, format!("filler {number}").as_bytes(), &[7; 32]).expect("put");
        }
    }
    if random.u32(..6) == 0
        && let Some(writer) = accepted(BlobWriter::new(handle.store()))
    {
        let blob = writer.store(value.as_bytes()).expect("store");
        handle.keep(writer.into_pin());
        handle.put_with_blobs(id, b"outputs", tag.as_bytes(), &[blob]).expect("put");
    }
    KEYS.iter().for_each(|key| handle.put(id, key.as_bytes(), value.as_bytes()).expect("put"));
    let durability = if random.bool() { Durability::Relaxed } else { Durability::Durable };
    accepted(commit(handle, durability));
}

/// The values of the keys that are found, each once.
fn values(handle: &mut Handle) -> BTreeSet<String> {
    let id = handle.namespace("n", "1").expect("namespace");
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    KEYS.iter().filter_map(|key| handle.get(id, key.as_bytes(), text).expect("get")).collect()
}

/// Runs some processes one after another; some are killed.
fn go_on(vfs: &SimVfs, tag: &str, random: &mut fastrand::Rng) {
    for process in 0..random.u32(1..4) {
        let mut handle = open(vfs, random);
        for number in 0..random.u32(1..4) {
            put(&mut handle, &format!("{tag} {process} {number}"), random);
            if random.u32(..5) == 0 {
                compact(&handle, random.bool()).expect("compact");
            }
        }
        if random.u32(..3) > 0 {
            handle.store().close().expect("close");
        }
    }
}

/// A change of the directory from outside.
enum Step {
    Erase(String),
    Write(String, Vec<u8>),
}

/// Steps that replace the files of a directory, and the next of which may happen before each call of its processes.
struct Replacement {
    vfs: SimVfs,
    steps: VecDeque<Step>,
    share: f64,
    random: fastrand::Rng,
}

impl Replacement {
    /// Replaces the files of `vfs` by those of `source`, in a random order and way.
    fn new(vfs: &SimVfs, source: &SimVfs, random: &mut fastrand::Rng) -> Self {
        let (mut names, way) = (source.names(), random.u32(..4));
        random.shuffle(&mut names);
        let mut steps = VecDeque::new();
        if way == 0 {
            steps.extend(vfs.names().into_iter().map(Step::Erase));
        }
        for name in names {
            let whole = source.contents(&name);
            match way {
                // `rsync`: another file takes the name at once.
                1 => steps.push_back(Step::Erase(name.clone())),
                // `cp`: a copy is visible before it is whole.
                _ => steps.push_back(Step::Write(
                    name.clone(),
                    whole[..random.usize(..=whole.len())].to_vec(),
                )),
            }
            steps.push_back(Step::Write(name, whole));
        }
        if way == 2 {
            let extra = vfs.names().into_iter().filter(|name| !source.names().contains(name));
            steps.extend(extra.map(Step::Erase));
        }
        Self { vfs: vfs.clone(), steps, share: random.f64() * random.f64(), random: random.fork() }
    }

    fn step(&mut self) {
        match self.steps.pop_front() {
            Some(Step::Erase(name)) if self.vfs.names().contains(&name) => self.vfs.erase(&name),
            Some(Step::Write(name, bytes)) => self.vfs.set_contents(&name, bytes),
            _ => {}
        }
    }

    fn maybe_step(&mut self) {
        if self.random.f64() < self.share {
            self.step();
        }
    }
}

/// One random call of a process. Reads check that the keys are of one commit.
fn act(handle: &mut Handle, number: u32, random: &mut fastrand::Rng) {
    match random.u32(..12) {
        0..5 => put(handle, &format!("during {number}"), random),
        5..7 => drop(accepted(compact(handle, random.bool()))),
        7..9 => drop(handle.store().refresh().expect("refresh")),
        9 => handle.store().flush().expect("flush"),
        10 => handle.store().look_ahead().expect("look ahead"),
        _ => {
            handle.store().advance().expect("advance");
        }
    }
    let found = values(handle);
    assert!(found.len() <= 1, "entries of several commits: {found:?}");
}

fn round(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let machine = match random.u32(..4) {
        0 => SimVfs::new().without_links(),
        1 => SimVfs::new().padded(),
        _ => SimVfs::new(),
    };
    go_on(&machine, "start", &mut random);
    let (vfs, source) =
        (machine.fork(), if random.u32(..4) == 0 { SimVfs::new() } else { machine.fork() });
    let older = random.u32(..4) == 0;
    go_on(&vfs, "one", &mut random);
    if !older {
        go_on(&source, "two", &mut random);
    }
    let replacement = Arc::new(Mutex::new(Replacement::new(&vfs, &source, &mut random)));
    let hook = || -> Hook {
        let replacement = Arc::clone(&replacement);
        Box::new(move |_, _| replacement.lock().expect("not poisoned").maybe_step())
    };
    let mut handles: Vec<Handle> = Vec::new();
    for vfs in [vfs.clone(), vfs.lockless()] {
        handles.push(hooked_by(&vfs, hook(), options(&mut random)).expect("open"));
    }
    let mut number = 0;
    while number < 6 || !replacement.lock().expect("not poisoned").steps.is_empty() {
        number += 1;
        let at = random.usize(..handles.len());
        if random.u32(..12) == 0 {
            handles.remove(at).store().close().expect("close");
            handles.insert(at, hooked_by(&vfs, hook(), options(&mut random)).expect("open"));
        }
        act(&mut handles[at], number, &mut random);
        replacement.lock().expect("not poisoned").step();
    }
    let at = random.usize(..handles.len());
    handles[at].store().refresh().expect("refresh");
    put(&mut handles[at], "after", &mut random);
    let is = |found: BTreeSet<String>, tag: &str| {
        found.len() == 1 && found.iter().all(|value| value.starts_with(tag))
    };
    assert!(
        is(values(&mut open(&vfs, &mut random)), "after"),
        "the commit after it is not found: {:?}",
        vfs.names()
    );
    for handle in handles {
        handle.store().close().expect("close");
    }
    let mut last = open(&vfs, &mut random);
    assert!(is(values(&mut last), "after"), "closing loses the commit after it: {:?}", vfs.names());
    put(&mut last, "last", &mut random);
    compact(&last, true).expect("compact");
    assert!(
        is(values(&mut open(&vfs, &mut random)), "last"),
        "the last commit is not found: {:?}",
        vfs.names()
    );
}

#[test]
fn a_cache_whose_files_are_replaced_while_it_works_keeps_what_it_commits_afterwards() {
    let first = std::env::var("SEED")
        .map_or_else(|_| fastrand::u64(..), |seed| seed.parse().expect("a number"));
    let rounds = std::env::var("ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().expect("a number"));
    for seed in (0..rounds).map(|round| first.wrapping_add(round)) {
        println!("seed {seed}");
        round(seed);
    }
}
