//! Imports of valid archives.

use super::*;
use std::io::{self, Read};

fn plain() -> Vec<u8> {
    Maker::default().file("b", b"bb").folder("empty/").file("a/c", b"").end()
}

#[test]
fn imported_records_are_sorted_and_only_empty_directories_have_one() {
    let archive = Maker::default()
        .folder("./")
        .folder("./z/")
        .folder("./full/")
        .file("./full/in/b.js", b"b")
        .folder("./full/in/")
        .folder("./full-not/")
        .file("./full.js", b"")
        .file("caf\u{e9}/\u{65e5}", b"x")
        .raw(b"old-style/", b'\0', &[], |_| {})
        .raw(b"contiguous", b'7', b"c", |_| {})
        .end();
    let expected = vec![
        file("caf\u{e9}/\u{65e5}", b"x", false),
        file("contiguous", b"c", false),
        folder("full-not"),
        file("full.js", b"", false),
        file("full/in/b.js", b"b", false),
        folder("old-style"),
        folder("z"),
    ];
    assert_eq!(records_of(&archive), expected);
}

#[test]
fn import_keeps_only_the_executable_bit_of_the_mode() {
    for (mode, executable) in [
        (0o644, false),
        (0o755, true),
        (0o100, true),
        (0o010, true),
        (0o001, true),
        (0o6666, false),
        (0o7777, true),
        (0, false),
    ] {
        let archive = Maker::default().raw(b"a", b'0', b"", |header| header.set_mode(mode)).end();
        assert_eq!(records_of(&archive), [file("a", b"", executable)], "{mode:o}");
    }
}

#[test]
fn import_reads_long_names_in_all_tar_formats() {
    let long = format!("{}/{}.js", "folder/".repeat(20), "n".repeat(200)).replace("//", "/");
    let target = format!("{}x", "folder/".repeat(30));
    let by_crate = {
        let mut builder = ::tar::Builder::new(Vec::new()); // GNU long names
        let mut header = Header::new_gnu();
        header.set_size(2);
        header.set_mode(0o644);
        builder.append_data(&mut header, &long, &b"hi"[..]).unwrap();
        header.set_size(0);
        header.set_entry_type(EntryType::Symlink);
        builder.append_link(&mut header, "link", &target).unwrap();
        builder.into_inner().unwrap()
    };
    let by_pax = Maker::default()
        .pax(
            b'x',
            &[
                ("comment", "a\n30 path=evil\n"),
                ("path", "first"),
                ("path", &long),
                ("mtime", "1.5"),
            ],
        )
        .file("short", b"hi")
        .pax(b'g', &[("comment", "of git")])
        .pax(b'x', &[("linkpath", &target)])
        .link("link", b'2', "short")
        .end();
    let by_prefix = {
        let (prefix, name) = ("p".repeat(150), "n".repeat(90));
        let spoil = |header: &mut Header| {
            header.as_ustar_mut().unwrap().prefix[..150].copy_from_slice(prefix.as_bytes())
        };
        let archive = Maker::default().raw(name.as_bytes(), b'0', b"", spoil).end();
        assert_eq!(records_of(&archive), [file(&format!("{prefix}/{name}"), b"", false)]);
        archive
    };
    assert!(by_prefix.len() < by_pax.len());
    for archive in [by_crate, by_pax] {
        assert_eq!(records_of(&archive), [file(&long, b"hi", false), link("link", &target)]);
    }
}

#[test]
fn a_pax_header_sets_the_size_and_an_empty_value_removes_it() {
    let spoil = |header: &mut Header| header.set_size(0);
    let archive = Maker::default()
        .pax(b'x', &[("size", "3")])
        .raw(b"a", b'0', b"abc", spoil)
        .file("b", b"")
        .end();
    assert_eq!(records_of(&archive), [file("a", b"abc", false), file("b", b"", false)]);
    let taken_back = [("path", "x"), ("path", ""), ("size", "9"), ("size", "")];
    let archive = Maker::default().pax(b'x', &taken_back).file("a", b"abc").end();
    assert_eq!(records_of(&archive), [file("a", b"abc", false)]);
}

