//! The command line of a program of parts: `<program> <part> --seed N [--long] [--replay CASE]`.

use crate::order::Order;
use crate::outcome::Outcome;
use crate::work::silence_panics;
use std::process::ExitCode;

/// A part and its name.
pub(crate) type Part = (&'static str, fn(&Order) -> Outcome);

/// Runs the part that the command line names and prints what it counted.
pub(crate) fn run(parts: &[Part]) -> ExitCode {
    let order = match Order::from_args(std::env::args().skip(1)) {
        Ok(order) => order,
        Err(complaint) => return refuse(&complaint),
    };
    let Some((_, run)) = parts.iter().find(|(name, _)| *name == order.part) else {
        let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
        return refuse(&format!("no part '{}'; there are {}", order.part, names.join(", ")));
    };
    silence_panics();
    run(&order).print();
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "a program speaks to its user")]
fn refuse(complaint: &str) -> ExitCode {
    eprintln!("{}: {complaint}", env!("CARGO_PKG_NAME"));
    ExitCode::from(2)
}
