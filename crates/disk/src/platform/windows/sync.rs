//! Syncing a file on Windows, which requires a handle with write access, even if another handle wrote the bytes.
#![expect(unsafe_code, reason = "ReOpenFile has no safe form, and another file may be at the path by now")]

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use windows_sys::Win32::Foundation::{GENERIC_WRITE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, ReOpenFile};

/// Makes the bytes of the file survive a power failure.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => for_writing(file)?.sync_data(),
        outcome => outcome,
    }
}

fn for_writing(file: &File) -> io::Result<File> {
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    // SAFETY: the handle stays open as long as `file`; the call takes no pointers.
    let handle = unsafe { ReOpenFile(file.as_raw_handle(), GENERIC_WRITE, share, 0) };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just opened and has no other owner.
    Ok(unsafe { File::from_raw_handle(handle) })
}
