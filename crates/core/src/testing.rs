//! For tests only: the simulated file system that crashes on request, the contract of every file system, and resealing,
//! which makes the checksums of forged bytes right.

pub mod contract;
pub mod reseal;
pub mod sim;
