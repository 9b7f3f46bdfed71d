//! Counts and violations of the jobs of a part, first for each job, then together.

use crate::outcome::Outcome;
use std::collections::BTreeMap;

/// How many violations are kept; further ones are only counted.
const KEPT_MAX: usize = 20;

/// Counts by name, and violations with the case that repeats each one.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: BTreeMap<String, u64>,
    violations: Vec<(String, String)>,
}

impl Tally {
    pub(crate) fn add(&mut self, name: &str, count: u64) {
        if let Some(sum) = self.counts.get_mut(name) {
            *sum += count;
        } else {
            self.counts.insert(name.to_owned(), count);
        }
    }

    pub(crate) fn violation(&mut self, what: &str, replay: &str) {
        self.add("violations", 1);
        if self.violations.len() < KEPT_MAX {
            self.violations.push((what.to_owned(), replay.to_owned()));
        }
    }

    pub(crate) fn get(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn absorb(&mut self, other: Self) {
        other.counts.iter().for_each(|(name, count)| self.add(name, *count));
        self.violations.extend(other.violations);
        self.violations.truncate(KEPT_MAX);
    }

    /// Every count as a figure; `goals` has the least value of some of them.
    pub(crate) fn into_outcome(self, goals: &[(&str, u64)]) -> Outcome {
        let mut outcome = Outcome::default();
        self.counts.iter().for_each(|(name, count)| outcome.figure(name, *count));
        goals.iter().for_each(|(name, min)| outcome.figure_at_least(name, self.get(name), *min));
        self.violations.iter().for_each(|(what, replay)| outcome.violation(what, replay));
        outcome
    }
}
