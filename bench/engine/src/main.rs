//! Measures Varve alone, with one thread and with several: `cargo run --release -p varve-bench -- [--quick] [--only
//! <prefix>]`.

use varve_bench::{Arguments, EXPORTS, Subject, run, varves};

fn main() {
    let stores = varves().iter().map(|varve| varve as &dyn Subject);
    let exports = EXPORTS.iter().map(|export| export as &dyn Subject);
    run(&Arguments::from_env(), &stores.chain(exports).collect::<Vec<_>>());
}
