//! LMDB. Durable: its default, which syncs data and meta pages. Relaxed: NO_SYNC, which survives a process crash.

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, FlagSetMode, PutFlags};
use std::path::Path;
use varve_bench::{Entries, Opened, Subject};

const MAP_BYTES: usize = 16 << 30;

/// LMDB through heed.
pub(crate) struct Lmdb;

impl Subject for Lmdb {
    fn name(&self) -> String {
        "lmdb".to_owned()
    }

    fn takes_part(&self, id: &str) -> bool {
        id.starts_with("sequential/")
    }

    fn open(&self, folder: &Path, _block_cache_bytes: usize) -> Box<dyn Opened> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES);
        // SAFETY: this sample is the only user of the directory.
        let env = unsafe { options.open(folder) }.expect("opens");
        let write = env.write_txn().expect("a transaction");
        let created = env.create_databases_and_commit(write, |opener, write| {
            opener.create_database(write, None).map(CommitOrAbort::<_, ()>::Commit)
        });
        let database = created.expect("a database").unwrap_commit();
        Box::new(OpenLmdb { env, database })
    }
}

struct OpenLmdb {
    env: Env,
    database: Database<'static, Bytes, Bytes>,
}

impl Opened for OpenLmdb {
    fn commit(&mut self, entries: Entries<'_>, durable: bool) {
        if !durable && self.env.get_flags().expect("flags") & EnvFlags::NO_SYNC.bits() == 0 {
            // SAFETY: a system crash is not part of a sample.
            unsafe { self.env.set_flags(EnvFlags::NO_SYNC, FlagSetMode::Enable) }.expect("sets");
        }
        let mut write = self.env.write_txn().expect("a transaction");
        for (key, value) in entries.iter() {
            self.database.put_with_flags(&mut write, PutFlags::APPEND, key, value).expect("puts");
        }
        write.commit().expect("commits");
    }

    fn close(self: Box<Self>) {
        self.env.force_sync().expect("syncs");
    }
}
