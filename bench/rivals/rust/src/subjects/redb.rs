//! redb. Durable: its default. Relaxed: no durability, which does not survive a process crash, unlike Varve's relaxed
//! commits.

use redb::{Database, Durability, TableDefinition};
use std::path::Path;
use varve_bench::{Entries, Opened, Subject};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("bench");

/// redb with its default options.
pub(crate) struct Redb;

impl Subject for Redb {
    fn name(&self) -> String {
        "redb".to_owned()
    }

    fn takes_part(&self, id: &str) -> bool {
        id.starts_with("sequential/")
    }

    fn open(&self, folder: &Path, _block_cache_bytes: usize) -> Box<dyn Opened> {
        Box::new(OpenRedb(Database::create(folder.join("redb")).expect("opens")))
    }
}

struct OpenRedb(Database);

impl OpenRedb {
    fn write(&self, entries: Option<Entries<'_>>, durability: Durability) {
        let mut write = self.0.begin_write().expect("a transaction");
        write.set_durability(durability).expect("sets");
        if let Some(entries) = entries {
            let mut table = write.open_table(TABLE).expect("a table");
            for (key, value) in entries.iter() {
                table.insert(key, value).expect("puts");
            }
        }
        write.commit().expect("commits");
    }
}

impl Opened for OpenRedb {
    fn commit(&mut self, entries: Entries<'_>, durable: bool) {
        self.write(Some(entries), if durable { Durability::Immediate } else { Durability::None });
    }

    fn close(self: Box<Self>) {
        self.write(None, Durability::Immediate);
    }
}
