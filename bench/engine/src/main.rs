//! Varve alone, with one thread and with two: `cargo run --release -p varve-bench -- [--quick] [--only <prefix>]`.

use varve_bench::{Arguments, Export, Form, Subject, Varve, run};

fn main() {
    let exports = [Form::Buffered, Form::Unbuffered, Form::PlainLoop, Form::Bytes].map(Export);
    let stores = [1, 2].map(|threads| Varve { threads });
    let stores = stores.iter().map(|store| store as &dyn Subject);
    let subjects: Vec<_> = stores.chain(exports.iter().map(|export| export as &dyn Subject)).collect();
    run(&Arguments::from_env(), &subjects);
}
