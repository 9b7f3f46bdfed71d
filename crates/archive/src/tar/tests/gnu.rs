//! Compatibility with GNU tar in both directions, if the machine has it. No temporary files are needed: tar packs the
//! sources of this crate to its output, and lists archives from its input.

use super::*;
use std::process::{Command, Stdio};

fn has_gnu_tar() -> bool {
    let version = Command::new("tar").arg("--version").output();
    let found = version.is_ok_and(|output| output.stdout.starts_with(b"tar (GNU tar)"));
    if !found {
        println!("skipped: GNU tar is not installed");
    }
    found
}

fn run(args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new("tar");
    command
        .args(args)
        .env("TZ", "UTC")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

#[test]
fn import_reads_all_formats_of_gnu_tar() {
    if !has_gnu_tar() {
        return;
    }
    let prefix = "a-long-name/".repeat(15);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    for format in
        ["--format=v7", "--format=ustar", "--format=oldgnu", "--format=gnu", "--format=posix"]
    {
        for compression in ["--no-auto-compress", "--gzip"] {
            for start in ["", prefix.as_str()] {
                if !start.is_empty() && (format.ends_with("v7") || format.ends_with("ustar")) {
                    continue; // these formats have no names of that length
                }
                let transform = format!("--transform=s,^\\./,./{start},");
                let archive = run(
                    &["--create", format, compression, &transform, "--directory", folder, "."],
                    &[],
                );
                let path = format!("{start}tar/tests/gnu.rs");
                let records = records_of(&archive);
                let record = records.iter().find(|record| record.path == path).expect("this file");
                assert_eq!(
                    *record,
                    file(&path, include_bytes!("gnu.rs"), false),
                    "{format} {compression}"
                );
                let is_file = |line: &&[u8]| !line.is_empty() && !line.ends_with(b"/");
                let listed = run(&["--list", compression], &archive)
                    .split(|byte| *byte == b'\n')
                    .filter(is_file)
                    .count();
                assert_eq!(records.len(), listed, "{format} {compression}");
            }
        }
    }
}

#[test]
fn gnu_tar_reads_exported_archives() {
    if !has_gnu_tar() {
        return;
    }
    let sink = Sink::default();
    sink.store(b"content").unwrap();
    let long = "folder/".repeat(30) + "caf\u{e9}";
    let records = [
        file(&long, b"content", true),
        file("a", b"content", false),
        folder("empty"),
        link("link", &long),
    ];
    for gzip in [false, true] {
        let mut archive = Vec::new();
        let mut write = |bytes: &[u8]| {
            archive.extend(bytes);
            Ok(())
        };
        export(&records, ExportOptions { gzip }, &|digest| sink.read(digest), &mut write).unwrap();
        let args = if gzip { &["--list", "--gzip"][..] } else { &["--list"] };
        let listed = run(
            &[args, &["--verbose", "--numeric-owner", "--quoting-style=literal"]].concat(),
            &archive,
        );
        let expected = format!(
            "-rw-r--r-- 0/0               7 1980-01-01 00:00 a\n\
             drwxr-xr-x 0/0               0 1980-01-01 00:00 empty/\n\
             -rwxr-xr-x 0/0               7 1980-01-01 00:00 {long}\n\
             lrwxrwxrwx 0/0               0 1980-01-01 00:00 link -> {long}\n"
        );
        assert_eq!(String::from_utf8(listed).unwrap(), expected);
    }
}
