//! What only Rust sees of packed sets; `test/inputs` compares both programs.

use super::*;
use std::fmt::Write as _;

const NONE: Stamp = [0.0; 4];

/// The index and the state of each finding.
fn findings(rows: &str, stamps: &[f64], until_change: bool) -> Option<Vec<(usize, u8)>> {
    let answer = check_inputs(rows, stamps, until_change)?;
    let (numbers, _) = answer.as_chunks::<8>();
    let numbers: Vec<f64> = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    Some(numbers.chunks(6).map(|row| (row[0] as usize, row[1] as u8)).collect())
}

#[test]
fn sets_with_damage_at_any_place_are_refused_or_compared() {
    let rows = "cb\0/nowhere/a\0ymissing\0/nowhere/b\0kmissing\0/nowhere/c\0lmissing\0/nowhere";
    let stamps: Vec<f64> = [NONE; 4].concat();
    assert_eq!(findings(rows, &stamps, false), Some(vec![(0, 2)]));
    for (at, _) in rows.char_indices() {
        let _ = findings(&rows[..at], &stamps, false);
        let _ = findings(&rows[at..], &stamps, true);
        let with = |text: &str| format!("{}{text}{}", &rows[..at], &rows[at + 1..]);
        for text in ["\0", "", "\u{1f600}", "t", "..", "\0\0"] {
            let _ = findings(&with(text), &stamps, at % 2 == 0);
        }
    }
    for count in [0, 1, 3, 5, 12, 15, 20, 4000] {
        assert_eq!(findings(rows, &vec![0.0; count], false), None);
    }
}

#[test]
fn once_an_input_has_changed_few_others_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("here");
    fs::write(&path, "").unwrap();
    let path = path.to_str().unwrap();
    let count = 100_000;
    let rows = (0..count).fold(String::new(), |mut rows, index| {
        let separator = if index == 0 { "" } else { "\0" };
        write!(rows, "{separator}ymissing\0{path}").unwrap();
        rows
    });
    let found = findings(&rows, &vec![0.0; 4 * count], true).unwrap();
    assert!((1..=16).contains(&found.len()), "{}", found.len());
    assert_eq!(findings(&rows, &vec![0.0; 4 * count], false).unwrap().len(), count);
}
