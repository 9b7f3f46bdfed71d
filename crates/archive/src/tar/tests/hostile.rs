//! Malicious archives: each is rejected with a code and the name of the entry.

use super::*;
use varve_core::Shown;

/// Imports an archive that must be rejected.
fn refused(archive: &[u8], options: &ImportOptions) -> (&'static str, String) {
    let serial = import_serial(archive, options).map(drop).expect_err("refused");
    let parallel = import_on(&Threads::new(2), archive, options).map(drop).expect_err("refused");
    assert_eq!(serial.to_string(), parallel.to_string());
    assert!(!serial.to_string().contains(char::is_control));
    (serial.code(), serial.to_string())
}

#[track_caller]
fn assert_refused(archive: &[u8], code: &str, parts: &[&str]) {
    for archive in [archive.to_vec(), gzip(archive), zstd(archive)] {
        let (found, message) = refused(&archive, &ImportOptions::default());
        assert_eq!(found, code, "{message}");
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in: {message}");
        }
    }
}

#[test]
fn names_that_leave_the_root_are_rejected_in_every_field_of_an_archive() {
    for (name, reason) in [
        ("../out", "'..'"),
        ("a/../../out", "'..'"),
        ("./../out", "'..'"),
        ("/etc/passwd", "absolute"),
        (".//etc/passwd", "absolute"),
        ("//host/x", "host"),
        ("C:/x", "drive"),
        ("a\\..\\..\\x", "backslash"),
        ("a/./b", "'.'"),
        ("a//b", "empty part"),
        ("aux.js", "device"),
        ("x.", "dot or space"),
        ("a\nb", "U+000A"),
        ("\u{1b}[2J", "U+001B"),
    ] {
        let in_header = Maker::default().file("good", b"").file(name, b"x");
        let in_pax = Maker::default().pax(b'x', &[("path", name)]).file("good", b"x");
        let in_long = Maker::default()
            .raw(b"x", b'L', format!("{name}\0").as_bytes(), |_| {})
            .file("good", b"x");
        let as_folder = Maker::default().folder(name);
        for maker in [in_header, in_pax, in_long, as_folder] {
            let shown = Shown(name).to_string();
            assert_refused(&maker.end(), "UNSAFE_PATH", &[reason, &shown]);
        }
    }
    let no_folder =
        Maker::default().pax(b'x', &[("path", "file/")]).raw(b"x", b'0', b"content", |_| {});
    assert_refused(&no_folder.end(), "BAD_ARCHIVE", &["'file/'", "cannot have content"]);
    assert_refused(&Maker::default().file("", b"x").end(), "UNSAFE_PATH", &["is empty"]);
    assert_refused(
        &Maker::default().file("./", b"x").end(),
        "BAD_ARCHIVE",
        &["cannot have content"],
    );
    assert_refused(
        &Maker::default().raw(b"caf\xe9", b'0', b"", |_| {}).end(),
        "UNSAFE_PATH",
        &["not UTF-8"],
    );
    let nul = Maker::default().pax(b'x', &[("path", "a\0b")]).file("x", b"");
    assert_refused(&nul.end(), "UNSAFE_PATH", &["U+0000"]);
    let long = Maker::default().pax(b'x', &[("path", &"x/".repeat(60_000))]).file("x", b"");
    assert_refused(&long.end(), "UNSAFE_PATH", &["the limit is 1024"]);
}

#[test]
fn colliding_names_in_an_archive_are_rejected_and_both_are_named() {
    let two = |a: &str, b: &str| Maker::default().file(a, b"1").file(b, b"2").end();
    assert_refused(&two("README", "readme"), "UNSAFE_PATH", &["'README'", "'readme'", "case"]);
    assert_refused(
        &two("caf\u{e9}", "cafe\u{301}"),
        "UNSAFE_PATH",
        &["caf\\u{e9}", "cafe\\u{301}", "two forms"],
    );
    assert_refused(&two("a", "a/b"), "UNSAFE_PATH", &["'a/b'", "'a' is a file or link in one"]);
    assert_refused(&two("Src/a", "src/b"), "UNSAFE_PATH", &["'src'", "'Src'"]);
    let folder = Maker::default().folder("x").file("x", b"");
    assert_refused(&folder.end(), "UNSAFE_PATH", &["'x'"]);
}

