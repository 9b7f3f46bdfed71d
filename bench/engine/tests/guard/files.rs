//! Files in memory that count their use. Their own memory is not counted.

use crate::count::{FileCounts, count, uncounted};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use varve_core::vfs::{Access, File, MemVfs, Stat, Vfs};

/// A counting directory in memory. A clone is the same directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountingVfs {
    folder: MemVfs,
}

impl CountingVfs {
    /// The number of key blocks in all tables, from their footers.
    pub(crate) fn key_blocks(&self) -> u64 {
        const FOOTER_BYTES: u64 = 96;
        let names = self.folder.list().expect("lists");
        let blocks = names.iter().filter(|name| is_table(name)).map(|name| {
            let file = self.folder.open(name, Access::Random).expect("opens");
            let footer = file
                .read(file.len().expect("has a length") - FOOTER_BYTES, 16)
                .expect("reads")
                .into_owned();
            assert!(footer.starts_with(b"varvetbl"), "{name} has a footer of {FOOTER_BYTES} bytes");
            u64::from(u32::from_le_bytes(footer[12..16].try_into().expect("four bytes")))
        });
        blocks.sum()
    }

    fn counted(name: &str, file: io::Result<Arc<dyn File>>) -> io::Result<Arc<dyn File>> {
        uncounted(|| {
            file.map(|file| {
                Arc::new(CountingFile { file, is_table: is_table(name) }) as Arc<dyn File>
            })
        })
    }
}

fn is_table(name: &str) -> bool {
    name.ends_with(".table")
}

impl Vfs for CountingVfs {
    fn list(&self) -> io::Result<Vec<String>> {
        uncounted(|| self.folder.list())
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        uncounted(|| self.folder.folders())
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        Self::counted(name, uncounted(|| self.folder.open(name, access)))
    }

    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Self::counted(name, uncounted(|| self.folder.create_new(name)))
    }

    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        uncounted(|| self.folder.stat(name))
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        uncounted(|| self.folder.exists(name))
    }

    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        uncounted(|| self.folder.link(source, target))
    }

    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        uncounted(|| self.folder.rename(source, target))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        uncounted(|| self.folder.remove(name))
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        // The guard's values are too small for blobs.
        uncounted(|| self.folder.folder(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        count(|counts| counts.folder_syncs += 1);
        uncounted(|| self.folder.sync_folder())
    }
}

#[derive(Debug)]
struct CountingFile {
    file: Arc<dyn File>,
    is_table: bool,
}

impl CountingFile {
    fn count(&self, change: impl FnOnce(&mut FileCounts)) {
        count(|counts| change(if self.is_table { &mut counts.tables } else { &mut counts.others }));
    }
}

impl File for CountingFile {
    fn len(&self) -> io::Result<u64> {
        uncounted(|| self.file.len())
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        self.count(|counts| {
            counts.reads += 1;
            counts.read_bytes += length as u64;
        });
        uncounted(|| self.file.read(offset, length))
    }

    fn append(&self, parts: &[&[u8]]) -> io::Result<()> {
        self.count(|counts| {
            counts.appends += 1;
            counts.appended_bytes += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        });
        uncounted(|| self.file.append(parts))
    }

    fn sync(&self) -> io::Result<()> {
        self.count(|counts| counts.syncs += 1);
        uncounted(|| self.file.sync())
    }

    fn try_lock(&self) -> io::Result<bool> {
        uncounted(|| self.file.try_lock())
    }
}
