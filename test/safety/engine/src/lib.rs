//! The parts of the safety suites that run inside the engine. The program (`main.rs`) runs parts of a suite; the
//! fuzzer in the folder beside this crate runs the functions of [`fuzz`].

pub mod fuzz;
