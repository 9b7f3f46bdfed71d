//! What the safety suites do inside the engine. The program (`main.rs`) runs parts of a suite, the fuzzer beside this
//! crate the functions of [`fuzz`].

pub mod fuzz;
