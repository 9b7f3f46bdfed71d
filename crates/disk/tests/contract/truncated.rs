//! A mapped file that another program truncates must not kill the process. See `guard.rs`.
#![expect(unsafe_code, reason = "the test causes a fault that the guard must not handle")]

use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use varve_core::vfs::{Access, File, Vfs};
use varve_disk::DiskVfs;

const LENGTH: usize = 100_000;
pub(crate) const CHILD: &str = "VARVE_TEST_CHILD";

fn mapped(vfs: &DiskVfs, name: &str) -> Arc<dyn File> {
    vfs.create_new(name).unwrap().append(&[&[7; LENGTH]]).unwrap();
    vfs.open(name, Access::Random).unwrap()
}

fn cut(vfs: &DiskVfs, name: &str, length: u64) {
    OpenOptions::new().write(true).open(vfs.folder().join(name)).unwrap().set_len(length).unwrap();
}

/// Runs one test of this binary in its own process, with `CHILD` set.
pub(crate) fn run_alone(test: &str) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap()
        .status
}

#[test]
fn a_mapped_file_returns_borrowed_bytes() {
    let root = tempfile::tempdir().unwrap();
    let file = mapped(&DiskVfs::new(root.path()), "a");
    assert!(
        matches!(file.read(1, 2).unwrap(), Cow::Borrowed(&[7, 7])),
        "files in the temporary directory should be mappable"
    );
}

#[test]
fn truncated_pages_of_a_mapped_file_read_as_zeros() {
    let root = tempfile::tempdir().unwrap();
    let vfs = DiskVfs::new(root.path());
    let file = mapped(&vfs, "a");
    let untouched = mapped(&vfs, "b");
    cut(&vfs, "a", 50_000);
    let bytes = file.read(0, LENGTH).unwrap();
    assert!(bytes[..50_000].iter().all(|&byte| byte == 7));
    assert!(bytes[65_536..].iter().all(|&byte| byte == 0));
    cut(&vfs, "a", 0);
    assert!(file.read(99_999, 1).unwrap()[0] == 0);
    drop(file);
    assert!(*untouched.read(0, LENGTH).unwrap() == [7; LENGTH]);
}

/// Many threads at once open, truncate, read and drop more maps than one table of the guard holds.
#[test]
fn truncated_maps_on_many_threads_do_not_kill_the_process() {
    let root = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let vfs = DiskVfs::new(root.path());
            scope.spawn(move || {
                for round in 0..3 {
                    let names: Vec<String> =
                        (0..150).map(|index| format!("{thread}-{round}-{index}")).collect();
                    let files: Vec<_> = names.iter().map(|name| mapped(&vfs, name)).collect();
                    names.iter().for_each(|name| cut(&vfs, name, 4_096));
                    assert!(files.iter().all(|file| {
                        file.read(70_000, 30_000).unwrap().iter().all(|&byte| byte == 0)
                    }));
                }
            });
        }
    });
}

/// The guard must not hide a fault in a map of another library: the process dies as it would without the guard.
#[test]
fn a_fault_outside_of_varves_maps_still_kills_the_process() {
    if std::env::var_os(CHILD).is_none() {
        let status = run_alone("truncated::a_fault_outside_of_varves_maps_still_kills_the_process");
        return assert_eq!(status.signal(), Some(libc::SIGBUS), "{status:?}");
    }
    let root = tempfile::tempdir().unwrap();
    let vfs = DiskVfs::new(root.path());
    let ours = mapped(&vfs, "a");
    cut(&vfs, "a", 0);
    assert_eq!(ours.read(0, 1).unwrap()[0], 0, "the guard works");
    fs::write(root.path().join("b"), [7; LENGTH]).unwrap();
    // SAFETY: this process is meant to die of the fault.
    let theirs =
        unsafe { memmap2::Mmap::map(&fs::File::open(root.path().join("b")).unwrap()) }.unwrap();
    cut(&vfs, "b", 0);
    std::process::exit(i32::from(theirs[LENGTH - 1]));
}
