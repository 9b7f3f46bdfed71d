//! Memory that JavaScript made and both sides read and write in turn: the scratch buffer and the numbers of a call,
//! which all open stores of a thread use in turn, and where the values of a store go.
//!
//! Each array of napi has a reference, which keeps the memory alive. JavaScript does not run while a call does, and
//! passes the first two to nothing else, so that nothing detaches them.
#![expect(unsafe_code, reason = "JavaScript may write to the memory between two calls")]

use napi::bindgen_prelude::{Int32Array, Uint8Array};
use varve_bindings::{Failure, Result};

/// Numbers that a call passes in memory, because Node-API takes longer for an argument or an answer.
const CELLS: usize = 3;

/// The memory for the calls of all stores of one thread.
pub(crate) struct Memory {
    pub(crate) scratch: Scratch,
    pub(crate) cells: Cells,
}

impl Memory {
    pub(crate) fn new(scratch: Uint8Array, cells: Int32Array) -> Result<Self> {
        if cells.len() < CELLS {
            return Err(Failure::argument("there are too few cells"));
        }
        Ok(Self { scratch: Scratch(scratch), cells: Cells(cells) })
    }
}

/// The buffer for keys and small values.
pub(crate) struct Scratch(Uint8Array);

impl AsRef<[u8]> for Scratch {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AsMut<[u8]> for Scratch {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: JavaScript does not run, and the caller has no other slice of JavaScript memory.
        unsafe { self.0.as_mut() }
    }
}

/// The numbers of a call, which JavaScript writes before it and reads after it.
pub(crate) struct Cells(Int32Array);

impl Cells {
    /// What JavaScript wrote.
    #[inline(always)]
    pub(crate) fn read(&self) -> [i32; CELLS] {
        self.0.first_chunk().copied().unwrap_or_default()
    }

    /// Leaves the last number for JavaScript.
    #[inline(always)]
    pub(crate) fn answer(&mut self, number: i32) {
        // SAFETY: JavaScript does not run, and this is the only slice of the array.
        if let Some(cell) = unsafe { self.0.as_mut() }.get_mut(CELLS - 1) {
            *cell = number;
        }
    }
}

/// An array into which lookups write values, until JavaScript names another one.
pub(crate) struct Target(pub(crate) Uint8Array);

impl Target {
    /// Its bytes from `start` on; none if it is shorter.
    #[inline(always)]
    pub(crate) fn room(&mut self, start: usize) -> &mut [u8] {
        // SAFETY: JavaScript does not run. The caller of an earlier lookup may have detached the array, so JavaScript
        // looks at its length before each call, and then names no start inside it. This is the only slice of it.
        unsafe { self.0.as_mut() }.get_mut(start..).unwrap_or_default()
    }
}
