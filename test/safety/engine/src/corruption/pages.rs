//! Files that are cut, missing, partly zero, mixed up, or from another cache.
//!
//! A log that was cut looks like a log whose end was never synced. If a log is cut, missing or has zeros, answers may
//! therefore be those before its last commits, but the same commits are missing for all keys.

use super::shape::{SHAPES, Shape};
use super::{Answers, heal};
use crate::history::{commit, dump};
use crate::order::{Order, numbers};
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::work::{caught, each};
use varve_core::Durability;
use varve_core::testing::sim::SimVfs;

/// Pairs of pages that are swapped or copied, of one shape and one size.
const PAIRS_MAX: usize = 2_000;

const PAGES: [u64; 2] = [512, 4096];

#[derive(Clone, Debug)]
enum Harm {
    Truncate(String, u64),
    Missing(String),
    Zeros {
        name: String,
        offset: u64,
        bytes: u64,
    },
    /// The second place gets the bytes of the first, and where `both`, the other way round.
    Copy {
        source: (String, u64),
        target: (String, u64),
        bytes: u64,
        both: bool,
    },
    Foreign(String),
}

/// The part `pages`.
pub(crate) fn pages(order: &Order) -> Outcome {
    let shapes: Vec<(Shape, Shape)> = SHAPES
        .iter()
        .map(|plan| (Shape::build(plan), Shape::build_of(plan, " elsewhere")))
        .collect();
    let harms: Vec<Vec<Harm>> =
        shapes.iter().map(|(shape, other)| harms_of(shape, other, order.seed)).collect();
    if let Some(case) = &order.replay {
        let mut tally = Tally::default();
        match numbers(case)[..] {
            [shape, harm] => {
                let (at, harm) = (shape as usize, &harms[shape as usize][harm as usize]);
                check(&shapes[at].0, &shapes[at].1, harm, case, &mut tally);
            }
            _ => tally.violation("no such case", case),
        }
        return tally.into_outcome(&[]);
    }
    let cases: Vec<(usize, usize)> = harms
        .iter()
        .enumerate()
        .flat_map(|(shape, harms)| (0..harms.len()).map(move |harm| (shape, harm)))
        .collect();
    let tally = each(0..cases.len() as u64, |index, tally| {
        let (shape, harm) = cases[index as usize];
        let (ours, other) = &shapes[shape];
        check(ours, other, &harms[shape][harm], &format!("{shape}:{harm}"), tally);
    });
    tally.into_outcome(&[("truncated", 20_000), ("copied", 1_000), ("swapped", 1_000)])
}

fn harms_of(shape: &Shape, other: &Shape, seed: u64) -> Vec<Harm> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut harms = Vec::new();
    let names = shape.vfs.names();
    for name in &names {
        let length = shape.vfs.length(name);
        harms.extend((0..length).map(|length| Harm::Truncate(name.clone(), length)));
        harms.push(Harm::Missing(name.clone()));
        for bytes in PAGES {
            let starts = (0..length).step_by(bytes as usize);
            harms.extend(starts.map(|offset| Harm::Zeros { name: name.clone(), offset, bytes }));
        }
        if other.vfs.names().contains(name) {
            harms.push(Harm::Foreign(name.clone()));
        }
    }
    for bytes in PAGES {
        let places: Vec<(String, u64)> = names
            .iter()
            .flat_map(|name| {
                let starts = (0..shape.vfs.length(name)).step_by(bytes as usize);
                starts.map(|offset| (name.clone(), offset)).collect::<Vec<_>>()
            })
            .collect();
        let mut pairs: Vec<(usize, usize)> = (0..places.len())
            .flat_map(|left| (0..places.len()).map(move |right| (left, right)))
            .filter(|(left, right)| left != right)
            .collect();
        random.shuffle(&mut pairs);
        for (left, right) in pairs.into_iter().take(PAIRS_MAX) {
            let both = left < right;
            harms.push(Harm::Copy {
                source: places[left].clone(),
                target: places[right].clone(),
                bytes,
                both,
            });
        }
    }
    harms
}

/// Does it. `None` = nothing changed. Else the word for the figures and the files that it touched.
fn inflict(harm: &Harm, vfs: &SimVfs, other: &Shape) -> Option<(&'static str, Vec<String>)> {
    let before = vfs.fingerprint();
    let done = match harm {
        Harm::Truncate(name, length) => {
            vfs.truncate(name, *length);
            ("truncated", vec![name.clone()])
        }
        Harm::Missing(name) => {
            vfs.erase(name);
            ("missing", vec![name.clone()])
        }
        Harm::Zeros { name, offset, bytes } => {
            write(vfs, name, *offset, &vec![0; *bytes as usize]);
            ("zeros", vec![name.clone()])
        }
        Harm::Copy { source, target, bytes, both } => {
            let (left, right) = (page(vfs, source, *bytes), page(vfs, target, *bytes));
            write(vfs, &target.0, target.1, &left);
            if *both {
                write(vfs, &source.0, source.1, &right);
            }
            (if *both { "swapped" } else { "copied" }, vec![source.0.clone(), target.0.clone()])
        }
        Harm::Foreign(name) => {
            vfs.set_contents(name, other.vfs.contents(name));
            ("foreign", vec![name.clone()])
        }
    };
    (vfs.fingerprint() != before).then_some(done)
}

fn page(vfs: &SimVfs, (name, offset): &(String, u64), bytes: u64) -> Vec<u8> {
    vfs.contents(name).into_iter().skip(*offset as usize).take(bytes as usize).collect()
}

/// Writes over what is there, within the length of the file.
fn write(vfs: &SimVfs, name: &str, offset: u64, bytes: &[u8]) {
    let mut content = vfs.contents(name);
    content.iter_mut().skip(offset as usize).zip(bytes).for_each(|(target, byte)| *target = *byte);
    vfs.set_contents(name, content);
}

fn check(shape: &Shape, other: &Shape, harm: &Harm, case: &str, tally: &mut Tally) {
    let vfs = shape.vfs.fork();
    let Some((word, touched)) = inflict(harm, &vfs, other) else { return };
    let logs: Vec<&String> = touched.iter().filter(|name| name.ends_with(".log")).collect();
    tally.add(word, 1);
    let outcome = caught(|| {
        let answers = Answers::of(shape, &vfs)?;
        if let Some(log) = logs.first()
            && is_before_a_commit(shape, &vfs, log)
        {
            tally.add(&format!("{word}.asAfterLossOfPower"), 1);
            return heal_only(shape, &vfs);
        }
        answers.check()?;
        if answers.is_sound && answers.miss > 0 {
            return Err("verify does not see it".to_owned());
        }
        tally.add(if answers.is_sound { "harmless" } else { "seen" }, 1);
        heal(shape, &vfs)
    });
    if let Err(what) = outcome.and_then(|outcome| outcome) {
        tally.violation(&format!("{harm:?}, {}: {what}", shape.name), case);
    }
}

/// Whether the newest log, whose writer was killed, has lost its end, which looks like a power failure.
fn is_before_a_commit(shape: &Shape, vfs: &SimVfs, log: &str) -> bool {
    if shape.is_closed || shape.commits.last().is_none_or(|round| round.log != log) {
        return false;
    }
    let mut handle = shape.open(vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let found = dump(&handle, id);
    shape.without_end_of(log).contains(&found)
}

/// The next commit works.
fn heal_only(shape: &Shape, vfs: &SimVfs) -> Result<(), String> {
    let mut handle = shape.open(vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, b"next", b"healed").expect("put");
    commit(&mut handle, Durability::Durable)
        .map(drop)
        .map_err(|error| format!("next commit: {error}"))
}
