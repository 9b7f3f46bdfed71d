//! What each workload may cost.
//!
//! A bound is about 1.25 times what was measured when it was set, which stands before it; small whole numbers and
//! zeros are exact. To refresh, with the reason in the message of the commit:
//!
//! ```text
//! cargo test -p varve-bench --test guard -- --nocapture --test-threads=1
//! ```
//!
//! prints a row for each line of the table, with the bound as it would be set now.

use Bound::{AtLeast, AtMost};

/// Of one figure.
#[derive(Clone, Copy, Debug)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// Of a fresh bound. Whole numbers below the second one are bounds as they are.
const SLACK: f64 = 1.25;
const EXACT_BELOW: f64 = 8.0;

/// Workload, figure, what was measured when the bound was set, bound.
const BOUNDS: &[(&str, &str, f64, Bound)] = &[
    ("write/value_4", "allocations per entry", 0.00669, AtMost(0.00836)),
    ("write/value_4", "allocated bytes per entry", 81.8, AtMost(102.0)),
    ("write/value_4", "bytes per append to the table", 231_000.0, AtLeast(204_800.0)),
    ("write/value_4", "table bytes per entry", 16.2, AtMost(20.3)),
    ("write/value_4", "appends to other files", 3.0, AtMost(3.0)),
    ("write/value_4", "bytes of other files", 320.0, AtMost(400.0)),
    ("write/value_4", "syncs of the table", 1.0, AtMost(1.0)),
    ("write/value_4", "syncs of other files", 2.0, AtMost(2.0)),
    ("write/value_4", "syncs of the folder", 4.0, AtMost(4.0)),
    ("write/value_4", "reads of the table", 0.0, AtMost(0.0)),
    ("write/value_32Ki", "allocations per entry", 1.51, AtMost(1.89)),
    ("write/value_32Ki", "allocated bytes per entry", 47_900.0, AtMost(59_900.0)),
    ("write/value_32Ki", "bytes per append to the table", 259_000.0, AtLeast(204_800.0)),
    ("write/value_32Ki", "table bytes per entry", 32_800.0, AtMost(41_000.0)),
    ("write/value_32Ki", "appends to other files", 3.0, AtMost(3.0)),
    ("write/value_32Ki", "bytes of other files", 320.0, AtMost(400.0)),
    ("write/value_32Ki", "syncs of the table", 1.0, AtMost(1.0)),
    ("write/value_32Ki", "syncs of other files", 2.0, AtMost(2.0)),
    ("write/value_32Ki", "syncs of the folder", 4.0, AtMost(4.0)),
    ("write/value_32Ki", "reads of the table", 0.0, AtMost(0.0)),
    ("compaction/commits_8/full", "allocations per entry", 0.012, AtMost(0.015)),
    ("compaction/commits_8/full", "allocated bytes per entry", 32.7, AtMost(40.8)),
    ("compaction/commits_8/full", "reads per block of keys", 1.01, AtMost(1.26)),
    ("compaction/commits_8/full", "bytes read per entry", 16.2, AtMost(20.3)),
    ("compaction/commits_8/full", "bytes written per entry", 16.2, AtMost(20.3)),
    ("compaction/commits_8/full", "bytes per append to tables", 259_000.0, AtLeast(204_800.0)),
    ("compaction/commits_8/full", "syncs of files", 4.0, AtMost(4.0)),
    ("compaction/commits_8/full", "syncs of the folder", 4.0, AtMost(4.0)),
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
    ("sequential/relaxed", "syncs of the folder", 0.0, AtMost(0.0)),
    ("sequential/relaxed", "reads", 0.0, AtMost(0.0)),
    ("sequential/durable", "allocations per commit", 31.0, AtMost(38.8)),
    ("sequential/durable", "allocated bytes per commit", 62_800.0, AtMost(78_400.0)),
    ("sequential/durable", "appends per commit", 1.0, AtMost(1.0)),
    ("sequential/durable", "bytes written per commit", 15_300.0, AtMost(19_100.0)),
    ("sequential/durable", "syncs of files per commit", 1.0, AtMost(1.0)),
    ("sequential/durable", "syncs of the folder", 0.0, AtMost(0.0)),
    ("sequential/durable", "reads", 0.0, AtMost(0.0)),
    ("fold/own", "bytes read per byte of the log", 1.01, AtMost(1.26)),
    ("fold/own", "bytes written per byte of the log", 1.1, AtMost(1.37)),
    ("fold/own", "allocations per commit", 4.28, AtMost(5.35)),
    ("fold/of_the_dead", "opening: bytes read per byte of the log", 1.01, AtMost(1.26)),
    ("fold/of_the_dead", "opening: allocations per commit", 2.06, AtMost(2.57)),
    ("fold/of_the_dead", "bytes read per byte of the log", 3.05, AtMost(3.81)),
    ("fold/of_the_dead", "bytes written per byte of the log", 1.1, AtMost(1.37)),
    ("fold/of_the_dead", "allocations per commit", 6.3, AtMost(7.87)),
    ("open/entries_100000", "bytes read", 256.0, AtMost(320.0)),
    ("open/entries_100000", "reads", 1.0, AtMost(1.0)),
    ("open/entries_100000", "bytes written", 0.0, AtMost(0.0)),
    ("open/entries_100000", "allocations", 42.0, AtMost(52.5)),
    ("open/entries_100000", "first lookup: bytes read", 15_200.0, AtMost(24_000.0)),
    ("open/entries_100000", "first lookup: reads", 3.0, AtMost(3.0)),
];

/// Fails where a figure of the workload is out of bounds, and names all that are. Table and figures must agree on what
/// is measured.
pub(crate) fn check(workload: &str, figures: &[(&str, f64)]) {
    let rows: Vec<_> = BOUNDS.iter().filter(|row| row.0 == workload).collect();
    let mut wrong = Vec::new();
    for (figure, measured) in figures {
        let row = rows.iter().find(|row| row.1 == *figure);
        print_row(workload, figure, *measured, row.map(|row| row.3));
        match row {
            Some((.., AtMost(limit))) if measured <= limit => {}
            Some((.., AtLeast(limit))) if measured >= limit => {}
            Some((.., was, bound)) => wrong.push(format!("{figure}: {measured}, was {was}, must be {bound:?}")),
            None => wrong.push(format!("{figure}: {measured}, has no bound")),
        }
    }
    let unmeasured = rows.iter().filter(|row| figures.iter().all(|figure| figure.0 != row.1));
    wrong.extend(unmeasured.map(|row| format!("{}: is not measured", row.1)));
    assert!(wrong.is_empty(), "{workload}\n  {}", wrong.join("\n  "));
}

#[expect(clippy::print_stdout, reason = "rows to copy, shown with --nocapture or where the test fails")]
fn print_row(workload: &str, figure: &str, measured: f64, bound: Option<Bound>) {
    let fresh = match bound {
        Some(AtLeast(_)) => AtLeast(to_three_digits(measured / SLACK)),
        _ if measured.fract() == 0.0 && measured < EXACT_BELOW => AtMost(measured),
        _ => AtMost(to_three_digits(measured * SLACK)),
    };
    println!("    ({workload:?}, {figure:?}, {:?}, {fresh:?}),", to_three_digits(measured));
}

fn to_three_digits(number: f64) -> f64 {
    format!("{number:.2e}").parse().expect("a number again")
}
