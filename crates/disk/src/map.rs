//! A file mapped into memory, for blocks that are read repeatedly.
//!
//! Another program may change the mapped bytes at any time; a checksum in core then fails. It may also truncate the
//! file; `guard.rs` then maps zeros in place of the missing pages, and the same checksum fails.
#![expect(unsafe_code, reason = "mapping a file and querying its file system have no safe form")]

use crate::guard::{self, Watched};
use memmap2::{Mmap, MmapOptions, UncheckedAdvice};
use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use varve_core::failpoints;
use varve_core::vfs::File;

/// A mapped file. It keeps no file handle open, so a cache with many tables does not run out of handles.
#[derive(Debug)]
pub(crate) struct MappedFile {
    // The first field, so that it is dropped first: a range is watched only while it is mapped.
    _watched: Watched,
    bytes: Mmap,
}

impl MappedFile {
    /// Returns `None` if the system cannot map the file (no address space, too many maps) or if a fault could not be
    /// caught.
    pub(crate) fn new(file: &fs::File, length: u64) -> Option<Self> {
        let length = usize::try_from(length).ok().filter(|&length| length > 0)?;
        // SAFETY: the map is private and read-only, and stays until `MappedFile` is dropped. Other programs may change
        // the file under it: core treats borrowed bytes as a window that may change, copies the bytes it needs and
        // verifies the copy, and no `unsafe` code depends on them. `guard` replaces pages that vanish.
        let bytes = unsafe { MmapOptions::new().len(length).map_copy_read_only(file) }.ok()?;
        let watched = guard::watch(bytes.as_ptr() as usize, bytes.len())?;
        Some(Self { _watched: watched, bytes })
    }
}

impl File for MappedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        failpoints::panics("disk-map");
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(length)?));
        let window = range.and_then(|range| self.bytes.get(range));
        window.map(Cow::Borrowed).ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    fn release(&self) {
        // SAFETY: the private map is never written, so its pages hold only bytes of the file and are read again from
        // it. Pages that `guard` replaced are zeros, and stay zeros. Borrowed bytes are a window that may change
        // anyway.
        let advised = unsafe { self.bytes.unchecked_advise(UncheckedAdvice::DontNeed) };
        // If the system ignores the hint, only memory is lost.
        let _ = advised;
    }

    fn append(&self, _parts: &[&[u8]]) -> io::Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        Err(ErrorKind::Unsupported.into())
    }
}

/// Returns whether the file is on a disk of this machine; `false` in doubt.
pub(crate) fn is_local(file: &fs::File) -> bool {
    let mut status = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the descriptor stays open as long as `file`, and `status` is large enough for the answer.
    let failed = unsafe { libc::fstatfs(file.as_raw_fd(), status.as_mut_ptr()) } != 0;
    // SAFETY: all-zero bytes are a valid `statfs`, whether the call filled it or not.
    !failed && is_local_type(&unsafe { status.assume_init() })
}

/// Checks the magic numbers of statfs(2) for file systems whose pages come from another machine or program.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_local_type(status: &libc::statfs) -> bool {
    const REMOTE: [u32; 17] = [
        0x0000_6969, // NFS
        0x0000_517b, // SMB
        0xff53_4d42, // CIFS
        0xfe53_4d42, // SMB2
        0x0102_1997, // 9p: WSL, some containers
        0x6573_5546, // FUSE: sshfs, cloud drives, virtiofs
        0x5346_414f, // AFS (OpenAFS)
        0x6b41_4653, // AFS (kernel)
        0x7375_7245, // Coda
        0x0000_564c, // NCP
        0x00c3_6400, // Ceph
        0x0bd0_0bd0, // Lustre
        0x4750_4653, // GPFS
        0x0116_1970, // GFS2
        0x7461_636f, // OCFS2
        0x786f_4256, // VirtualBox shared folders
        0xbacb_acbc, // VMware shared folders
    ];
    // The type of this field differs between targets, but the magic numbers have 32 bits.
    let kind = status.f_type as u32;
    !REMOTE.contains(&kind)
}

#[cfg(any(
    target_os = "macos",
    target_os = "ios",
    target_os = "freebsd",
    target_os = "openbsd",
    target_os = "dragonfly"
))]
fn is_local_type(status: &libc::statfs) -> bool {
    status.f_flags as u64 & libc::MNT_LOCAL as u64 != 0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn is_local_on(kind: u32) -> bool {
        // SAFETY: all-zero bytes are a valid `statfs`.
        let mut status: libc::statfs = unsafe { MaybeUninit::zeroed().assume_init() };
        status.f_type = kind.into();
        is_local_type(&status)
    }

    /// A page of such a file may be gone when it is read, without a signal in time.
    #[test]
    fn files_of_other_machines_and_programs_are_never_mapped() {
        let [nfs, smb, fuse] =
            [libc::NFS_SUPER_MAGIC, libc::SMB_SUPER_MAGIC, libc::FUSE_SUPER_MAGIC];
        for kind in
            [nfs, smb, fuse, libc::AFS_SUPER_MAGIC, libc::CODA_SUPER_MAGIC, libc::NCP_SUPER_MAGIC]
        {
            assert!(!is_local_on(kind as u32), "{kind:x}");
        }
        let [ext4, xfs, tmpfs] = [libc::EXT4_SUPER_MAGIC, libc::XFS_SUPER_MAGIC, libc::TMPFS_MAGIC];
        for kind in [
            ext4,
            xfs,
            tmpfs,
            libc::BTRFS_SUPER_MAGIC,
            libc::F2FS_SUPER_MAGIC,
            libc::OVERLAYFS_SUPER_MAGIC,
        ] {
            assert!(is_local_on(kind as u32), "{kind:x}");
        }
    }
}