#[test]
fn compression_is_detected_by_the_first_bytes() {
    let plain = plain();
    let expected = records_of(&plain);
    let (first, second) = plain.split_at(700);
    let skipped = [&[0x53, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"01234"].concat();
    for archive in [
        gzip(&plain),
        [gzip(first), gzip(second)].concat(),
        zstd(&plain),
        [zstd(first), zstd(&[]), skipped.clone(), zstd(second)].concat(),
        [skipped.clone(), zstd(&plain), skipped].concat(),
    ] {
        assert_eq!(records_of(&archive), expected);
    }
}

/// Returns one byte per read, and is interrupted before each.
struct Trickle<'a>(&'a [u8], bool);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        let one = buffer.len().min(1);
        if self.1 {
            Err(io::ErrorKind::Interrupted.into())
        } else {
            self.0.read(&mut buffer[..one])
        }
    }
}

#[test]
fn an_archive_may_arrive_byte_by_byte() {
    for archive in [plain(), gzip(&plain()), zstd(&plain())] {
        let mut input = Trickle(&archive, false);
        let options = ImportOptions::default();
        let imported =
            import(&mut input, &options, &SerialPool, &|content| Ok(digest_of(content)), UNWATCHED)
                .unwrap();
        assert_eq!(imported.records, records_of(&archive));
    }
}

#[test]
fn the_last_entry_of_a_repeated_path_wins_with_a_warning() {
    let archive = Maker::default()
        .file("a", b"first")
        .file("b", b"")
        .file("./a", b"second")
        .link("b", b'2', "a")
        .folder("c/")
        .folder("c")
        .raw(b"a", b'0', b"third", |header| header.set_mode(0o755))
        .end();
    let options = ImportOptions { links: Links::Inside, ..ImportOptions::default() };
    let (imported, _) = import_serial(&archive, &options).unwrap();
    assert_eq!(imported.records, [file("a", b"third", true), link("b", "a"), folder("c")]);
    let repeated = |path: &str| Warning::Repeated { path: path.to_owned() };
    assert_eq!(imported.warnings, [repeated("a"), repeated("b"), repeated("a")]);
    assert!(imported.warnings[0].to_string().contains("'a' is in the archive twice"));
}

#[test]
fn an_archive_of_ten_thousand_empty_files_is_imported() {
    let archive = (0..10_000)
        .fold(Maker::default(), |maker, index| maker.file(&format!("f/{index:05}"), b""))
        .end();
    for pool in [&SerialPool as &dyn Pool, &Threads::new(3)] {
        let (imported, sink) = import_on(pool, &archive, &ImportOptions::default()).unwrap();
        assert_eq!(imported.records.len(), 10_000);
        assert!(
            imported
                .records
                .iter()
                .enumerate()
                .all(|(index, record)| *record == file(&format!("f/{index:05}"), b"", false))
        );
        assert_eq!(sink.0.lock().unwrap().len(), 1);
    }
}

/// Files of all sizes, with repeated names, directories and links, and the records that a map gives for them.
fn random_archive(random: &mut fastrand::Rng, files: usize) -> (Vec<u8>, Vec<FileRecord>) {
    let (mut maker, mut expected) = (Maker::default(), BTreeMap::new());
    for index in 0..files {
        let name = if random.u32(..10) == 0 { random.usize(..files) } else { index };
        let bytes = match random.u32(..20) {
            0 => random.usize(..300_000),
            1..10 => random.usize(..20),
            _ => random.usize(..5_000),
        };
        let content: Vec<u8> = std::iter::repeat_with(|| random.u8(..4)).take(bytes).collect();
        let record = file(&format!("d{}/{name}", name % 7), &content, false);
        maker = maker.file(&record.path, &content);
        expected.insert(record.path.clone(), record);
        if random.u32(..8) == 0 {
            let (folder, link) =
                (folder(&format!("d{}", name % 9)), link(&format!("l{name}"), "d1/x"));
            maker = maker.folder(&folder.path).link(&link.path, b'2', "d1/x");
            expected.extend([folder, link].map(|record| (record.path.clone(), record)));
        }
    }
    let paths: Vec<String> = expected.keys().cloned().collect();
    let is_inside = |path: &str, folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    expected.retain(|folder, _| !paths.iter().any(|path| is_inside(path, folder)));
    (maker.end(), expected.into_values().collect())
}

