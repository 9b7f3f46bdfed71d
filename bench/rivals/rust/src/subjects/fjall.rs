//! fjall. Durable: fdatasync of the journal at each commit. Relaxed: the journal is written to the system's cache.

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::path::Path;
use varve_bench::{Entries, Opened, Subject};

/// fjall with its default options.
pub(crate) struct Fjall;

impl Subject for Fjall {
    fn name(&self) -> String {
        "fjall".to_owned()
    }

    fn takes_part(&self, id: &str) -> bool {
        id.starts_with("sequential/")
    }

    fn open(&self, folder: &Path, _block_cache_bytes: usize) -> Box<dyn Opened> {
        let database = Database::builder(folder).open().expect("opens");
        let keyspace =
            database.keyspace("bench", KeyspaceCreateOptions::default).expect("a keyspace");
        Box::new(OpenFjall { database, keyspace })
    }
}

struct OpenFjall {
    database: Database,
    keyspace: Keyspace,
}

impl Opened for OpenFjall {
    fn commit(&mut self, entries: Entries<'_>, durable: bool) {
        let mode = if durable { PersistMode::SyncData } else { PersistMode::Buffer };
        let mut batch = self.database.batch().durability(Some(mode));
        for (key, value) in entries.iter() {
            batch.insert(&self.keyspace, key, value);
        }
        batch.commit().expect("commits");
    }

    fn close(self: Box<Self>) {
        self.database.persist(PersistMode::SyncAll).expect("syncs");
    }
}
