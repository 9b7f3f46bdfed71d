//! What distinguishes a file on Windows: its index, which only an open file has. The time of creation is not enough: a
//! file that takes the name of one removed seconds before also takes its time (file tunneling).
#![expect(unsafe_code, reason = "GetFileInformationByHandle has no stable safe form")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    GetFileInformationByHandle,
};

/// Distinguishes files that exist at the same time on one volume.
pub(crate) struct Identity {
    pub(crate) index: u64,
    /// How many names the file has.
    pub(crate) names: u64,
}

/// Opens a file, directory or link itself, only for what is known of it.
pub(crate) fn open_unread(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(0)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)
}

pub(crate) fn identity_of(file: &File) -> io::Result<Identity> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle stays open as long as `file`, and `found` lives until the call returns.
    if unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut found) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let index = u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow);
    Ok(Identity { index, names: found.nNumberOfLinks.into() })
}
