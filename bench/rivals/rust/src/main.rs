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
use varve_bench::{Arguments, EXPORTS, Subject, Varve, run};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let stores: [&dyn Subject; 10] = [
        &Varve { threads: 1 },
        &Varve { threads: 2 },
        &Turbo,
        &TurboTable(Values::Shared),
        &TurboTable(Values::Inline),
        &Raw,
        &Lmdb,
        &Redb,
        &Fjall,
        &Sqlite,
    ];
    let exports = EXPORTS.iter().map(|export| export as &dyn Subject);
    run(&Arguments::from_env(), &stores.into_iter().chain(exports).collect::<Vec<_>>());
}
