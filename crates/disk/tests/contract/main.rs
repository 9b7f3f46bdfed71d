//! `DiskVfs` keeps the contract of `Vfs` on a real disk, next to hostile files, and with many threads.

#[cfg(unix)]
mod hostile;
#[cfg(target_os = "linux")]
mod memory;
mod shared;
#[cfg(unix)]
mod truncated;

use std::sync::Arc;
use varve_core::testing::contract::contract;
use varve_disk::DiskVfs;

#[test]
fn the_disk_keeps_the_contract_of_the_file_system_trait() {
    let root = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    contract(&|| {
        count.set(count.get() + 1);
        Arc::new(DiskVfs::new(root.path().join(format!("{}/deep/folder", count.get()))))
    });
}
