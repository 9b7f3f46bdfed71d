//! `varve-safety <part> --seed N [--long] [--replay CASE]`: attacks the engine on a simulated disk and prints counts as
//! JSON. The suites beside this crate (`npm run test:safety -- power-loss`) start it; `../../suite.mjs` explains the fields.

mod command;
mod concurrency;
mod corruption;
mod edited_seeds;
#[path = "../../../../crates/core/tests/store/history.rs"]
mod history;
mod io_faults;
mod order;
mod outcome;
mod power_loss;
mod tally;
mod work;

use command::Part;
use std::process::ExitCode;

/// The parts by name.
const PARTS: &[Part] = &[
    ("states", power_loss::states),
    ("nested", power_loss::nested),
    ("recordings", power_loss::recordings),
    ("interleavings", concurrency::run),
    ("calls", io_faults::calls),
    ("flips", corruption::flips),
    ("pages", corruption::pages),
    ("edited-seeds", edited_seeds::run),
];

fn main() -> ExitCode {
    command::run(PARTS)
}
