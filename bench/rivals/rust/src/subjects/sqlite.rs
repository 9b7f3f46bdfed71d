//! SQLite with a write-ahead log. Durable: synchronous = FULL. Relaxed: synchronous = OFF, which survives a process
//! crash.

use rusqlite::{Connection, params};
use std::path::Path;
use varve_bench::{Entries, Opened, Subject};

/// SQLite through rusqlite.
pub(crate) struct Sqlite;

impl Subject for Sqlite {
    fn name(&self) -> String {
        "sqlite".to_owned()
    }

    fn takes_part(&self, id: &str) -> bool {
        id.starts_with("sequential/")
    }

    fn open(&self, folder: &Path, _block_cache_bytes: usize) -> Box<dyn Opened> {
        let connection = Connection::open(folder.join("sqlite")).expect("opens");
        let schema = "PRAGMA journal_mode = WAL; CREATE TABLE bench (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID";
        connection.execute_batch(schema).expect("creates");
        Box::new(OpenSqlite { connection, durable: None })
    }
}

struct OpenSqlite {
    connection: Connection,
    durable: Option<bool>,
}

impl Opened for OpenSqlite {
    fn commit(&mut self, entries: Entries<'_>, durable: bool) {
        if self.durable.replace(durable) != Some(durable) {
            let level = if durable { "FULL" } else { "OFF" };
            self.connection.pragma_update(None, "synchronous", level).expect("sets");
        }
        let write = self.connection.transaction().expect("a transaction");
        {
            let mut put = write
                .prepare_cached("INSERT OR REPLACE INTO bench VALUES (?, ?)")
                .expect("prepares");
            for (key, value) in entries.iter() {
                put.execute(params![key, value]).expect("puts");
            }
        }
        write.commit().expect("commits");
    }

    fn close(self: Box<Self>) {
        self.connection.close().expect("closes");
    }
}
