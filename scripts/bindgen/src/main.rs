//! `varve-bindgen <in.wasm> <out-dir> <name>`: writes `<name>.js`, its typings and the bound module.
//!
//! Calls the library of the `wasm-bindgen` command directly. So its version comes from `Cargo.lock` and always equals
//! that of the crate, and no command has to be installed first.

use std::error::Error;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(module), Some(out_dir), Some(name), None) =
        (arguments.next(), arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: varve-bindgen <in.wasm> <out-dir> <name>".into());
    };
    Bindgen::new()
        .input_path(module)
        .out_name(&name.to_string_lossy())
        .web(true)?
        .typescript(true)
        .omit_default_module_path(true) // otherwise bundlers emit the .wasm as a separate asset
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(out_dir)?;
    Ok(())
}
