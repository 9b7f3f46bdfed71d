//! What the engine promises, tested through its public interface on a simulated file system.

mod canonical;
mod crash;
mod damage;
mod files;
mod format;
mod history;
mod keyed;
mod model;
mod panic;
mod races;
mod repair;
mod tables;
mod used;
mod walk;
mod writers;
