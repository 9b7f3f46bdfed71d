//! What the engine promises, tested through its public interface on a simulated file system.

mod canonical;
mod clock;
mod crash;
mod damage;
mod files;
mod format;
mod history;
mod keyed;
mod meddled;
mod merged;
mod model;
mod namespaces;
mod panic;
mod races;
mod repair;
mod snapshot;
mod tables;
mod torn_away;
mod used;
mod walk;
mod writers;
