//! libFuzzer's entry to the target `tar` of `varve_safety::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| varve_safety::fuzz::tar(bytes));
