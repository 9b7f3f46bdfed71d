//! The guarantees of the engine, tested through its public interface on a simulated file system.

mod blobs;
mod canonical;
mod clock;
mod crash;
mod damage;
mod damaged_rows;
mod format;
mod half_copied;
mod history;
mod hooked;
mod layers;
mod lost_files;
mod lost_manifest;
mod merged;
mod model;
mod namespaces;
mod panic;
mod races;
mod repair;
mod replaced;
mod secret;
mod snapshot;
mod tables;
mod usage;
mod walk;
mod writers;
