//! For tests only: a simulated file system that crashes on request, the contract of every file system, and resealing,
//! which gives forged bytes valid checksums.

pub mod contract;
pub mod reseal;
pub mod sim;
