//! The lock of a file on Windows: one byte far beyond the end. A lock keeps other processes from reading the bytes it
//! covers, and `std` locks the whole file.
#![expect(unsafe_code, reason = "LockFileEx has no safe form that locks less than the whole file")]

use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;
use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_LOCK_VIOLATION};
use windows_sys::Win32::Storage::FileSystem::{
    LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx,
};
use windows_sys::Win32::System::IO::OVERLAPPED;

/// The high half of the byte's offset, 2^62.
const LOCKED_OFFSET_HIGH: u32 = 1 << 30;

/// Returns whether this process now holds the lock, which belongs to the open file and is released with it.
pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    let flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.OffsetHigh = LOCKED_OFFSET_HIGH;
    // SAFETY: the handle stays open as long as `file` and is synchronous, so `place` is not used after the call.
    if unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &mut place) } != 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error().map(i32::cast_unsigned) {
        Some(ERROR_LOCK_VIOLATION | ERROR_IO_PENDING) => Ok(false),
        _ => Err(error),
    }
}