#[test]
fn entries_that_are_not_files_are_rejected_by_their_type() {
    for (form, reason) in [
        (b'1', "hard links"),
        (b'2', "symbolic links"),
        (b'3', "devices"),
        (b'4', "devices"),
        (b'6', "named pipes"),
        (b'S', "sparse"),
        (b'V', "type 'V'"),
        (b'M', "type 'M'"),
        (b'D', "type 'D'"),
        (0xff, "type '\u{ff}'"),
    ] {
        let archive = Maker::default().file("good", b"").link("dir/bad", form, "good").end();
        assert_refused(&archive, "BAD_ARCHIVE", &["'dir/bad'", reason]);
    }
    for key in ["GNU.sparse.major", "GNU.sparse.map", "GNU.sparse.name"] {
        let archive = Maker::default().pax(b'x', &[(key, "1")]).file("bad", b"").end();
        assert_refused(&archive, "BAD_ARCHIVE", &["'bad'", "sparse"]);
    }
}

#[test]
fn allowed_links_must_stay_below_the_root() {
    let options = ImportOptions { links: Links::Inside, ..ImportOptions::default() };
    for target in
        ["../../x", "/etc/passwd", "..", "a/../../../x", "a/..", "C:\\x", "aux", "a\\b", ""]
    {
        let in_header = Maker::default().link("d/bad", b'2', target).end();
        let in_pax =
            Maker::default().pax(b'x', &[("linkpath", target)]).link("d/bad", b'2', target).end();
        let in_long = Maker::default()
            .raw(b"x", b'K', target.as_bytes(), |_| {})
            .link("d/bad", b'2', "good")
            .end();
        for archive in [in_header, in_pax, in_long] {
            let (code, message) = refused(&archive, &options);
            assert_eq!(
                (code, message.contains("'d/bad'")),
                ("UNSAFE_PATH", true),
                "{target}: {message}"
            );
        }
    }
    // The path leads through the link, which comes before or after it.
    for archive in [
        Maker::default().link("a", b'2', "b").file("a/x", b"").end(),
        Maker::default().file("a/x", b"").link("a", b'2', "b").end(),
        Maker::default().link("a", b'2', "b").folder("a").end(),
        Maker::default().link("A", b'2', "b").file("a/x", b"").end(),
    ] {
        assert_eq!(refused(&archive, &options).0, "UNSAFE_PATH");
    }
    let hard = Maker::default().file("x", b"").link("a", b'1', "x").end();
    assert!(refused(&hard, &options).1.contains("hard links"));
}

#[test]
fn invalid_numbers_in_archive_headers_are_rejected() {
    let size = |field: [u8; 12]| {
        Maker::default()
            .raw(b"bad", b'0', b"12345", |header| header.as_old_mut().size = field)
            .end()
    };
    for field in [
        *b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfb", // -5
        *b"\x80\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x05", // 2^64 + 5
        *b"\xc0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05",
        *b"-0000000005\0",
        *b"+0000000005\0",
        *b"0000000009 \0",
        *b"00000 00005\0",
        *b"0x000000005\0",
        *b"            ",
        [0; 12],
    ] {
        assert_refused(
            &size(field),
            "BAD_ARCHIVE",
            &["'bad'", "the size in a header is not a number"],
        );
    }
    for field in [*b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", *b"777777777777"] {
        assert_refused(&size(field), "BAD_ARCHIVE", &["'bad'", "maxFileBytes"]);
    }
    for value in
        ["-1", "+1", " 1", "1.5", "0x1", "18446744073709551616", "99999999999999999999999999"]
    {
        let archive = Maker::default().pax(b'x', &[("size", value)]).file("bad", b"1").end();
        assert_refused(&archive, "BAD_ARCHIVE", &["the size in a header is not a number"]);
    }
    let archive = Maker::default()
        .raw(b"bad", b'0', b"", |header| header.as_old_mut().mode = *b"rwxr-xr-")
        .end();
    assert_refused(&archive, "BAD_ARCHIVE", &["'bad'", "the mode"]);
}

