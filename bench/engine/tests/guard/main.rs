//! Guards the cost of the engine by counts and never by time: allocations, file calls and bytes of small workloads with
//! a fixed seed on one thread. A growing count fails here on any machine, before a clock would show it.

mod allocator;
mod bounds;
mod count;
mod files;
mod lookups;
mod store;
mod writes;
