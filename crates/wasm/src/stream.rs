//! Archives from and to JavaScript, in pieces. Core may read on any thread, but JavaScript objects belong to one. So a
//! stream is kept in a table of this thread during its call.

use crate::host::result_of;
use std::cell::RefCell;
use std::io::{self, ErrorKind, Read};
use varve_core::failpoints;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const STREAM_TYPES: &str = r#"
/** Bytes of an archive. Every function returns a number of bytes, or -errno as on Linux, and never throws. */
export interface ByteStream {
  /** Fills `target` from its start. Returns 0 at the end. */
  read(target: Uint8Array): number
  /** Writes all bytes. Returns 0. */
  write(bytes: Uint8Array): number
}
"#;

#[wasm_bindgen]
extern "C" {
    /// Bytes of an archive.
    #[wasm_bindgen(typescript_type = "ByteStream")]
    pub type ByteStream;

    #[wasm_bindgen(method)]
    fn read(this: &ByteStream, target: &mut [u8]) -> f64;
    #[wasm_bindgen(method)]
    fn write(this: &ByteStream, bytes: &[u8]) -> f64;
}

thread_local! {
    static RUNNING: RefCell<Option<ByteStream>> = const { RefCell::new(None) };
}

/// The stream of the current call.
#[derive(Debug)]
pub(crate) struct Running;

impl Running {
    /// Makes a call that reads or writes `stream`.
    pub(crate) fn with<T>(stream: ByteStream, call: impl FnOnce(&mut Self) -> T) -> T {
        RUNNING.set(Some(stream));
        let outcome = call(&mut Self);
        RUNNING.set(None);
        outcome
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        Self::call(|stream| stream.write(bytes)).map(drop)
    }

    fn call(call: impl FnOnce(&ByteStream) -> f64) -> io::Result<u64> {
        failpoints::panics("stream-call");
        RUNNING
            .with_borrow(|running| running.as_ref().map_or(Err(ErrorKind::BrokenPipe.into()), |s| result_of(call(s))))
    }
}

impl Read for Running {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let bytes = Self::call(|stream| stream.read(target))?;
        if bytes <= target.len() as u64 { Ok(bytes as usize) } else { Err(ErrorKind::InvalidData.into()) }
    }
}
