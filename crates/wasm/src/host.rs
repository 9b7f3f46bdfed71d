//! The functions that a host provides for one directory, and the mapping of its errors.
//!
//! A host function returns a number: a result from 0 on, or `-errno` in the numbering of Linux on every system. On this
//! target, `std::io::Error::from_raw_os_error` knows no errno, so this module maps those that core distinguishes.
//!
//! Core requires its files to be `Send`, which JavaScript objects are not. So hosts are kept in a table of this thread,
//! and files store a number.

use crate::errno::result_of;
use crate::memory::grow_ahead;
use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use varve_core::failpoints;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const HOST_TYPES: &str = r#"
/** Files of one directory. Every function returns a result from 0 on, or -errno as on Linux, and never throws. */
export interface Host {
  /** Names of the regular files, separated by NUL; '' if the directory does not exist. */
  list(): string | number
  /** Names of the directories without links, separated by NUL. */
  folders(): string | number
  /** Opens a file for reading. -EINVAL if it is not a regular file. */
  open(name: string): number
  /** Creates a file for appending and reading, and the directory if it is missing. */
  createNew(name: string): number
  /** 1 if a regular file of this name exists, else 0. Fills in its identity, its bytes and when it changed. */
  stat(name: string, target: Float64Array): number
  link(source: string, target: string): number
  rename(source: string, target: string): number
  remove(name: string): number
  /** A directory in this one, which need not exist. */
  folder(name: string): Host
  syncFolder(): number
  size(file: number): number
  /** Fills `target` from `offset` on, up to the end of the file. Returns the number of bytes. */
  read(file: number, offset: number, target: Uint8Array): number
  /** Appends all bytes. */
  append(file: number, bytes: Uint8Array): number
  sync(file: number): number
  close(file: number): void
  /** Microseconds since 1970. */
  now(): number
}
"#;

#[wasm_bindgen]
extern "C" {
    /// The files of one directory, provided by JavaScript.
    #[wasm_bindgen(typescript_type = "Host")]
    pub type Host;

    #[wasm_bindgen(method)]
    pub(crate) fn list(this: &Host) -> JsValue;
    #[wasm_bindgen(method)]
    pub(crate) fn folders(this: &Host) -> JsValue;
    #[wasm_bindgen(method)]
    pub(crate) fn open(this: &Host, name: &str) -> f64;
    #[wasm_bindgen(method, js_name = createNew)]
    pub(crate) fn create_new(this: &Host, name: &str) -> f64;
    #[wasm_bindgen(method)]
    pub(crate) fn stat(this: &Host, name: &str, target: &mut [f64]) -> f64;
    #[wasm_bindgen(method)]
    pub(crate) fn link(this: &Host, source: &str, target: &str) -> f64;
    #[wasm_bindgen(method)]
    pub(crate) fn rename(this: &Host, source: &str, target: &str) -> f64;
    #[wasm_bindgen(method)]
    pub(crate) fn remove(this: &Host, name: &str) -> f64;
    #[wasm_bindgen(method)]
    pub(crate) fn folder(this: &Host, name: &str) -> Host;
    #[wasm_bindgen(method, js_name = syncFolder)]
    pub(crate) fn sync_folder(this: &Host) -> f64;
    #[wasm_bindgen(method)]
    pub(crate) fn size(this: &Host, file: u32) -> f64;
    #[wasm_bindgen(method)]
    pub(crate) fn read(this: &Host, file: u32, offset: f64, target: &mut [u8]) -> f64;
    #[wasm_bindgen(method)]
    pub(crate) fn append(this: &Host, file: u32, bytes: &[u8]) -> f64;
    #[wasm_bindgen(method)]
    pub(crate) fn sync(this: &Host, file: u32) -> f64;
    #[wasm_bindgen(method)]
    pub(crate) fn close(this: &Host, file: u32);
    #[wasm_bindgen(method)]
    pub(crate) fn now(this: &Host) -> f64;
}

thread_local! {
    /// The hosts in use; the index is their number.
    static HOSTS: RefCell<Vec<Option<Rc<Host>>>> = const { RefCell::new(Vec::new()) };
}

/// The slot of one host in the table, released when dropped.
#[derive(Debug)]
pub(crate) struct HostNumber(usize);

impl HostNumber {
    /// Adds a host to the table.
    pub(crate) fn new(host: Host) -> Self {
        HOSTS.with_borrow_mut(|hosts| {
            let free = hosts.iter().position(Option::is_none).unwrap_or(hosts.len());
            hosts.resize_with(hosts.len().max(free + 1), || None);
            hosts[free] = Some(Rc::new(host));
            Self(free)
        })
    }

    /// Calls a function of the host.
    pub(crate) fn call(&self, function: impl FnOnce(&Host) -> f64) -> io::Result<u64> {
        grow_ahead();
        failpoints::panics("host-call");
        result_of(function(&*self.host()?))
    }

    pub(crate) fn host(&self) -> io::Result<Rc<Host>> {
        HOSTS
            .with_borrow(|hosts| hosts.get(self.0).cloned().flatten())
            .ok_or_else(|| ErrorKind::BrokenPipe.into())
    }
}

impl Drop for HostNumber {
    fn drop(&mut self) {
        HOSTS.with_borrow_mut(|hosts| hosts[self.0] = None);
    }
}
