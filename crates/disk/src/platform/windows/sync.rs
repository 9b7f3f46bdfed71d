//! Syncing a file on Windows, which requires a handle with write access, even if another handle wrote the bytes.
#![expect(
    unsafe_code,
    reason = "ReOpenFile has no safe form, and another file may be at the path by now"
)]

use super::identity::identity_of;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use windows_sys::Win32::Foundation::{GENERIC_WRITE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, ReOpenFile,
};

/// Makes the bytes of the file survive a power failure.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => match for_writing(file) {
            Ok(writable) => writable.sync_data(),
            // The system opens no removed file again, and nothing of it has to survive.
            Err(error) if is_removed(file, &error) => Ok(()),
            Err(error) => Err(error),
        },
        outcome => outcome,
    }
}

/// Whether that is why a file could not be opened again: so it is in the error of Wine, and Windows counts its names.
fn is_removed(file: &File, error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
        || identity_of(file).is_ok_and(|identity| identity.names == 0)
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
