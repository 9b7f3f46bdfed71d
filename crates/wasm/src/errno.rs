//! The numbers that a host returns: a count, or -errno as on Linux.

use std::io::{self, ErrorKind};

/// Converts a number that the host returned into a result.
pub(crate) fn result_of(answer: f64) -> io::Result<u64> {
    if answer >= 0.0 { Ok(answer as u64) } else { Err(kind_of(-answer as u32).into()) }
}

fn kind_of(errno: u32) -> ErrorKind {
    match errno {
        1 | 13 => ErrorKind::PermissionDenied, // EPERM, EACCES
        2 => ErrorKind::NotFound,
        4 => ErrorKind::Interrupted,
        11 => ErrorKind::WouldBlock,
        16 => ErrorKind::ResourceBusy,
        17 => ErrorKind::AlreadyExists,
        18 => ErrorKind::CrossesDevices,
        20 => ErrorKind::NotADirectory,
        21 => ErrorKind::IsADirectory,
        22 => ErrorKind::InvalidInput,
        27 => ErrorKind::FileTooLarge,
        28 => ErrorKind::StorageFull,
        30 => ErrorKind::ReadOnlyFilesystem,
        36 => ErrorKind::InvalidFilename,
        38 | 95 => ErrorKind::Unsupported, // ENOSYS, EOPNOTSUPP
        122 => ErrorKind::QuotaExceeded,
        _ => ErrorKind::Other,
    }
}
