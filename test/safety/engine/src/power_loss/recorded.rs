//! A recorded history: its commits, what a crash may leave of them, and the phase of each operation.

use super::phase::phase_of;
use crate::history::Expected;
use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;
use varve_core::testing::sim::{Model, SimVfs};

/// A history and what was committed when. The journal of `vfs` begins with the first step.
pub(crate) struct Recorded {
    pub(crate) vfs: SimVfs,
    /// The first is what was there before.
    pub(crate) commits: Vec<Commit>,
    /// If two writers run at the same time: the writer of each commit and its changes. Otherwise empty.
    pub(crate) beside: Vec<(usize, Changes)>,
    pub(crate) steps: Vec<(usize, &'static str)>,
    pub(crate) operations: Vec<String>,
    /// What is unusual about it, as figures name it.
    pub(crate) shapes: Vec<&'static str>,
}

/// Values by key; `None` = deleted.
pub(crate) type Changes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// How many write side by side at most.
pub(crate) const WRITERS: usize = 2;

/// What may be left: of each writer the commits up to one of them.
pub(crate) struct Outcome {
    pub(crate) last: [usize; WRITERS],
    pub(crate) content: Expected,
}

/// What the cache holds after a commit.
pub(crate) struct Commit {
    /// Operations when it began and when it was acknowledged.
    pub(crate) begun: usize,
    pub(crate) acknowledged: usize,
    pub(crate) durable: bool,
    pub(crate) content: Expected,
}

impl Recorded {
    /// A history that another module recorded.
    pub(crate) fn of(vfs: SimVfs, commits: Vec<Commit>) -> Self {
        Self {
            operations: vfs.operations(),
            vfs,
            commits,
            beside: Vec::new(),
            steps: Vec::new(),
            shapes: Vec::new(),
        }
    }

    /// File systems that fit.
    pub(crate) fn models(&self) -> Vec<Model> {
        if self.shapes.contains(&"windows") { vec![Model::Journaled] } else { Model::ALL.to_vec() }
    }

    fn is_of(&self, writer: usize, commit: usize) -> bool {
        self.beside.get(commit).map_or(0, |(by, _)| *by) == writer
    }

    /// The commits of a writer of which one must be its last one after so many operations. The first commit of all,
    /// what was there before, counts for each writer. `is_whole`: relaxed commits are left, too.
    pub(crate) fn allowed_of(
        &self,
        writer: usize,
        operations: usize,
        is_whole: bool,
    ) -> RangeInclusive<usize> {
        let commits =
            || self.commits.iter().enumerate().filter(|(index, _)| self.is_of(writer, *index));
        let is_due =
            |commit: &Commit| (commit.durable || is_whole) && commit.acknowledged <= operations;
        let oldest = commits().rfind(|(_, commit)| is_due(commit)).map_or(0, |(index, _)| index);
        let newest =
            commits().rfind(|(_, commit)| commit.begun < operations).map_or(0, |(index, _)| index);
        oldest..=newest.max(oldest)
    }

    /// Everything that may be left at some time.
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        if self.beside.is_empty() {
            let outcome = |(index, commit): (usize, &Commit)| Outcome {
                last: [index, 0],
                content: commit.content.clone(),
            };
            return self.commits.iter().enumerate().map(outcome).collect();
        }
        let of = |writer| {
            (0..self.commits.len()).filter(move |index| *index == 0 || self.is_of(writer, *index))
        };
        let pairs = of(0).flat_map(|first| of(1).map(move |second| [first, second]));
        pairs.map(|last| Outcome { last, content: self.content_up_to(last) }).collect()
    }

    /// The commits of both, in their order, each up to the last that is left.
    fn content_up_to(&self, last: [usize; WRITERS]) -> Expected {
        let mut content =
            self.commits.first().map(|commit| commit.content.clone()).unwrap_or_default();
        for (index, (by, changes)) in self.beside.iter().enumerate() {
            if last.get(*by).is_some_and(|last| index <= *last) {
                apply(changes, &mut content);
            }
        }
        content
    }

    /// The phase of the last operation of this prefix.
    pub(crate) fn phase_at(&self, prefix: usize) -> &str {
        let Some(last) = prefix.checked_sub(1) else { return "create" };
        phase_of(&self.operations[last], self.step_of(last))
    }

    fn step_of(&self, operation: usize) -> &'static str {
        self.steps
            .iter()
            .rev()
            .find(|(from, _)| *from <= operation)
            .map_or("create", |(_, step)| step)
    }

    /// What else is to be counted of this prefix: while a log has padding, while entries leave.
    pub(crate) fn also_at(&self, prefix: usize) -> Vec<&'static str> {
        let evicts = prefix.checked_sub(1).is_some_and(|last| self.step_of(last) == "evict");
        if !self.shapes.contains(&"padded") {
            return if evicts { vec!["evict"] } else { Vec::new() };
        }
        let file_of = |operation: &str| {
            operation.split(['#', ' ']).find_map(|word| word.parse::<usize>().ok())
        };
        let mut padded = HashSet::new();
        for operation in self.operations.iter().take(prefix) {
            if operation.ends_with(" zeros") {
                padded.insert(file_of(operation));
            } else if operation.starts_with("cut ") {
                padded.remove(&file_of(operation));
            }
        }
        [("evict", evicts), ("padded", !padded.is_empty())]
            .into_iter()
            .filter(|(_, is)| *is)
            .map(|(name, _)| name)
            .collect()
    }
}

/// Its operations by step, for people.
impl fmt::Display for Recorded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, operation) in self.operations.iter().enumerate() {
            for (_, step) in self.steps.iter().filter(|(from, _)| *from == number) {
                writeln!(out, "{step}:")?;
            }
            for (index, commit) in
                self.commits.iter().enumerate().filter(|(_, commit)| commit.begun == number)
            {
                writeln!(
                    out,
                    "  [commit {index}, {}]",
                    if commit.durable { "durable" } else { "relaxed" }
                )?;
            }
            writeln!(out, "  {} {operation}", number + 1)?;
        }
        Ok(())
    }
}

/// What a commit does to the content.
pub(crate) fn apply(changes: &Changes, content: &mut Expected) {
    for (key, value) in changes {
        match value {
            Some(value) => content.insert(key.clone(), value.clone()),
            None => content.remove(key),
        };
    }
}
