//! `DiskVfs` keeps the contract, on a real disk, among hostile files and for many threads.

#[cfg(unix)]
mod hostile;
mod shared;
#[cfg(unix)]
mod truncated;

use std::sync::Arc;
use varve_core::testing::contract::contract;
use varve_disk::DiskVfs;

#[test]
fn keeps_the_contract() {
    let root = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    contract(&|| {
        count.set(count.get() + 1);
        Arc::new(DiskVfs::new(root.path().join(format!("{}/deep/folder", count.get()))))
    });
}
