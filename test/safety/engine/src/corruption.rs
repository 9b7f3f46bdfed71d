//! Damage: bytes that differ from what was written. Every answer is correct or a miss and never stale, `verify` reports
//! the damage, and the next commit repairs the cache.
//!
//! - `flips`: every bit of every byte of caches of several shapes. A case is `<shape>:<file>:<byte>:<bit>`.
//! - `pages`: truncations, missing files, pages of zeros, swapped and copied pages, files of another cache. A case is
//!   `<shape>:<number>`.

mod pages;
mod shape;

use crate::history::{commit, compact, dump};
use crate::order::{Order, numbers};
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::work::{caught, each};
use shape::{SHAPES, Shape};
use std::ops::ControlFlow;
use varve_core::testing::sim::SimVfs;
use varve_core::{Durability, Handle};

pub(crate) use pages::pages;

/// Bytes that one job flips.
const JOB_BYTES: u64 = 64;

/// After so many flips the next commit is checked as well. A prime, so that this covers every bit.
const HEAL_STEP: u64 = 61;

/// The part `flips`.
pub(crate) fn flips(order: &Order) -> Outcome {
    let shapes: Vec<Shape> = SHAPES.iter().map(Shape::build).collect();
    if let Some(case) = &order.replay {
        let mut tally = Tally::default();
        let [shape, file, byte, bit] = numbers(case)[..] else {
            tally.violation("no such case", case);
            return tally.into_outcome(&[]);
        };
        let shape = &shapes[shape as usize];
        flip(shape, &shape.vfs.names()[file as usize], byte, bit as u32, true, case, &mut tally);
        return tally.into_outcome(&[]);
    }
    let mut jobs = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        for (file, name) in shape.vfs.names().into_iter().enumerate() {
            let starts = (0..shape.vfs.length(&name)).step_by(JOB_BYTES as usize);
            jobs.extend(starts.map(|start| (number, file, name.clone(), start)));
        }
    }
    let heal_step = if order.is_long { 1 } else { HEAL_STEP };
    let mut tally = each(0..jobs.len() as u64, |index, tally| {
        let (number, file, name, start) = &jobs[index as usize];
        let shape = &shapes[*number];
        for byte in *start..(start + JOB_BYTES).min(shape.vfs.length(name)) {
            for bit in 0..8 {
                let heals = (byte * 8 + u64::from(bit) + order.seed).is_multiple_of(heal_step);
                let case = || format!("{number}:{file}:{byte}:{bit}");
                flip(shape, name, byte, bit, heals, &case(), tally);
            }
        }
    });
    let largest = shapes.iter().map(Shape::bytes).max().unwrap_or(0);
    tally.add("largestCacheBytes", largest);
    tally.into_outcome(&[("flips", 524_288), ("largestCacheBytes", 64 << 10)])
}

fn flip(
    shape: &Shape,
    name: &str,
    byte: u64,
    bit: u32,
    heals: bool,
    case: &str,
    tally: &mut Tally,
) {
    let damaged = shape.vfs.fork();
    damaged.flip(name, byte, bit);
    tally.add("flips", 1);
    let outcome = caught(|| {
        let answers = Answers::of(shape, &damaged)?;
        tally.add("right", answers.right);
        tally.add("miss", answers.miss);
        answers.check()?;
        if answers.is_sound {
            return Err("verify does not see it".to_owned());
        }
        if heals {
            tally.add("healed", 1);
            heal(shape, &damaged)?;
        }
        Ok(())
    });
    if let Err(what) = outcome.and_then(|outcome| outcome) {
        tally.violation(
            &format!("bit {bit} of byte {byte} of {name}, {}: {what}", shape.name),
            case,
        );
    }
}

/// What a damaged cache answers.
struct Answers {
    right: u64,
    miss: u64,
    wrong: Vec<String>,
    is_sound: bool,
}

impl Answers {
    /// Asks for every key, and `verify`.
    fn of(shape: &Shape, vfs: &SimVfs) -> Result<Self, String> {
        let mut handle = shape.open(vfs).map_err(|error| format!("cannot open: {error}"))?;
        let mut answers =
            Self { right: 0, miss: 0, wrong: Vec::new(), is_sound: is_sound(&handle) };
        answers.ask(shape, &mut handle);
        Ok(answers)
    }

    fn ask(&mut self, shape: &Shape, handle: &mut Handle) {
        let id = handle.namespace("n", "1").expect("namespace");
        for key in shape.keys() {
            let found = handle.get(id, key, <[u8]>::to_vec).expect("get");
            match (found, shape.content().get(key)) {
                (None, _) => self.miss += 1,
                (Some(found), Some(value)) if found == *value => self.right += 1,
                (Some(found), _) => {
                    let what = if shape.is_old(key, &found) { "stale" } else { "wrong" };
                    self.wrong.push(format!("{what} value of {}", String::from_utf8_lossy(key)));
                }
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.wrong.is_empty() { Ok(()) } else { Err(self.wrong.join(", ")) }
    }
}

fn is_sound(handle: &Handle) -> bool {
    handle.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify").sound
}

/// The next commit works, and after a compaction nothing of the damage is left.
fn heal(shape: &Shape, vfs: &SimVfs) -> Result<(), String> {
    let mut handle = shape.open(vfs).map_err(|error| format!("cannot open: {error}"))?;
    let id = handle.namespace("n", "1").expect("namespace");
    // The engine notices a missing file when a value in it is read.
    Answers { right: 0, miss: 0, wrong: Vec::new(), is_sound: false }.ask(shape, &mut handle);
    handle.put(id, b"next", b"healed").expect("put");
    commit(&mut handle, Durability::Relaxed)
        .map_err(|error| format!("the next commit: {error}"))?;
    compact(&handle, false).map_err(|error| format!("the next compaction: {error}"))?;
    drop(handle);
    let mut handle = shape.open(vfs).map_err(|error| format!("cannot open again: {error}"))?;
    let id = handle.namespace("n", "1").expect("namespace");
    let found = dump(&handle, id);
    if found.get(&b"next"[..]).is_none_or(|value| value != b"healed") {
        return Err("the next commit is not there".to_owned());
    }
    let is_right = |(key, value): (&Vec<u8>, &Vec<u8>)| {
        key == b"next" || shape.content().get(key) == Some(value)
    };
    if !found.iter().all(is_right) {
        return Err("wrong or stale after the next commit".to_owned());
    }
    if is_sound(&handle) { Ok(()) } else { Err("still damaged after the next commit".to_owned()) }
}
