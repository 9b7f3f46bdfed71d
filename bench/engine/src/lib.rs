//! The workloads of turbo-persistence and Voron, written once for any store: a store is a [`Subject`], a workload times
//! it, and `run` takes subjects in turn and prints medians as lines of JSON.

mod data;
mod export;
mod measure;
mod run;
mod subject;
mod varve;
mod workloads;

pub use data::{Data, Entries, random};
pub use export::{EXPORTS, Export, Form};
pub use measure::{Sample, timed};
pub use run::{Arguments, run};
pub use subject::{Opened, Subject, file_order};
pub use varve::{Varve, varves};
pub use workloads::{Run, Trial, trials};
