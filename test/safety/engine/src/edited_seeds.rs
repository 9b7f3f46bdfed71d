//! The part `edited-seeds`: the targets of the fuzzer without the fuzzer. Each input is a seed with random edits. No
//! coverage guides the edits, so this part needs no build with counters and is quick enough for `npm test`.

use crate::order::Order;
use crate::outcome::Outcome;
use crate::work::{Length, each_seed};
use fastrand::Rng;
use varve_safety::fuzz::{TARGETS, Target, seeds};

const LENGTH: Length = Length { seeds_short: 30_000, seeds_long: 20_000_000 };
const INPUTS_MIN: u64 = 2_000;
const EDITS_MAX: usize = 6;

pub(crate) fn run(order: &Order) -> Outcome {
    let all: Vec<(&str, Target, Vec<Vec<u8>>)> =
        TARGETS.into_iter().map(|(name, target)| (name, target, seeds(name))).collect();
    let tally = each_seed(order, &LENGTH, |_, seed, tally| {
        let mut random = Rng::with_seed(seed);
        let (name, target, seeds) = &all[random.usize(..all.len())];
        let mut bytes = seeds[random.usize(..seeds.len())].clone();
        (0..=random.usize(..EDITS_MAX)).for_each(|_| edit(&mut bytes, &mut random));
        target(&bytes);
        tally.add("inputs", 1);
        tally.add(&format!("inputs/{name}"), 1);
    });
    let goals: &[_] = if order.replay.is_some() { &[] } else { &[("inputs", INPUTS_MIN)] };
    tally.into_outcome(goals)
}

/// Changes, removes or repeats some bytes.
fn edit(bytes: &mut Vec<u8>, random: &mut Rng) {
    if bytes.is_empty() {
        return bytes.push(random.u8(..));
    }
    let at = random.usize(..bytes.len());
    match random.u8(..5) {
        0 => bytes[at] ^= 1 << random.u8(..8),
        1 => bytes[at] = *random.choice(&[0, 1, 0x7F, 0x80, 0xFF]).unwrap_or(&0),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..(at + 1 + random.usize(..8)).min(bytes.len()))),
        _ => {
            let end = (at + 1 + random.usize(..16)).min(bytes.len());
            bytes.extend_from_within(at..end);
        }
    }
}
