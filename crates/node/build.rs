//! The linker argument of the addon on Linux: a worker thread that ends must not unmap the threads of the pool. The
//! functions of Node are looked up when the addon is loaded (`dyn-symbols`), so no platform needs an import library.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
