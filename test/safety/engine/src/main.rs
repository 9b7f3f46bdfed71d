//! `varve-safety <part> --seed N [--long] [--replay CASE]`: attacks the engine on a simulated disk and prints what it
//! counted as JSON. Started by the suites beside this crate (`npm run test:crash`), which say what the fields mean.

mod command;
mod crash;
mod damage;
mod faults;
#[path = "../../../../crates/core/tests/store/history.rs"]
mod history;
mod interleavings;
mod order;
mod outcome;
mod tally;
mod work;

use command::Part;
use std::process::ExitCode;

/// The parts by name.
const PARTS: &[Part] = &[
    ("states", crash::states),
    ("nested", crash::nested),
    ("interleavings", interleavings::run),
    ("calls", faults::calls),
    ("flips", damage::flips),
    ("pages", damage::pages),
];

fn main() -> ExitCode {
    command::run(PARTS)
}
