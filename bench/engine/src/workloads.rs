//! The workloads by id. Data and directories are prepared before the clock starts.

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

/// The memory for blocks, for subjects with such an option.
const BLOCK_CACHE_BYTES: usize = 64 << 20;

/// A workload and its settings.
pub struct Trial {
    /// The id, as in the documents.
    pub id: String,
    /// The unit of the figures.
    pub unit: Unit,
    /// How often each subject runs.
    pub rounds: usize,
    /// Prepares the directory, then measures.
    pub run: Run,
}

impl Trial {
    /// Whether directories are removed only after the last round. ext4 does not reuse the number of a file for half a
    /// minute after its removal, but searches for another one. Removing thousands of files would make the next round
    /// ten times slower.
    pub(crate) fn is_of_files(&self) -> bool {
        self.id.starts_with("files/")
    }
}

/// Measures a subject in an empty directory.
pub type Run = Box<dyn Fn(&dyn Subject, &Path) -> Sample>;

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// A unit of time.
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

/// Returns all trials, or those that fit into a few minutes.
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
