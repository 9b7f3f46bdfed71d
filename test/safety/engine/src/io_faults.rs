//! I/O faults: every call of a history fails, with each error, once or always. A commit is rejected or is really there,
//! acknowledged commits stay, no call runs forever, and after the fault the same handle can commit.
//!
//! A case is `<history>:<call>:<number of the call>:<fault>:<0 for once, 1 for always>`.

mod script;

use crate::order::{Order, numbers};
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::work::{caught, each};
use script::{Script, Strike};
use std::io::ErrorKind;
use varve_core::testing::sim::{Call, Effect, Fault, LostPages};

/// How many histories the short form has.
const HISTORIES: u64 = 20;

const ERRORS: [(&str, ErrorKind); 5] = [
    ("EIO", ErrorKind::Other),
    ("ENOSPC", ErrorKind::StorageFull),
    ("EDQUOT", ErrorKind::QuotaExceeded),
    // A kind that nothing else has: Rust has none for EMFILE.
    ("EMFILE", ErrorKind::OutOfMemory),
    ("EINTR", ErrorKind::Interrupted),
];

/// Every fault that makes sense for a call, by name.
fn effects(call: Call) -> Vec<(String, Effect)> {
    let mut effects: Vec<_> =
        ERRORS.iter().map(|(name, error)| ((*name).to_owned(), Effect::Error(*error))).collect();
    effects.push(("lostAnswer".to_owned(), Effect::After(ErrorKind::Other)));
    if call == Call::Append {
        for bytes in [1, 33, 200] {
            effects.push((
                format!("short{bytes}"),
                Effect::Short { bytes, error: ErrorKind::StorageFull },
            ));
        }
    }
    if call == Call::Sync {
        for pages in [LostPages::Gone, LostPages::Zeroed, LostPages::Cached] {
            effects
                .push((format!("lost{pages:?}"), Effect::Lose { pages, error: ErrorKind::Other }));
        }
    }
    effects
}

/// The part `calls`.
pub(crate) fn calls(order: &Order) -> Outcome {
    if let Some(case) = &order.replay {
        return replay(case).into_outcome(&[]);
    }
    let histories = if order.is_long { HISTORIES * 20 } else { HISTORIES };
    let cases: Vec<(u64, Call)> = (order.seed..order.seed + histories)
        .flat_map(|seed| Call::ALL.map(|call| (seed, call)))
        .collect();
    let mut tally = each(0..cases.len() as u64, |index, tally| {
        let (seed, call) = cases[index as usize];
        check_call(seed, call, tally);
    });
    tally.add("histories", histories);
    tally.into_outcome(&[("operations", 2_000), ("crashedAfterLostSync", 20_000)])
}

fn check_call(seed: u64, call: Call, tally: &mut Tally) {
    for (fault, (name, effect)) in effects(call).into_iter().enumerate() {
        let script = Script { seed, durable_only: matches!(effect, Effect::Lose { .. }) };
        let count = match script.run(None) {
            Ok(run) => run.vfs.call_count(Some(call)),
            Err(what) => return tally.violation(&what, &format!("{seed}")),
        };
        if fault == 0 {
            tally.add("operations", count as u64);
            tally.add(&format!("operations.{call:?}"), count as u64);
        }
        for after in 0..count {
            for forever in [false, true] {
                tally.add("runs", 1);
                tally.add(&format!("runs.{name}"), 1);
                let strike =
                    Strike { fault: Fault { call: Some(call), after, forever, effect }, seed };
                if let Err(what) = run_case(&script, strike, tally) {
                    let times = if forever { "for ever" } else { "once" };
                    let case =
                        format!("{seed}:{}:{after}:{fault}:{}", call as usize, u8::from(forever));
                    tally.violation(&format!("{name} of {call:?} {after} {times}: {what}"), &case);
                }
            }
        }
    }
}

fn run_case(script: &Script, strike: Strike, tally: &mut Tally) -> Result<(), String> {
    let run = caught(|| script.run(Some(strike))).and_then(|run| run)?;
    if matches!(strike.fault.effect, Effect::Lose { .. }) {
        tally.add(
            "crashedAfterLostSync",
            caught(|| run.crash(strike.seed)).and_then(|count| count)?,
        );
    }
    Ok(())
}

fn replay(case: &str) -> Tally {
    let mut tally = Tally::default();
    tally.add("replayed", 1);
    let [seed, call, after, fault, forever] = numbers(case)[..] else {
        tally.violation("no such case", case);
        return tally;
    };
    let call = Call::ALL[call as usize];
    let effect = effects(call)[fault as usize].1;
    let script = Script { seed, durable_only: matches!(effect, Effect::Lose { .. }) };
    let fault = Fault { call: Some(call), after: after as usize, forever: forever == 1, effect };
    if let Err(what) = run_case(&script, Strike { fault, seed }, &mut tally) {
        tally.violation(&what, case);
    }
    tally
}
