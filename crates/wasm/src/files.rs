//! Core's `Vfs` on top of the functions of a host.

use crate::errno::result_of;
use crate::host::{Host, HostNumber};
use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_core::Clock;
use varve_core::failpoints;
use varve_core::vfs::{Access, File, Stat, Vfs};
use wasm_bindgen::JsValue;

/// The parts of one append are joined up to this size, so that the host writes once.
const JOINED_BYTES_MAX: usize = 1 << 20;

/// One directory of a host.
#[derive(Debug)]
pub(crate) struct HostFolder {
    host: Arc<HostNumber>,
}

impl HostFolder {
    pub(crate) fn new(host: Host) -> Self {
        Self { host: Arc::new(HostNumber::new(host)) }
    }

    /// The clock of the host.
    pub(crate) fn clock(&self) -> Clock {
        let host = Arc::clone(&self.host);
        Clock::new(move || host.call(Host::now).unwrap_or_default())
    }

    fn file(&self, opened: io::Result<u64>) -> io::Result<Arc<dyn File>> {
        let number = u32::try_from(opened?).map_err(|_| ErrorKind::InvalidData)?;
        Ok(Arc::new(HostFile {
            host: Arc::clone(&self.host),
            number,
            bytes_seen: AtomicU64::new(0),
        }))
    }
}

impl Vfs for HostFolder {
    fn list(&self) -> io::Result<Vec<String>> {
        names_of(&self.host.host()?.list())
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        names_of(&self.host.host()?.folders())
    }

    fn open(&self, name: &str, _access: Access) -> io::Result<Arc<dyn File>> {
        self.file(self.host.call(|host| host.open(name)))
    }

    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.file(self.host.call(|host| host.create_new(name)))
    }

    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        let mut words = [0.0; 3];
        let is_there = self.host.call(|host| host.stat(name, &mut words))? != 0;
        // Numbers beyond 2^53 lose their lowest bits, always the same ones.
        let [file, bytes, changed] = words.map(f64::to_bits);
        Ok(is_there.then(|| Stat { file, bytes: f64::from_bits(bytes) as u64, changed }))
    }

    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        self.host.call(|host| host.link(source, target)).map(drop)
    }

    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        self.host.call(|host| host.rename(source, target)).map(drop)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.host.call(|host| host.remove(name)).map(drop)
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        let folder = Self::new(self.host.host()?.folder(name));
        match folder.host.call(|host| host.stat("", &mut [0.0; 3])) {
            Err(error) if error.kind() == ErrorKind::NotADirectory => Err(error),
            _ => Ok(Arc::new(folder)),
        }
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.host.call(Host::sync_folder).map(drop)
    }
}

/// Parses the names that the host returned.
fn names_of(answer: &JsValue) -> io::Result<Vec<String>> {
    let Some(names) = answer.as_string() else {
        result_of(answer.as_f64().unwrap_or(-1.0))?;
        return Err(ErrorKind::InvalidData.into());
    };
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// One open file of a host.
#[derive(Debug)]
struct HostFile {
    host: Arc<HostNumber>,
    number: u32,
    /// A lower bound of the file's length. Files only grow, so a read below it needs no call for the length.
    bytes_seen: AtomicU64,
}

impl File for HostFile {
    fn len(&self) -> io::Result<u64> {
        let bytes = self.host.call(|host| host.size(self.number))?;
        self.bytes_seen.store(bytes, Ordering::Relaxed);
        Ok(bytes)
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        self.check_end(offset, length)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| ErrorKind::OutOfMemory)?;
        bytes.resize(length, 0);
        self.read_into(offset, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    fn read_into(&self, offset: u64, target: &mut [u8]) -> io::Result<()> {
        self.check_end(offset, target.len())?;
        let found = self.host.call(|host| host.read(self.number, offset as f64, target))?;
        if found == target.len() as u64 { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    fn append(&self, parts: &[&[u8]]) -> io::Result<()> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        match parts {
            [part] => self.append_one(part),
            _ if total <= JOINED_BYTES_MAX => self.append_one(&parts.concat()),
            _ => parts.iter().try_for_each(|part| self.append_one(part)),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.host.call(|host| host.sync(self.number)).map(drop)
    }

    fn try_lock(&self) -> io::Result<bool> {
        Err(ErrorKind::Unsupported.into())
    }
}

impl HostFile {
    fn check_end(&self, offset: u64, length: usize) -> io::Result<()> {
        let end = offset.checked_add(length as u64).ok_or(ErrorKind::UnexpectedEof)?;
        let is_past = end > self.bytes_seen.load(Ordering::Relaxed) && end > self.len()?;
        if is_past { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn append_one(&self, bytes: &[u8]) -> io::Result<()> {
        failpoints::panics("host-append");
        self.host.call(|host| host.append(self.number, bytes)).map(drop)
    }
}

impl Drop for HostFile {
    fn drop(&mut self) {
        if let Ok(host) = self.host.host() {
            host.close(self.number);
        }
    }
}
