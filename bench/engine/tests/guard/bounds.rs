//! The bounds of the counts of each workload.
//!
//! A bound is about 1.25 times the count that was measured when it was set, which precedes it. Small whole numbers and
//! zeros are exact. To refresh the bounds, run
//!
//! ```text
//! cargo test -p varve-bench --test guard -- --nocapture --test-threads=1
//! ```
//!
//! which prints a row with a fresh bound for each line of the table. The commit message has to give the reason.

use Bound::{AtLeast, AtMost};

/// The bound of one figure.
#[derive(Clone, Copy, Debug)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// The factor of a fresh bound. Whole numbers below `EXACT_BELOW` are exact bounds.
const SLACK: f64 = 1.25;
const EXACT_BELOW: f64 = 8.0;

/// Workload, figure, the count when the bound was set, and the bound.
const BOUNDS: &[(&str, &str, f64, Bound)] = &[
    ("write/value_4", "allocations per entry", 0.00669, AtMost(0.00836)),
    ("write/value_4", "allocated bytes per entry", 81.8, AtMost(102.0)),
    ("write/value_4", "bytes per append to the table", 231_000.0, AtLeast(204_800.0)),
    ("write/value_4", "table bytes per entry", 16.2, AtMost(20.3)),
    ("write/value_4", "appends to other files", 3.0, AtMost(3.0)),
    ("write/value_4", "bytes of other files", 320.0, AtMost(400.0)),
    ("write/value_4", "syncs of the table", 1.0, AtMost(1.0)),
    ("write/value_4", "syncs of other files", 2.0, AtMost(2.0)),
    ("write/value_4", "syncs of the directory", 4.0, AtMost(4.0)),
    ("write/value_4", "reads of the table", 0.0, AtMost(0.0)),
    ("write/value_32Ki", "allocations per entry", 1.51, AtMost(1.89)),
    ("write/value_32Ki", "allocated bytes per entry", 47_900.0, AtMost(59_900.0)),
    ("write/value_32Ki", "bytes per append to the table", 259_000.0, AtLeast(204_800.0)),
    ("write/value_32Ki", "table bytes per entry", 32_800.0, AtMost(41_000.0)),
    ("write/value_32Ki", "appends to other files", 3.0, AtMost(3.0)),
    ("write/value_32Ki", "bytes of other files", 320.0, AtMost(400.0)),
    ("write/value_32Ki", "syncs of the table", 1.0, AtMost(1.0)),
    ("write/value_32Ki", "syncs of other files", 2.0, AtMost(2.0)),
    ("write/value_32Ki", "syncs of the directory", 4.0, AtMost(4.0)),
    ("write/value_32Ki", "reads of the table", 0.0, AtMost(0.0)),
    ("compaction/commits_8/full", "allocations per entry", 0.012, AtMost(0.015)),
    ("compaction/commits_8/full", "allocated bytes per entry", 32.7, AtMost(40.8)),
    ("compaction/commits_8/full", "reads per block of keys", 1.01, AtMost(1.26)),
    ("compaction/commits_8/full", "bytes read per entry", 16.2, AtMost(20.3)),
    ("compaction/commits_8/full", "bytes written per entry", 16.2, AtMost(20.3)),
    ("compaction/commits_8/full", "bytes per append to tables", 259_000.0, AtLeast(204_800.0)),
    ("compaction/commits_8/full", "syncs of files", 4.0, AtMost(4.0)),
    ("compaction/commits_8/full", "syncs of the directory", 4.0, AtMost(4.0)),
    ("lookup/tables_1", "hits: allocations", 0.0, AtMost(0.0)),
    ("lookup/tables_1", "hits: reads", 0.0, AtMost(0.0)),
    ("lookup/tables_1", "misses: allocations", 0.0, AtMost(0.0)),
    ("lookup/tables_1", "misses: reads", 0.0, AtMost(0.0)),
    ("lookup/tables_50", "hits: allocations", 0.0, AtMost(0.0)),
    ("lookup/tables_50", "hits: reads", 0.0, AtMost(0.0)),
    ("lookup/tables_50", "misses: allocations", 0.0, AtMost(0.0)),
    ("lookup/tables_50", "misses: reads", 0.0, AtMost(0.0)),
    ("lookup/one_hash", "hits: reads per lookup", 9.84, AtMost(12.3)),
    ("lookup/one_hash", "misses: reads per lookup", 10.0, AtMost(12.5)),
    ("sequential/relaxed", "allocations per commit", 31.0, AtMost(38.8)),
    ("sequential/relaxed", "allocated bytes per commit", 62_800.0, AtMost(78_400.0)),
    ("sequential/relaxed", "appends per commit", 1.0, AtMost(1.0)),
    ("sequential/relaxed", "bytes written per commit", 15_300.0, AtMost(19_100.0)),
    ("sequential/relaxed", "syncs of files per commit", 0.0, AtMost(0.0)),
    ("sequential/relaxed", "syncs of the directory", 0.0, AtMost(0.0)),
    ("sequential/relaxed", "reads", 0.0, AtMost(0.0)),
    ("sequential/durable", "allocations per commit", 31.0, AtMost(38.8)),
    ("sequential/durable", "allocated bytes per commit", 62_800.0, AtMost(78_400.0)),
    ("sequential/durable", "appends per commit", 1.0, AtMost(1.0)),
    ("sequential/durable", "bytes written per commit", 15_300.0, AtMost(19_100.0)),
    ("sequential/durable", "syncs of files per commit", 1.0, AtMost(1.0)),
    ("sequential/durable", "syncs of the directory", 0.0, AtMost(0.0)),
    ("sequential/durable", "reads", 0.0, AtMost(0.0)),
    ("checkpoint/own", "bytes read per byte of the log", 1.01, AtMost(1.26)),
    ("checkpoint/own", "bytes written per byte of the log", 1.1, AtMost(1.37)),
    ("checkpoint/own", "allocations per commit", 4.28, AtMost(5.35)),
    ("checkpoint/of_a_dead_writer", "opening: bytes read per byte of the log", 1.01, AtMost(1.26)),
    ("checkpoint/of_a_dead_writer", "opening: allocations per commit", 2.06, AtMost(2.57)),
    ("checkpoint/of_a_dead_writer", "bytes read per byte of the log", 3.05, AtMost(3.81)),
    ("checkpoint/of_a_dead_writer", "bytes written per byte of the log", 1.1, AtMost(1.37)),
    ("checkpoint/of_a_dead_writer", "allocations per commit", 6.3, AtMost(7.87)),
    ("open/entries_100000", "bytes read", 256.0, AtMost(320.0)),
    ("open/entries_100000", "reads", 1.0, AtMost(1.0)),
    ("open/entries_100000", "bytes written", 0.0, AtMost(0.0)),
    ("open/entries_100000", "allocations", 42.0, AtMost(52.5)),
    ("open/entries_100000", "first lookup: bytes read", 8_880.0, AtMost(11_100.0)),
    ("open/entries_100000", "first lookup: reads", 4.0, AtMost(4.0)),
];

