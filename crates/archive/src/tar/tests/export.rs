//! Export, and import of what was exported.

use super::*;

fn export_to_vec(records: &[FileRecord], options: ExportOptions, sink: &Sink) -> Result<Vec<u8>> {
    let mut archive = Vec::new();
    let mut write = |bytes: &[u8]| {
        archive.extend(bytes);
        Ok(())
    };
    export(records, options, &|digest| sink.read(digest), &mut write)?;
    Ok(archive)
}

/// Names of every length around the limits, and all kinds of content.
fn tree(sink: &Sink) -> Vec<FileRecord> {
    let mut records = vec![
        folder("empty/folder"),
        link("link", "caf\u{e9}"),
        link("sub/long-link", &format!("../{}", "t/".repeat(60) + "x")),
    ];
    for bytes in [1, 98, 99, 100, 101, 102, 150, 255, 256, 600, 1024] {
        let letter = |index: usize| {
            if index % 100 == 50 { '/' } else { char::from(b'a' + (bytes % 26) as u8) }
        };
        let content = vec![b'x'; bytes * 7];
        sink.store(&content).unwrap();
        records.push(file(&(0..bytes).map(letter).collect::<String>(), &content, bytes % 2 == 0));
    }
    sink.store(&[9; 200_000]).unwrap();
    records.push(file("caf\u{e9}", &[9; 200_000], true));
    records.push(folder(&"\u{e9}".repeat(60)));
    records.sort_by(|a, b| a.path.cmp(&b.path));
    records
}

#[test]
fn an_exported_archive_imports_to_the_same_records() {
    let sink = Sink::default();
    let records = tree(&sink);
    for gzip in [false, true] {
        let archive = export_to_vec(&records, ExportOptions { gzip }, &sink).unwrap();
        assert_eq!(archive.starts_with(&[0x1f, 0x8b]), gzip);
        assert_eq!(records_of(&archive), records);
    }
    assert_eq!(records_of(&export_to_vec(&[], ExportOptions::default(), &sink).unwrap()), []);
}

#[test]
fn the_same_records_in_any_order_export_to_the_same_bytes() {
    let sink = Sink::default();
    let mut records = tree(&sink);
    for gzip in [false, true] {
        let archive = export_to_vec(&records, ExportOptions { gzip }, &sink).unwrap();
        records.reverse();
        assert!(archive == export_to_vec(&records, ExportOptions { gzip }, &sink).unwrap());
        let again = import_serial(
            &archive,
            &ImportOptions { links: Links::Inside, ..ImportOptions::default() },
        )
        .unwrap();
        assert!(
            archive == export_to_vec(&again.0.records, ExportOptions { gzip }, &again.1).unwrap()
        );
    }
    // The digest is fixed: users compare archives, so a change of a single byte is visible to them.
    let plain = export_to_vec(&tree(&sink), ExportOptions::default(), &sink).unwrap();
    assert_eq!(
        (plain.len(), digest_of(&plain).to_string()),
        (245_248, "c120204d706921371e0c362befa961a76b247b62bdd44d2f67ce9dda495aec89".to_owned())
    );
}

#[test]
fn an_exported_archive_has_no_owner_and_a_constant_time() {
    let sink = Sink::default();
    let archive = export_to_vec(&tree(&sink), ExportOptions::default(), &sink).unwrap();
    let mut reader = ::tar::Archive::new(&archive[..]);
    for entry in reader.entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!(
            (header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()),
            (0, 0, 315_532_800)
        );
        assert_eq!((header.username().unwrap(), header.groupname().unwrap()), (Some(""), Some("")));
        let allowed: &[u32] = match header.entry_type() {
            EntryType::Regular => &[0o644, 0o755],
            EntryType::Directory => &[0o755],
            _ => &[0o777],
        };
        assert!(allowed.contains(&header.mode().unwrap()));
    }
}

#[test]
fn export_rejects_records_that_an_import_would_reject() {
    let sink = Sink::default();
    sink.store(b"").unwrap();
    let empty = |path: &str| file(path, b"", false);
    for (records, reason) in [
        (vec![empty("../x")], "'..'"),
        (vec![empty("a"), empty("a")], "occurs twice"),
        (vec![empty("a"), empty("a/b")], "a file or link in one"),
        (vec![empty("A"), empty("a")], "case"),
        (vec![link("a", "../b")], "not below its root"),
    ] {
        let error = export_to_vec(&records, ExportOptions::default(), &sink).unwrap_err();
        assert_eq!(error.code(), "UNSAFE_PATH");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn export_stops_at_a_content_of_the_wrong_size_and_at_errors() {
    let records = [file("a", b"four", false)];
    let options = ExportOptions::default();
    let damaged =
        export(&records, options, &|_| Ok(b"three".to_vec()), &mut |_| Ok(())).unwrap_err();
    assert_eq!(damaged.code(), "DAMAGED");
    let missing =
        export(&records, options, &|_| Err(Error::Closed.boxed()), &mut |_| Ok(())).unwrap_err();
    assert_eq!(missing.code(), "CLOSED");
    for gzip in [false, true] {
        let read = |_: &Digest| Ok(b"four".to_vec());
        let stopped =
            export(&records, ExportOptions { gzip }, &read, &mut |_| Err(Error::ReadOnly.boxed()))
                .unwrap_err();
        assert_eq!(stopped.code(), "READ_ONLY");
    }
}
