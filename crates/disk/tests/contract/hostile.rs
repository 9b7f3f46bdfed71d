//! Links, FIFOs and directories that an attacker put in place of Varve's files.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use varve_core::vfs::{Access, Vfs};
use varve_disk::DiskVfs;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn only_the_owner_can_access_the_cache_directory_and_its_files() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("cache/v1");
    let vfs = DiskVfs::new(&folder);
    assert!(vfs.list().unwrap().is_empty());
    assert!(!root.path().join("cache").exists(), "reading creates nothing");
    vfs.create_new("a").unwrap();
    assert_eq!(
        (mode(&root.path().join("cache")), mode(&folder), mode(&folder.join("a"))),
        (0o700, 0o700, 0o600)
    );
}

/// Opening a FIFO without a writer would block forever.
#[test]
fn only_regular_files_are_opened() {
    let root = tempfile::tempdir().unwrap();
    let vfs = DiskVfs::new(root.path());
    vfs.create_new("good").unwrap();
    fs::create_dir(root.path().join("folder")).unwrap();
    symlink(root.path().join("good"), root.path().join("link")).unwrap();
    symlink(root.path().join("nowhere"), root.path().join("dangling")).unwrap();
    assert!(Command::new("mkfifo").arg(root.path().join("fifo")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
    for name in ["folder", "link", "dangling", "fifo", "socket"] {
        for access in [Access::Stream, Access::Random] {
            assert_eq!(
                vfs.open(name, access).unwrap_err().kind(),
                ErrorKind::InvalidInput,
                "{name}"
            );
        }
        assert!(!vfs.exists(name).unwrap(), "{name}");
        assert_eq!(vfs.create_new(name).unwrap_err().kind(), ErrorKind::AlreadyExists, "{name}");
    }
    assert_eq!(vfs.list().unwrap(), ["good"]);
    assert!(!root.path().join("nowhere").exists(), "nothing is written through a link");
}

#[test]
fn a_file_name_that_leads_out_of_the_directory_is_rejected() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("outside"), "secret").unwrap();
    let vfs = DiskVfs::new(root.path().join("folder"));
    vfs.create_new("a").unwrap();
    for name in ["../outside", "/etc/passwd", "..", ".", "", "a/b", "a\0b"] {
        assert_eq!(
            vfs.open(name, Access::Stream).unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "{name:?}"
        );
        assert_eq!(vfs.create_new(name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
        assert_eq!(vfs.rename("a", name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
    }
}

#[test]
fn a_file_in_place_of_the_cache_directory_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    let vfs = DiskVfs::new(root.path().join("file"));
    assert!(vfs.list().is_err());
    assert!(vfs.create_new("a").is_err());
}

#[test]
fn nothing_is_written_through_a_linked_cache_directory() {
    let root = tempfile::tempdir().unwrap();
    let outside = root.path().join("outside");
    fs::create_dir_all(outside.join("ab")).unwrap();
    fs::write(outside.join("ab/there"), "theirs").unwrap();
    fs::create_dir(root.path().join("v1")).unwrap();
    symlink(&outside, root.path().join("link")).unwrap();
    let cache = DiskVfs::new(root.path().join("v1"));
    let below = Vfs::folder(&cache, "files").unwrap().folder("ab").unwrap();
    let linked: std::sync::Arc<dyn Vfs> =
        std::sync::Arc::new(DiskVfs::new(root.path().join("link")));
    let unmade = Vfs::folder(&cache, "files").unwrap().folder("cd").unwrap();
    symlink(&outside, root.path().join("v1/files")).unwrap();
    for vfs in [below, linked, unmade] {
        assert_eq!(vfs.create_new("new").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(vfs.rename("there", "renamed").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(vfs.link("there", "linked").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(vfs.remove("there").unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
    assert_eq!(
        (
            fs::read_dir(&outside).unwrap().count(),
            fs::read_dir(outside.join("ab")).unwrap().count()
        ),
        (1, 1)
    );
}
