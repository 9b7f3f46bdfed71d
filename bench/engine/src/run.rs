//! Runs the subjects in turn, round after round, so that other load on the machine affects all of them alike. Prints
//! the median of each as a line of JSON.

use crate::measure::Sample;
use crate::subject::Subject;
use crate::workloads::{Trial, trials};
use std::env;
use std::path::{Path, PathBuf};

/// The selection of trials.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// Fewer rounds, and only the smaller sizes.
    pub quick: bool,
    /// Only ids with one of these prefixes.
    pub only: Vec<String>,
    /// The number of rounds, instead of the one of the trial.
    pub rounds: Option<usize>,
}

impl Arguments {
    /// Parses the command line: `--quick`, `--only <prefix>` (any number of times), `--rounds <count>`.
    pub fn from_env() -> Self {
        let mut found = Self::default();
        let mut arguments = env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => found.quick = true,
                "--only" => found.only.extend(arguments.next()),
                "--rounds" => found.rounds = arguments.next().and_then(|count| count.parse().ok()),
                other => panic!(
                    "unknown argument {other}; known: --quick, --only <prefix>, --rounds <count>"
                ),
            }
        }
        found
    }
}

/// Runs all selected trials.
pub fn run(arguments: &Arguments, subjects: &[&dyn Subject]) {
    for trial in trials(arguments.quick) {
        if arguments.only.is_empty()
            || arguments.only.iter().any(|prefix| trial.id.starts_with(prefix.as_str()))
        {
            run_trial(&trial, arguments.rounds.unwrap_or(trial.rounds), subjects);
        }
    }
}

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "results are lines on stdout, progress on stderr"
)]
fn run_trial(trial: &Trial, rounds: usize, subjects: &[&dyn Subject]) {
    let subjects: Vec<_> =
        subjects.iter().copied().filter(|subject| subject.takes_part(&trial.id)).collect();
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); subjects.len()];
    let mut kept = Vec::new();
    for round in 0..rounds {
        eprintln!("{} {}/{rounds}", trial.id, round + 1);
        // Each round begins with another subject, because what a subject leaves in the allocator and on the disk
        // affects the next.
        for turn in 0..subjects.len() {
            let index = (round + turn) % subjects.len();
            let (subject, samples) = (subjects[index], &mut samples[index]);
            let folder = tempfile::Builder::new()
                .tempdir_in(bench_folder())
                .expect("a directory for the sample");
            samples.push((trial.run)(subject, folder.path()));
            if trial.is_of_files() {
                kept.push(folder);
            }
        }
    }
    for (subject, samples) in subjects.iter().zip(&samples) {
        let wall = median(samples.iter().map(|sample| sample.wall_ns)) / trial.unit.ns();
        let cpu = median(samples.iter().map(|sample| sample.cpu_ns)) / trial.unit.ns();
        println!(
            "{{\"id\":\"{}\",\"name\":\"{}\",\"unit\":\"{}\",\"wall\":{wall},\"cpu\":{cpu},\"rounds\":{rounds}}}",
            trial.id,
            subject.name(),
            trial.unit.name(),
        );
        for (index, (name, unit, _)) in
            samples.first().map_or(&[][..], |sample| &sample.extra).iter().enumerate()
        {
            let value = median(samples.iter().map(|sample| sample.extra[index].2));
            println!(
                "{{\"id\":\"{}\",\"name\":\"{}\",\"metric\":\"{name}\",\"unit\":\"{unit}\",\"value\":{value},\
                 \"rounds\":{rounds}}}",
                trial.id,
                subject.name(),
            );
        }
    }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    if numbers.len() % 2 == 1 {
        numbers[middle]
    } else {
        f64::midpoint(numbers[middle - 1], numbers[middle])
    }
}

/// Samples are on the disk of the checkout: a temporary directory may be in memory, where a sync costs nothing.
fn bench_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench");
    std::fs::create_dir_all(&folder).expect("a directory for samples");
    folder
}
