//! `varve-safety <part> --seed N [--long] [--replay CASE]`: attacks the engine on a simulated disk and prints what it
//! counted as JSON. Started by the suites beside this crate (`npm run test:crash`), which say what the fields mean.

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

use order::Order;
use outcome::Outcome;
use std::process::ExitCode;

type Part = (&'static str, fn(&Order) -> Outcome);

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
    let order = match Order::from_args(std::env::args().skip(1)) {
        Ok(order) => order,
        Err(complaint) => return refuse(&complaint),
    };
    let Some((_, run)) = PARTS.iter().find(|(name, _)| *name == order.part) else {
        let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        return refuse(&format!("no part '{}'; there are {}", order.part, names.join(", ")));
    };
    work::silence_panics();
    run(&order).print();
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "a program speaks to its user")]
fn refuse(complaint: &str) -> ExitCode {
    eprintln!("varve-safety: {complaint}");
    ExitCode::from(2)
}
