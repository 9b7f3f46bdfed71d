//! Linker arguments of a Node-API addon. On Linux `-z nodelete`: a worker thread that ends must not unmap the threads
//! of the pool; on macOS the symbols of Node are looked up when the addon is loaded.

fn main() {
    napi_build::setup();
}
