//! Varve as a subject.

use crate::data::Entries;
use crate::subject::{Opened, Subject, file_order};
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread::{JoinHandle, available_parallelism, spawn};
use std::time::{SystemTime, UNIX_EPOCH};
use twox_hash::XxHash3_64;
use varve_archive::tar::{ImportOptions, import};
use varve_core::{BlobWriter, Durability, Handle, Options, Store};
use varve_disk::{DiskPool, DiskVfs};

/// Varve with one thread, with two, and with four where the machine has as many processors.
pub fn varves() -> &'static [Varve] {
    let all = &[Varve { threads: 1 }, Varve { threads: 2 }, Varve { threads: 4 }];
    let processors = available_parallelism().map_or(1, NonZero::get);
    if processors >= 4 { all } else { all.split_at(2).0 }
}

/// Varve with a number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Varve {
    /// The threads of the pool.
    pub threads: usize,
}

impl Subject for Varve {
    fn name(&self) -> String {
        if self.threads == 1 {
            "varve".to_owned()
        } else {
            format!("varve-{}-threads", self.threads)
        }
    }

    fn takes_part(&self, id: &str) -> bool {
        let is_export = id.starts_with("export/"); // it has its own subjects
        let on_threads =
            ["compaction/", "write/", "files/"].iter().any(|prefix| id.starts_with(prefix));
        (self.threads == 1 && !is_export) || on_threads
    }

    fn open(&self, folder: &Path, block_cache_bytes: usize) -> Box<dyn Opened> {
        Box::new(self.open_with(folder, block_cache_bytes, "1", true))
    }

    fn open_quiet(&self, folder: &Path, block_cache_bytes: usize) -> Box<dyn Opened> {
        Box::new(self.open_with(folder, block_cache_bytes, "1", false))
    }

    fn file_order(&self, keys: &[u8], key_bytes: usize) -> Vec<u32> {
        file_order(keys, key_bytes, XxHash3_64::oneshot)
    }
}

impl Varve {
    /// Opens the directory with a version of the namespace, and merges only when `compact` is called.
    pub(crate) fn open_as(
        self,
        folder: &Path,
        block_cache_bytes: usize,
        version: &str,
    ) -> OpenVarve {
        self.open_with(folder, block_cache_bytes, version, false)
    }

    fn open_with(
        self,
        folder: &Path,
        block_cache_bytes: usize,
        version: &str,
        maintained: bool,
    ) -> OpenVarve {
        let options = Options { block_cache_bytes, bytes_max: 64 << 30, ..Options::default() };
        let pool = Arc::new(DiskPool::new(self.threads));
        let store =
            Store::open(Arc::new(DiskVfs::new(folder.to_owned())), pool, options).expect("opens");
        let mut handle = store.handle();
        let namespace = handle.namespace("bench", version).expect("a namespace");
        OpenVarve { store, handle, namespace, maintained, maintenance: None }
    }
}

pub(crate) struct OpenVarve {
    store: Arc<Store>,
    handle: Handle,
    namespace: u32,
    maintained: bool,
    /// Checkpoints in the background, as in the addon.
    maintenance: Option<JoinHandle<()>>,
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

impl OpenVarve {
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    fn maintain(&mut self) {
        if self.maintenance.as_ref().is_none_or(JoinHandle::is_finished) {
            let store = Arc::clone(&self.store);
            let work = move || {
                store.compact(false, &|_, _| ControlFlow::Continue(())).expect("folds");
            };
            self.maintenance = Some(spawn(work));
        }
    }
}

impl Opened for OpenVarve {
    fn commit(&mut self, entries: Entries<'_>, durable: bool) {
        for (key, value) in entries.iter() {
            self.handle.put(self.namespace, key, value).expect("puts");
        }
        let durability = if durable { Durability::Durable } else { Durability::Relaxed };
        let commit = self.handle.begin_commit().expect("something to commit");
        if commit.run(Some(durability), now_ms()).expect("commits").maintenance_due
            && self.maintained
        {
            self.maintain();
        }
    }

    fn compact(&mut self, full: bool) {
        self.store.compact(full, &|_, _| ControlFlow::Continue(())).expect("compacts");
    }

    fn lookup(&mut self, keys: &[u8], key_bytes: usize, order: &[u32]) -> usize {
        let mut found = 0;
        for index in order {
            let start = *index as usize * key_bytes;
            let key = &keys[start..start + key_bytes];
            let hit =
                self.handle.get(self.namespace, key, |value| std::hint::black_box(value).len());
            found += usize::from(hit.expect("looks up").is_some());
        }
        found
    }

    fn import_tar(&mut self, archive: &[u8]) -> usize {
        let intake = BlobWriter::new(&self.store).expect("stores");
        let store = |content: &[u8]| intake.store(content).map(|file| file.digest);
        let (options, watch) = (ImportOptions::default(), |_, _| ControlFlow::Continue(()));
        let imported = import(&mut &archive[..], &options, &**self.store.pool(), &store, &watch)
            .expect("imports");
        imported.records.len()
    }

    fn close(self: Box<Self>) {
        if let Some(thread) = self.maintenance {
            thread.join().expect("folds");
        }
        if self.maintained {
            self.store.close().expect("closes");
        } else {
            self.store.flush().expect("flushes"); // `close` would merge
        }
    }
}
