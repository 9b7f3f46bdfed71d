//! Varve alone, with one thread and with two: `cargo run --release -p varve-bench -- [--quick] [--only <prefix>]`.

use varve_bench::{Arguments, Subject, Varve, run};

fn main() {
    let subjects: [&dyn Subject; 2] = [&Varve { threads: 1 }, &Varve { threads: 2 }];
    run(&Arguments::from_env(), &subjects);
}