#[test]
fn malformed_pax_headers_and_long_names_are_rejected() {
    let pax =
        |content: &[u8]| Maker::default().raw(b"pax", b'x', content, |_| {}).file("bad", b"").end();
    for content in [
        &b"path=x\n"[..],
        b"11 path=ab",
        b"10 path=ab\n",
        b"12 path=ab\n",
        b"0 path=ab\n",
        b"-11 path=ab\n",
        b"+11 path=ab\n",
        b"99999999999999999999 path=ab\n",
        b"11 pathxab\n\n",
        b" 11 path=a\n",
        b"5 a=\n1",
        b"\0\0\0",
    ] {
        assert_refused(&pax(content), "BAD_ARCHIVE", &["a pax header is malformed"]);
    }
    let makers = [
        (
            Maker::default()
                .pax(b'x', &[("path", "a")])
                .pax(b'x', &[("path", "b")])
                .file("bad", b""),
            "two pax headers",
        ),
        (
            Maker::default()
                .pax(b'x', &[("path", "a")])
                .raw(b"", b'L', b"b\0", |_| {})
                .file("bad", b""),
            "two long names",
        ),
        (
            Maker::default()
                .raw(b"", b'L', b"b", |_| {})
                .raw(b"", b'L', b"b", |_| {})
                .file("bad", b""),
            "two long names",
        ),
        (Maker::default().pax(b'g', &[("path", "a")]).file("bad", b""), "a global pax header"),
        (Maker::default().pax(b'g', &[("size", "1")]).file("bad", b""), "a global pax header"),
        (Maker::default().pax(b'x', &[("path", "a")]), "belongs to no entry"),
        (Maker::default().pax(b'x', &[]), "belongs to no entry"),
        (Maker::default().raw(b"", b'K', b"a", |_| {}), "belongs to no entry"),
        (
            Maker::default().raw(b"huge", b'x', &[0; (1 << 20) + 1], |_| {}).file("bad", b""),
            "more than 1 MiB",
        ),
        (
            Maker::default()
                .raw(b"huge", b'L', b"", |header| header.set_size(1 << 40))
                .file("bad", b""),
            "more than 1 MiB",
        ),
    ];
    for (maker, reason) in makers {
        assert_refused(&maker.end(), "BAD_ARCHIVE", &[reason]);
    }
}

#[test]
fn bytes_before_or_after_an_archive_are_rejected() {
    let good = Maker::default().file("a", b"content");
    let whole = good.clone().end();
    let cut = |bytes: usize| whole[..bytes].to_vec();
    assert_refused(b"", "BAD_ARCHIVE", &["not a tar archive"]);
    assert_refused(b"PK\x03\x04 is a zip", "BAD_ARCHIVE", &["not a tar archive"]);
    assert_refused(&[b'x'; 5000], "BAD_ARCHIVE", &["not a tar archive"]);
    assert_refused(&cut(511), "BAD_ARCHIVE", &["not a tar archive"]);
    assert_refused(&cut(515), "BAD_ARCHIVE", &["'a'", "ends too early"]);
    assert_refused(&cut(1023), "BAD_ARCHIVE", &["'a'", "ends too early"]);
    assert_refused(&cut(1024), "BAD_ARCHIVE", &["ends too early"]);
    assert_refused(&cut(1535), "BAD_ARCHIVE", &["ends too early"]);
    assert_eq!(records_of(&cut(1536)).len(), 1);
    assert_eq!(records_of(&[whole.clone(), vec![0; 10_000]].concat()).len(), 1);
    assert_eq!(records_of(&Maker::default().end()), []);
    assert_refused(
        &[whole.clone(), b"x".to_vec()].concat(),
        "BAD_ARCHIVE",
        &["bytes after its end"],
    );
    assert_refused(
        &[whole.clone(), whole.clone()].concat(),
        "BAD_ARCHIVE",
        &["bytes after its end"],
    );
    let mut wrong = good.clone().file("b", b"").end();
    wrong[1024 + 200] ^= 1;
    assert_refused(&wrong, "BAD_ARCHIVE", &["does not match its checksum"]);
    for packed in [gzip(&whole), zstd(&whole)] {
        for tail in [&b"x"[..], b"garbage after the end", &[0; 600]] {
            let (code, message) =
                refused(&[packed.clone(), tail.to_vec()].concat(), &ImportOptions::default());
            assert_eq!(
                (code, message.contains("decompressed") || message.contains("early")),
                ("BAD_ARCHIVE", true),
                "{message}"
            );
        }
    }
}

