//! The linker argument of the addon on Linux: a worker thread that ends must not unmap the threads of the pool. And the
//! folder into which napi-derive writes the types of the addon, from which `scripts/build/native.mjs` makes
//! `generated/native.d.ts`.

use std::path::PathBuf;

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    // In the folder of the profile, because only cargo knows the name of this crate's own.
    let own = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let types = own.ancestors().nth(3).unwrap_or(&own).join("napi-types");
    if std::fs::create_dir_all(&types).is_ok() {
        println!("cargo::rustc-env=NAPI_TYPE_DEF_TMP_FOLDER={}", types.display());
    }
}