/// Fails with all figures of the workload that are out of bounds. Every figure needs a row in the table and the other
/// way round.
pub(crate) fn check(workload: &str, figures: &[(&str, f64)]) {
    let rows: Vec<_> = BOUNDS.iter().filter(|row| row.0 == workload).collect();
    let mut wrong = Vec::new();
    for (figure, measured) in figures {
        let row = rows.iter().find(|row| row.1 == *figure);
        print_row(workload, figure, *measured, row.map(|row| row.3));
        match row {
            Some((.., AtMost(limit))) if measured <= limit => {}
            Some((.., AtLeast(limit))) if measured >= limit => {}
            Some((.., was, bound)) => wrong
                .push(format!("{figure}: {measured}, previously {was}, the bound is {bound:?}")),
            None => wrong.push(format!("{figure}: {measured}, without a bound")),
        }
    }
    let unmeasured = rows.iter().filter(|row| figures.iter().all(|figure| figure.0 != row.1));
    wrong.extend(unmeasured.map(|row| format!("{}: is not measured", row.1)));
    assert!(wrong.is_empty(), "{workload}\n  {}", wrong.join("\n  "));
}

#[expect(
    clippy::print_stdout,
    reason = "rows to copy, shown with --nocapture or if the test fails"
)]
fn print_row(workload: &str, figure: &str, measured: f64, bound: Option<Bound>) {
    let fresh = match bound {
        Some(AtLeast(_)) => AtLeast(to_three_digits(measured / SLACK)),
        _ if measured.fract() == 0.0 && measured < EXACT_BELOW => AtMost(measured),
        _ => AtMost(to_three_digits(measured * SLACK)),
    };
    println!("    ({workload:?}, {figure:?}, {:?}, {fresh:?}),", to_three_digits(measured));
}

fn to_three_digits(number: f64) -> f64 {
    format!("{number:.2e}").parse().expect("the text is a number")
}
