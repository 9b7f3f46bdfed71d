//! The limit: a loop that appends the bytes of each commit to a file, and waits for the disk if the commit is durable.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use varve_bench::{Entries, Opened, Subject};

/// The raw loop.
pub(crate) struct Raw;

impl Subject for Raw {
    fn name(&self) -> String {
        "raw-append".to_owned()
    }

    fn takes_part(&self, id: &str) -> bool {
        id.starts_with("sequential/")
    }

    fn open(&self, folder: &Path, _block_cache_bytes: usize) -> Box<dyn Opened> {
        let file =
            OpenOptions::new().append(true).create(true).open(folder.join("log")).expect("opens");
        Box::new(OpenRaw { file, buffer: Vec::new() })
    }
}

struct OpenRaw {
    file: File,
    buffer: Vec<u8>,
}

impl Opened for OpenRaw {
    fn commit(&mut self, entries: Entries<'_>, durable: bool) {
        self.buffer.clear();
        for (key, value) in entries.iter() {
            self.buffer.extend_from_slice(key);
            self.buffer.extend_from_slice(value);
        }
        self.file.write_all(&self.buffer).expect("appends");
        if durable {
            self.file.sync_data().expect("syncs");
        }
    }

    fn close(self: Box<Self>) {
        self.file.sync_all().expect("syncs");
    }
}
