//! Every truncation and every changed byte of small archives gives a sound result or an error with a code, never a
//! panic.

use super::*;

fn small() -> Vec<u8> {
    Maker::default()
        .file("a", b"some content")
        .pax(b'x', &[("path", "folder/b")])
        .raw(b"b", b'0', b"more", |header| header.set_mode(0o755))
        .raw(b"long", b'L', b"c/d\0", |_| {})
        .file("d", b"")
        .link("link", b'2', "a")
        .folder("empty")
        .end()
}

fn options() -> ImportOptions {
    ImportOptions { links: Links::Inside, ..ImportOptions::default() }
}

/// Checks that any result follows the rules, and can be exported and imported again.
fn assert_sound(archive: &[u8], what: &dyn Fn() -> String) -> bool {
    match import_serial(archive, &options()) {
        Ok((imported, sink)) => {
            let mut exported = Vec::new();
            let mut write = |bytes: &[u8]| {
                exported.extend(bytes);
                Ok(())
            };
            export(
                &imported.records,
                ExportOptions::default(),
                &|digest| sink.read(digest),
                &mut write,
            )
            .unwrap_or_else(|error| panic!("{}: {error}", what()));
            assert_eq!(records_of(&exported), imported.records, "{}", what());
            true
        }
        Err(error) => {
            assert!(["BAD_ARCHIVE", "UNSAFE_PATH"].contains(&error.code()), "{}: {error}", what());
            assert!(!error.to_string().contains(char::is_control), "{}", what());
            false
        }
    }
}

#[test]
fn a_truncated_archive_is_rejected() {
    let plain = small();
    for (name, archive, end) in [
        ("plain", plain.clone(), plain.len() - 512),
        ("gzip", gzip(&plain), usize::MAX),
        ("zstd", zstd(&plain), usize::MAX),
    ] {
        assert_eq!(records_of(&archive).len(), 5);
        for bytes in 0..archive.len() {
            let sound = assert_sound(&archive[..bytes], &|| format!("{name} cut at {bytes}"));
            assert_eq!(sound, bytes >= end, "{name} cut at {bytes}");
        }
    }
}

#[test]
fn one_changed_byte_of_an_archive_gives_an_error_or_a_sound_result() {
    let plain = small();
    for (name, archive) in
        [("plain", plain.clone()), ("gzip", gzip(&plain)), ("zstd", zstd(&plain))]
    {
        let mut sound = 0;
        for place in 0..archive.len() {
            let mut changed = archive.clone();
            for value in [0x01, 0x80, 0xff]
                .map(|mask| archive[place] ^ mask)
                .into_iter()
                .chain([0, b'/', b'9'])
            {
                changed[place] = value;
                sound += usize::from(assert_sound(&changed, &|| {
                    format!("{name}: byte {place} is {value}")
                }));
            }
        }
        assert!(sound > 0, "{name}: content may change and stay sound");
    }
}

#[test]
fn a_changed_byte_of_a_compressed_archive_is_detected() {
    let content: Vec<u8> = (0..20_000_u32).map(|index| ((index * index) >> 7) as u8).collect();
    let plain = Maker::default().file("a", &content).end();
    let expected = records_of(&plain);
    for (name, archive) in [("gzip", gzip(&plain)), ("zstd", zstd(&plain))] {
        for place in (12..archive.len()).step_by(37).chain(archive.len() - 8..archive.len()) {
            let mut changed = archive.clone();
            changed[place] ^= 0x10;
            // Only the checksum detects most of these changes. A few change nothing that is read.
            if let Ok((imported, _)) = import_serial(&changed, &options()) {
                assert_eq!(imported.records, expected, "{name}: byte {place}");
            }
        }
    }
}

#[test]
fn random_changes_of_an_archive_give_an_error_or_a_sound_result() {
    let given = std::env::var("VARVE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("VARVE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let plain = small();
    for archive in [gzip(&plain), zstd(&plain), plain] {
        for round in 0..10_000 {
            let mut changed = archive.clone();
            for _ in 0..random.usize(1..6) {
                let place = random.usize(..=changed.len());
                let end = changed.len().min(place + random.usize(..40));
                let inserted =
                    std::iter::repeat_n(random.u8(..), random.usize(..40) * random.usize(..16));
                changed.splice(place..end, inserted);
            }
            assert_sound(&changed, &|| format!("round {round}"));
        }
    }
}
