//! `DiskVfs` keeps the contract, on a real disk and among hostile files.

#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod truncated;

use std::sync::Arc;
use varve_core::vfs::contract::contract;
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
