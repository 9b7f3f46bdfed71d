//! Varve and its rivals with the same workloads, paired. `bench/rivals.mjs` builds and runs this program.

mod subjects {
    pub(crate) mod fjall;
    pub(crate) mod lmdb;
    pub(crate) mod raw;
    pub(crate) mod redb;
    pub(crate) mod sqlite;
    pub(crate) mod turbo;
    pub(crate) mod turbo_table;
}

use subjects::turbo_table::{TurboTable, Values};
use subjects::{fjall::Fjall, lmdb::Lmdb, raw::Raw, redb::Redb, sqlite::Sqlite, turbo::Turbo};
use varve_bench::{Arguments, EXPORTS, Subject, run, varves};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let rivals: [&dyn Subject; 8] = [
        &Turbo,
        &TurboTable(Values::Shared),
        &TurboTable(Values::Inline),
        &Raw,
        &Lmdb,
        &Redb,
        &Fjall,
        &Sqlite,
    ];
    let stores = varves().iter().map(|varve| varve as &dyn Subject).chain(rivals);
    let exports = EXPORTS.iter().map(|export| export as &dyn Subject);
    run(&Arguments::from_env(), &stores.chain(exports).collect::<Vec<_>>());
}
