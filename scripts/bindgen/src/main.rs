//! `varve-bindgen <in.wasm> <out-dir>`: writes `varve_wasm.js`, its typings and the bound module.
//!
//! The library behind the `wasm-bindgen` command, called directly: its version then comes from `Cargo.lock` and always
//! equals that of the crate it serves, and nobody has to install a command first.

use std::error::Error;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(module), Some(out_dir), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: varve-bindgen <in.wasm> <out-dir>".into());
    };
    Bindgen::new()
        .input_path(module)
        .out_name("varve_wasm")
        .web(true)?
        .typescript(true)
        .omit_default_module_path(true) // else bundlers emit the .wasm as an asset of its own
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(out_dir)?;
    Ok(())
}
