//! Varve alone, with one thread and with two: `cargo run --release -p varve-bench -- [--quick] [--only <prefix>]`.

use varve_bench::{Arguments, Export, Form, Subject, Varve, run};

fn main() {
    let exports = [Form::Buffered, Form::Unbuffered, Form::PlainLoop].map(Export);
    let [buffered, unbuffered, plain_loop] = &exports;
    let subjects: [&dyn Subject; 5] = [&Varve { threads: 1 }, &Varve { threads: 2 }, buffered, unbuffered, plain_loop];
    run(&Arguments::from_env(), &subjects);
}