#[test]
fn threads_change_no_result_and_are_not_used_below_32_files() {
    let given = std::env::var("VARVE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("VARVE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let options = ImportOptions { links: Links::Inside, ..ImportOptions::default() };
    for files in [0, 1, 8, 31, 32, 33, 95, 96, 97, 1000] {
        let (archive, expected) = random_archive(&mut random, files);
        for archive in [gzip(&archive), archive] {
            let (serial, serial_sink) = import_serial(&archive, &options).unwrap();
            assert!(serial.records == expected, "{files} files");
            for count in [2, 5] {
                let pool = Threads::new(count);
                let (parallel, sink) = import_on(&pool, &archive, &options).unwrap();
                assert_eq!(parallel, serial, "{files} files");
                assert_eq!(*sink.0.lock().unwrap(), *serial_sink.0.lock().unwrap());
                assert_eq!(pool.jobs.load(Ordering::Relaxed) > 0, files >= 32, "{files} files");
            }
        }
    }
}

#[test]
fn an_import_returns_the_first_error_in_archive_order_on_any_number_of_threads() {
    let many = |count: usize, from: usize| {
        (from..from + count).fold(Maker::default(), |maker, index| {
            maker.file(&format!("{index}"), format!("{index}").as_bytes())
        })
    };
    for (bad_content, bad_entry) in
        [(5, 20), (20, 5), (40, 120), (120, 40), (70, 71), (71, 70), (200, 201)]
    {
        let [head, tail] = [many(bad_entry, 0), many(300 - bad_entry, bad_entry)];
        let archive = [head.link("hard", b'1', "0").0, tail.end()].concat();
        let messages = [1, 2, 4].map(|count| {
            let refuse = |content: &[u8]| match content == format!("{bad_content}").as_bytes() {
                true => Err(Error::ReadOnly.boxed()),
                false => Ok(digest_of(content)),
            };
            let options = ImportOptions::default();
            import(&mut &archive[..], &options, &Threads::new(count), &refuse, UNWATCHED)
                .unwrap_err()
                .code()
        });
        let expected = if bad_content < bad_entry { "READ_ONLY" } else { "BAD_ARCHIVE" };
        assert_eq!(messages, [expected; 3], "content {bad_content}, entry {bad_entry}");
    }
}

/// Fails once its bytes are read.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            Err(io::ErrorKind::PermissionDenied.into())
        } else {
            self.0.read(buffer)
        }
    }
}

#[test]
fn an_input_that_fails_is_an_io_error_not_a_damaged_archive() {
    for archive in [plain(), gzip(&plain()), zstd(&plain())] {
        for bytes in [0, 1, 10, archive.len() - 1] {
            let mut input = Failing(&archive[..bytes]);
            let store = |content: &[u8]| Ok(digest_of(content));
            let error =
                import(&mut input, &ImportOptions::default(), &SerialPool, &store, UNWATCHED)
                    .unwrap_err();
            assert_eq!(error.code(), "PERMISSION", "{error}");
        }
    }
}

#[test]
fn a_watch_sees_the_progress_of_an_import_and_can_stop_it() {
    let archive = (0..200)
        .fold(Maker::default(), |maker, index| maker.file(&index.to_string(), &[7; 10_000]))
        .end();
    let options = ImportOptions { input_bytes: archive.len() as u64, ..ImportOptions::default() };
    for pool in [&SerialPool as &dyn Pool, &Threads::new(2)] {
        let seen = Mutex::new(Vec::new());
        let watch = |done, total| {
            assert_eq!(total, archive.len() as u64);
            seen.lock().unwrap().push(done);
            ControlFlow::Continue(())
        };
        import(&mut &archive[..], &options, pool, &|content| Ok(digest_of(content)), &watch)
            .unwrap();
        let seen = seen.into_inner().unwrap();
        assert!(seen.len() >= 5 && seen.is_sorted(), "{seen:?}");
        let stop = |done, _| {
            if done > 1_000_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let stopped =
            import(&mut &archive[..], &options, pool, &|content| Ok(digest_of(content)), &stop);
        assert_eq!(stopped.unwrap_err().code(), "CANCELLED");
    }
}
