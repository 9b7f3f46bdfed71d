//! Archives made by hand, by the crate `tar` and by GNU tar, and the helpers of all these tests.

mod damage;
mod export;
mod gnu;
mod hostile;
mod import;

use super::*;
use ::tar::{EntryType, Header};
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use varve_core::Watch;
use varve_core::{Error, Result};
use varve_core::{Pool, SerialPool};

const UNWATCHED: Watch<'static> = &|_, _| ControlFlow::Continue(());

/// A store of contents by digest.
#[derive(Debug, Default)]
struct Sink(Mutex<BTreeMap<Digest, Vec<u8>>>);

impl Sink {
    fn store(&self, content: &[u8]) -> Result<Digest> {
        self.0.lock().unwrap().insert(digest_of(content), content.to_vec());
        Ok(digest_of(content))
    }

    fn read(&self, digest: &Digest) -> Result<Vec<u8>> {
        Ok(self.0.lock().unwrap().get(digest).expect("stored").clone())
    }
}

fn digest_of(content: &[u8]) -> Digest {
    Digest(*blake3::hash(content).as_bytes())
}

/// A pool whose threads take the parts of a job in turn, and which counts the jobs.
#[derive(Debug)]
struct Threads {
    count: usize,
    jobs: AtomicUsize,
}

impl Threads {
    fn new(count: usize) -> Self {
        Self { count, jobs: AtomicUsize::new(0) }
    }
}

impl Pool for Threads {
    fn threads(&self) -> usize {
        self.count
    }

    fn run(&self, count: usize, job: &(dyn Fn(usize) + Sync)) {
        self.jobs.fetch_add(1, Ordering::Relaxed);
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(part) =
                Some(next.fetch_add(1, Ordering::Relaxed)).filter(|part| *part < count)
            {
                job(part);
            }
        };
        thread::scope(|scope| (0..self.count).for_each(|_| drop(scope.spawn(work))));
    }
}

/// Builds an archive block by block. It checks nothing, so that it can build invalid archives.
#[derive(Clone, Debug, Default)]
struct Maker(Vec<u8>);

impl Maker {
    /// Adds a header whose fields `spoil` may change, then its checksum, then the content.
    fn raw(
        mut self,
        path: &[u8],
        form: u8,
        content: &[u8],
        spoil: impl FnOnce(&mut Header),
    ) -> Self {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..path.len().min(100)]
            .copy_from_slice(&path[..path.len().min(100)]);
        header.set_entry_type(EntryType::new(form));
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        spoil(&mut header);
        header.set_cksum();
        self.0.extend(header.as_bytes());
        self.0.extend(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn file(self, path: &str, content: &[u8]) -> Self {
        self.raw(path.as_bytes(), b'0', content, |_| {})
    }

    fn folder(self, path: &str) -> Self {
        self.raw(path.as_bytes(), b'5', &[], |_| {})
    }

    fn link(self, path: &str, form: u8, target: &str) -> Self {
        let spoil = |header: &mut Header| {
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes())
        };
        self.raw(path.as_bytes(), form, &[], spoil)
    }

    /// Adds a pax header of records with correct lengths.
    fn pax(self, form: u8, records: &[(&str, &str)]) -> Self {
        let content: String = records.iter().map(|(key, value)| pax_record(key, value)).collect();
        self.raw(b"pax", form, content.as_bytes(), |_| {})
    }

    fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

/// A pax record, whose length is found by trial.
fn pax_record(key: &str, value: &str) -> String {
    let record = |bytes| format!("{bytes} {key}={value}\n");
    (0..).map(record).find(|text| text.split(' ').next() == Some(&text.len().to_string())).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Imports on one thread.
fn import_serial(archive: &[u8], options: &ImportOptions) -> Result<(Imported, Sink)> {
    import_on(&SerialPool, archive, options)
}

fn import_on(
    pool: &dyn Pool,
    mut archive: &[u8],
    options: &ImportOptions,
) -> Result<(Imported, Sink)> {
    let sink = Sink::default();
    let imported = import(&mut archive, options, pool, &|content| sink.store(content), UNWATCHED)?;
    Ok((imported, sink))
}

/// Imports an archive that must give no warning.
fn records_of(archive: &[u8]) -> Vec<FileRecord> {
    let options = ImportOptions { links: Links::Inside, ..ImportOptions::default() };
    let (imported, _) = import_serial(archive, &options).unwrap();
    assert_eq!(imported.warnings, []);
    imported.records
}

fn file(path: &str, content: &[u8], executable: bool) -> FileRecord {
    let (digest, bytes) = (digest_of(content), content.len() as u64);
    FileRecord { path: path.to_owned(), content: Content::File { digest, bytes, executable } }
}

fn folder(path: &str) -> FileRecord {
    FileRecord { path: path.to_owned(), content: Content::Folder }
}

fn link(path: &str, target: &str) -> FileRecord {
    FileRecord { path: path.to_owned(), content: Content::Link { target: target.to_owned() } }
}
