//! The parts that differ between operating systems, under the same names.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Size, times of the last write and of the last change in milliseconds since 1970, and number in the file system.
pub(crate) type Stamp = [f64; 4];
