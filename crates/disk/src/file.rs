//! An open file whose reads copy and whose writes append.

use crate::direct::DirectFile;
use crate::platform;
use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use varve_core::failpoints;
use varve_core::vfs::File;

/// The most parts in one system call: the limit (`IOV_MAX`) of Linux, macOS and the BSDs.
const PARTS_MAX: usize = 1024;

/// The most bytes in one system call: macOS rejects 2 GiB.
const BYTES_MAX: usize = 1 << 30;

/// An open file.
#[derive(Debug)]
pub(crate) struct DiskFile {
    file: fs::File,
    /// The path of a file that this process writes.
    path: Option<PathBuf>,
    holds_lock: AtomicBool,
    direct: Mutex<Direct>,
}

/// The state of the handle that bypasses the system's cache.
#[derive(Debug)]
enum Direct {
    Untried,
    Refused,
    Open(DirectFile),
}

impl DiskFile {
    /// Wraps a file opened for reading, or one created at `path` for writing.
    pub(crate) fn new(file: fs::File, path: Option<PathBuf>) -> Self {
        Self { file, path, holds_lock: AtomicBool::new(false), direct: Mutex::new(Direct::Untried) }
    }

    fn direct(&self) -> MutexGuard<'_, Direct> {
        self.direct.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        failpoints::panics("disk-read");
        let end = offset.checked_add(length as u64).ok_or(ErrorKind::UnexpectedEof)?;
        if end > self.len()? {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| ErrorKind::OutOfMemory)?;
        bytes.resize(length, 0);
        platform::read_exact_at(&self.file, &mut bytes, offset)?;
        Ok(Cow::Owned(bytes))
    }

    fn read_into(&self, offset: u64, target: &mut [u8]) -> io::Result<()> {
        failpoints::panics("disk-read");
        platform::read_exact_at(&self.file, target, offset)
    }

    fn append(&self, parts: &[&[u8]]) -> io::Result<()> {
        failpoints::panics("disk-append");
        if self.path.is_none() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        if let Direct::Open(direct) = &mut *self.direct() {
            direct.leave(&self.file)?;
        }
        if platform::WRITES_VECTORED {
            return append_vectored(&self.file, parts);
        }
        match parts {
            [part] => (&self.file).write_all(part),
            parts => (&self.file).write_all(&parts.concat()),
        }
    }

    /// Bypasses the cache only while this process holds the lock, so that no other process reads the end of the file.
    fn append_durable(&self, parts: &[&[u8]]) -> io::Result<()> {
        let mut direct = self.direct();
        if let (Direct::Untried, Some(path)) = (&*direct, &self.path) {
            let may = self.holds_lock.load(Ordering::Acquire);
            *direct = may
                .then(|| DirectFile::open(path, &self.file))
                .flatten()
                .map_or(Direct::Refused, Direct::Open);
        }
        if let Direct::Open(open) = &mut *direct {
            match open.append(parts) {
                // Some file systems report this only now. Nothing was written.
                Err(error) if error.kind() == ErrorKind::InvalidInput => {
                    open.leave(&self.file)?;
                    *direct = Direct::Refused;
                }
                outcome => return outcome,
            }
        }
        drop(direct);
        self.append(parts)?;
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        failpoints::panics("disk-sync");
        platform::sync_data(&self.file)
    }

    fn try_lock(&self) -> io::Result<bool> {
        if self.holds_lock.load(Ordering::Acquire) {
            return Ok(true);
        }
        let taken = platform::try_lock(&self.file)?;
        self.holds_lock.fetch_or(taken, Ordering::AcqRel);
        Ok(taken)
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        failpoints::panics("disk-close");
        if let Direct::Open(direct) = &mut *self.direct() {
            // Zeros that remain are read as the end of the log.
            let _ = direct.leave(&self.file);
        }
    }
}

/// Continues after short writes and signals.
fn append_vectored(mut file: &fs::File, parts: &[&[u8]]) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| IoSlice::new(part)).collect();
    let mut rest = slices.as_mut_slice();
    while let Some(first) = rest.first() {
        let written = match batch(rest) {
            // A part too large for one call: `write` takes as much as the system allows.
            [] => file.write(first),
            batch => file.write_vectored(batch),
        };
        match written {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut rest, count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The first slices, as many as one system call takes.
fn batch<'a, 'b>(slices: &'b [IoSlice<'a>]) -> &'b [IoSlice<'a>] {
    let mut bytes: usize = 0;
    let fits = |slice: &&IoSlice<'_>| {
        bytes = bytes.saturating_add(slice.len());
        bytes <= BYTES_MAX
    };
    let count = slices.iter().take(PARTS_MAX).take_while(fits).count();
    slices.get(..count).unwrap_or_default()
}
