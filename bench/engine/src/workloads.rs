//! The workloads by their ids. Data are made and folders filled before the clock starts.

mod compaction;
mod export;
mod lookup;
mod open;
mod sequential;
mod tarball;
mod write;

use crate::measure::Sample;
use crate::subject::Subject;
use std::fmt;
use std::path::Path;

/// Memory for blocks that subjects may use, where they can be told.
const BLOCK_CACHE_BYTES: usize = 64 << 20;

/// One id.
pub struct Trial {
    /// As in the documents.
    pub id: String,
    /// Of the figures.
    pub unit: Unit,
    /// How often each subject runs.
    pub rounds: usize,
    /// Fills the folder, then measures.
    pub run: Run,
}

impl Trial {
    /// Whether folders are removed after the last round only. ext4 gives nobody the number of a file that was removed
    /// half a minute ago and searches for another: removing thousands of files makes the next round ten times slower.
    pub(crate) fn is_of_files(&self) -> bool {
        self.id.starts_with("files/")
    }
}

/// A subject and an empty folder in, what it took out.
pub type Run = Box<dyn Fn(&dyn Subject, &Path) -> Sample>;

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// Of time.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Us => "us",
            Self::Ms => "ms",
        }
    }

    pub(crate) fn ns(self) -> f64 {
        match self {
            Self::Ns => 1.0,
            Self::Us => 1e3,
            Self::Ms => 1e6,
        }
    }
}

/// All trials, or the ones that fit into a few minutes.
pub fn trials(quick: bool) -> Vec<Trial> {
    let mut trials = Vec::new();
    trials.extend(write::trials(quick));
    trials.extend(compaction::trials(quick));
    trials.extend(lookup::trials(quick));
    trials.extend(open::trials(quick));
    trials.extend(sequential::trials(quick));
    trials.extend(export::trials(quick));
    trials.extend(tarball::trials(quick));
    trials
}

/// 4194304 as `4Mi`, 1000 * 1024 as `1000Ki`.
fn binary(count: usize) -> String {
    match count {
        count if count % (1 << 20) == 0 => format!("{}Mi", count >> 20),
        count if count % (1 << 10) == 0 => format!("{}Ki", count >> 10),
        count => count.to_string(),
    }
}
