//! The bytes of an archive and of the files in it, from and to JavaScript. Core may read on any thread, but JavaScript
//! objects belong to one. So the host is kept in a table of this thread during its call.

use crate::errno::result_of;
use crate::memory::grow_ahead;
use std::cell::RefCell;
use std::io::{self, ErrorKind, Read};
use varve_core::failpoints;
use varve_core::{BlobRef, Digest, Error, Result};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const STREAM_TYPES: &str = r#"
/** An archive, and the contents of its files. Its functions must not throw. A count can be -errno as on Linux. */
export interface ArchiveHost {
  /** Fills `target` from its start. Returns 0 at the end. */
  read(target: Uint8Array): number
  /** Writes all bytes. Returns 0. */
  write(bytes: Uint8Array): number
  /** Stores the content of a file. Returns its digest as 64 hex digits; an empty text ends the import. */
  store(content: Uint8Array): string
  /** The content of a file; undefined if it is missing or damaged. */
  content(digest: string, bytes: number): Uint8Array | undefined
}
"#;

#[wasm_bindgen]
extern "C" {
    /// An archive, and the contents of its files.
    #[wasm_bindgen(typescript_type = "ArchiveHost")]
    pub type ArchiveHost;

    #[wasm_bindgen(method)]
    fn read(this: &ArchiveHost, target: &mut [u8]) -> f64;
    #[wasm_bindgen(method)]
    fn write(this: &ArchiveHost, bytes: &[u8]) -> f64;
    #[wasm_bindgen(method)]
    fn store(this: &ArchiveHost, content: &[u8]) -> String;
    #[wasm_bindgen(method)]
    fn content(this: &ArchiveHost, digest: &str, bytes: f64) -> Option<Vec<u8>>;
}

thread_local! {
    static RUNNING: RefCell<Option<ArchiveHost>> = const { RefCell::new(None) };
}

/// The host of the current call.
#[derive(Debug)]
pub(crate) struct Running;

impl Running {
    /// Makes a call that uses `host`.
    pub(crate) fn with<T>(host: ArchiveHost, call: impl FnOnce(&mut Self) -> T) -> T {
        RUNNING.set(Some(host));
        let outcome = call(&mut Self);
        RUNNING.set(None);
        outcome
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        Self::call(|host| host.write(bytes)).map(drop)
    }

    /// Stores the content of a file. The host keeps the reason of a failure.
    pub(crate) fn store(content: &[u8]) -> Result<Digest> {
        Self::host(|host| host.store(content))
            .and_then(|digest| Digest::parse(&digest))
            .ok_or_else(|| Error::Closed.boxed())
    }

    /// The content of a file.
    #[expect(clippy::unnecessary_wraps, reason = "the signature that an export needs")]
    pub(crate) fn content(file: &BlobRef) -> Result<Option<Vec<u8>>> {
        Ok(Self::host(|host| host.content(&file.digest.to_string(), file.bytes as f64)).flatten())
    }

    fn call(call: impl FnOnce(&ArchiveHost) -> f64) -> io::Result<u64> {
        failpoints::panics("stream-call");
        Self::host(call).map_or(Err(ErrorKind::BrokenPipe.into()), result_of)
    }

    /// `None` without a call in progress.
    fn host<T>(call: impl FnOnce(&ArchiveHost) -> T) -> Option<T> {
        grow_ahead();
        RUNNING.with_borrow(|running| running.as_ref().map(call))
    }
}

impl Read for Running {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let bytes = Self::call(|host| host.read(target))?;
        if bytes <= target.len() as u64 {
            Ok(bytes as usize)
        } else {
            Err(ErrorKind::InvalidData.into())
        }
    }
}