#[test]
fn import_limits_apply_before_content_is_read() {
    let archive = Maker::default().file("a", &[1; 600]).file("b", &[2; 600]).folder("c").end();
    let limited = |change: &dyn Fn(&mut ImportOptions)| {
        let mut options = ImportOptions::default();
        change(&mut options);
        import_serial(&archive, &options)
            .map(|(imported, _)| imported.records.len())
            .map_err(|error| error.to_string())
    };
    assert_eq!(limited(&|options| options.file_bytes_max = 600), Ok(3));
    assert!(
        limited(&|options| options.file_bytes_max = 599)
            .is_err_and(|text| text.contains("'a'") && text.contains("maxFileBytes"))
    );
    assert_eq!(limited(&|options| options.files_max = 3), Ok(3));
    assert!(
        limited(&|options| options.files_max = 2)
            .is_err_and(|text| text.contains("'c'") && text.contains("maxFiles"))
    );
    assert_eq!(limited(&|options| options.bytes_max = archive.len() as u64), Ok(3));
    for bytes_max in [0, 511, 1000, 3000, archive.len() as u64 - 1] {
        assert!(
            limited(&|options| options.bytes_max = bytes_max)
                .is_err_and(|text| text.contains("maxBytes"))
        );
    }
    // The archive ends after the header. If the size were not checked first, the error would be a truncated archive.
    let claims = Maker::default().raw(b"a", b'0', b"", |header| header.set_size(5 << 30)).0;
    let options = ImportOptions { file_bytes_max: u64::MAX, ..ImportOptions::default() };
    assert!(refused(&claims, &options).1.contains("maxBytes"));
}

#[test]
fn import_memory_grows_with_the_input_not_with_the_sizes_in_headers() {
    let options = ImportOptions::default();
    let archive = Maker::default().raw(b"a", b'0', &[1; 100], |header| header.set_size(1 << 30)).0;
    let mut input = &archive[..];
    let mut walk =
        walk::Walk::new(source::Source::open(&mut input, &options, UNWATCHED).unwrap(), &options);
    let Some(walk::Entry { kind: walk::Kind::File { bytes, .. }, .. }) = walk.next().unwrap()
    else {
        panic!("a file")
    };
    let mut content = Vec::new();
    assert_eq!(bytes, 1 << 30);
    assert!(walk.read(bytes, &mut content).is_err());
    assert!(content.capacity() <= 1 << 17, "{}", content.capacity());
}

#[test]
fn decompression_bombs_are_rejected() {
    // Zeros as the content of a file, as a long name, and after the end.
    let zeros = vec![0; 100 << 20];
    let file = Maker::default().raw(b"bomb", b'0', &zeros, |_| {}).end();
    let (code, message) = refused(&gzip(&file), &ImportOptions::default());
    assert_eq!(
        (code, message.contains("'bomb'"), message.contains("1000 times")),
        ("BAD_ARCHIVE", true, true),
        "{message}"
    );
    let (_, message) = refused(
        &gzip(&[Maker::default().file("a", b"").end(), zeros].concat()),
        &ImportOptions::default(),
    );
    assert!(message.contains("1000 times"), "{message}");
    let options = ImportOptions { ratio_max: 2_000, ..ImportOptions::default() };
    assert_eq!(import_serial(&gzip(&file), &options).unwrap().0.records.len(), 1);
    // 128 KiB from 4 bytes: blocks of one repeated byte, in a frame with a window of 128 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    for _ in 0..100_000 {
        frame.extend([0x02, 0x00, 0x10, 0x00]);
    }
    let (_, message) = refused(&frame, &ImportOptions::default());
    assert!(message.contains("1000 times"), "{message}");
    // A window of 3.75 TiB.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x01, 0x00, 0x00];
    assert!(refused(&window, &ImportOptions::default()).1.contains("cannot be decompressed"));
}
