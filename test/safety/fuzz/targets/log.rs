#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| varve_safety::fuzz::log(bytes));
