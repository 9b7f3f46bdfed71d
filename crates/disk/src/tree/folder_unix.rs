//! An open directory. Every call takes one name in it and follows no link, even if paths change meanwhile.

use super::{Kind, Stat};
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::Path;

const OPEN: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens the root of a tree. The path that the caller gave may lead through links.
    pub(super) fn root(path: &Path) -> io::Result<Self> {
        Ok(Self(fs::openat(CWD, path, OPEN, Mode::empty())?))
    }

    /// `NotADirectory` for a link and for anything else that is not a directory.
    pub(super) fn open(&self, name: &str) -> io::Result<Self> {
        match fs::openat(&self.0, name, OPEN | OFlags::NOFOLLOW, Mode::empty()) {
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::MLINK) => {
                Err(ErrorKind::NotADirectory.into())
            }
            folder => Ok(Self(folder?)),
        }
    }

    pub(super) fn create_folder(&self, name: &str) -> io::Result<()> {
        Ok(fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// Opens a file for reading. `InvalidInput` if it is not a regular file, which is checked on the open file.
    pub(super) fn read(&self, name: &str) -> io::Result<(File, Stat)> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match fs::openat(&self.0, name, flags, Mode::empty()) {
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::MLINK | rustix::io::Errno::NXIO) => {
                return Err(ErrorKind::InvalidInput.into());
            }
            file => file?,
        };
        let stat = stat_of(&fs::fstat(&file)?);
        if stat.kind == Kind::File {
            Ok((file.into(), stat))
        } else {
            Err(ErrorKind::InvalidInput.into())
        }
    }

    /// Returns `None` if the name does not exist.
    pub(super) fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        match fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(rustix::io::Errno::NOENT) => Ok(None),
            stat => Ok(Some(stat_of(&stat?))),
        }
    }

    /// Creates a file with the mode 0644 or 0755, as far as the umask of the process allows it.
    pub(super) fn create_file(&self, name: &str, executable: bool) -> io::Result<File> {
        let mode = Mode::from_raw_mode(if executable { 0o755 } else { 0o644 });
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(fs::openat(&self.0, name, flags, mode)?.into())
    }

    /// Gives the file at `source` a name in this directory.
    pub(super) fn link(&self, source: &Path, name: &str) -> io::Result<()> {
        Ok(fs::linkat(CWD, source, &self.0, name, AtFlags::empty())?)
    }

    pub(super) fn create_link(&self, target: &str, name: &str) -> io::Result<()> {
        Ok(fs::symlinkat(target, &self.0, name)?)
    }

    pub(super) fn target_of_link(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    pub(super) fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        Ok(fs::renameat(&self.0, source, &self.0, target)?)
    }

    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub(super) fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }
}

pub(super) fn stat_of_file(file: &File) -> io::Result<Stat> {
    Ok(stat_of(&fs::fstat(file)?))
}

/// Makes a file read-only for all users. Returns `false` if it is read-only already with another mode, which must stay.
pub(super) fn make_read_only(file: &File, executable: bool) -> io::Result<bool> {
    let wanted = if executable { 0o555 } else { 0o444 };
    match fs::fstat(file)?.st_mode & 0o7777 {
        mode if mode == wanted => Ok(true),
        0o600 => Ok(fs::fchmod(file, Mode::from_raw_mode(wanted)).map(|()| true)?),
        _ => Ok(false),
    }
}

/// Lets `target` share the blocks of `source`. Fails if the file system cannot share blocks.
pub(super) fn clone_into(target: &File, source: &File) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return Ok(fs::ioctl_ficlone(target, source)?);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = (target, source);
        Err(ErrorKind::Unsupported.into())
    }
}

#[allow(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    clippy::allow_attributes,
    reason = "the types of the fields differ from system to system"
)]
fn stat_of(stat: &fs::Stat) -> Stat {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    };
    Stat {
        kind,
        bytes: stat.st_size as u64,
        executable: stat.st_mode & 0o111 != 0,
        plain: stat.st_mode & 0o7000 == 0,
        modified_ns: (stat.st_mtime as i64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(stat.st_mtime_nsec as i64),
        changed_ns: (stat.st_ctime as i64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(stat.st_ctime_nsec as i64),
        number: stat.st_ino as u64,
        names: stat.st_nlink as u64,
    }
}
