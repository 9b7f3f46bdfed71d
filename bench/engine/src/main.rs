//! Measures Varve alone, with one thread and with two: `cargo run --release -p varve-bench -- [--quick] [--only
//! <prefix>]`.

use varve_bench::{Arguments, EXPORTS, Subject, Varve, run};

fn main() {
    let stores: [&dyn Subject; 2] = [&Varve { threads: 1 }, &Varve { threads: 2 }];
    let exports = EXPORTS.iter().map(|export| export as &dyn Subject);
    run(&Arguments::from_env(), &stores.into_iter().chain(exports).collect::<Vec<_>>());
}
