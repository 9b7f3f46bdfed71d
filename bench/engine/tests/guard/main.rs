//! Guards what the engine costs, by counts and never by time: allocations, calls and bytes of files, for small
//! workloads with a fixed seed on one thread. A count that grows fails here, on any machine, before a clock would
//! show it.

mod allocator;
mod bounds;
mod count;
mod files;
mod lookups;
mod store;
mod writes;
