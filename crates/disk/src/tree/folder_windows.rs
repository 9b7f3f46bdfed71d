//! A directory by its path, because std has no calls relative to an open directory on Windows. Every name on the way is
//! checked before it is used, so a link is rejected if it was there before. A link created between check and use is not
//! noticed.

use super::{Kind, Stat};
use crate::platform::{Identity, identity_of, open_unread};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::windows::fs::{MetadataExt, OpenOptionsExt, symlink_file};
use std::path::{Path, PathBuf};

const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;

#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Opens the root of a tree. The path that the caller gave may lead through links.
    pub(super) fn root(path: &Path) -> io::Result<Self> {
        Ok(Self(path.canonicalize()?))
    }

    /// `NotADirectory` for a link and for anything else that is not a directory.
    pub(super) fn open(&self, name: &str) -> io::Result<Self> {
        let path = self.0.join(name);
        if fs::symlink_metadata(&path)?.is_dir() {
            Ok(Self(path))
        } else {
            Err(ErrorKind::NotADirectory.into())
        }
    }

    pub(super) fn create_folder(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    /// Opens a file for reading. `InvalidInput` if it is not a regular file, which is checked on the open file.
    pub(super) fn read(&self, name: &str) -> io::Result<(File, Stat)> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
            .open(self.0.join(name))?;
        let stat = stat_of_file(&file)?;
        if stat.kind == Kind::File { Ok((file, stat)) } else { Err(ErrorKind::InvalidInput.into()) }
    }

    /// Returns `None` if the name does not exist.
    pub(super) fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        match open_unread(&self.0.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            file => stat_of_file(&file?).map(Some),
        }
    }

    /// Creates a file. Windows has no executable bit.
    pub(super) fn create_file(&self, name: &str, _executable: bool) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(self.0.join(name))
    }

    /// Gives the file at `source` a name in this directory.
    pub(super) fn link(&self, source: &Path, name: &str) -> io::Result<()> {
        fs::hard_link(source, self.0.join(name))
    }

    pub(super) fn create_link(&self, target: &str, name: &str) -> io::Result<()> {
        symlink_file(target.replace('/', "\\"), self.0.join(name))
    }

    pub(super) fn target_of_link(&self, name: &str) -> io::Result<Vec<u8>> {
        let target = fs::read_link(self.0.join(name))?;
        Ok(target.to_string_lossy().replace('\\', "/").into_bytes())
    }

    pub(super) fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        let target = self.0.join(target);
        fs::rename(self.0.join(source), &target).map_err(|error| {
            // Windows reports a directory in the way as a lack of permission.
            if fs::symlink_metadata(&target).is_ok_and(|there| there.is_dir()) {
                ErrorKind::IsADirectory.into()
            } else {
                error
            }
        })
    }

    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    pub(super) fn remove_folder(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.0.join(name))
    }
}

/// Makes a file read-only.
pub(super) fn make_read_only(file: &File, _executable: bool) -> io::Result<bool> {
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(true);
    file.set_permissions(permissions).map(|()| true)
}

/// Windows does not share blocks.
pub(super) fn clone_into(_target: &File, _source: &File) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn stat_of_file(file: &File) -> io::Result<Stat> {
    let metadata = file.metadata()?;
    let Identity { index, names } = identity_of(file)?;
    let kind = match metadata.file_type() {
        kind if kind.is_symlink() => Kind::Link,
        kind if kind.is_dir() => Kind::Folder,
        kind if kind.is_file() => Kind::File,
        _ => Kind::Other,
    };
    // 100 ns since 1601. It is compared with earlier values, and with the current time, which counts from 1970.
    let modified_ns = (metadata.last_write_time() as i64)
        .saturating_sub(116_444_736_000_000_000)
        .saturating_mul(100);
    Ok(Stat {
        kind,
        bytes: metadata.file_size(),
        executable: false,
        plain: true,
        modified_ns,
        changed_ns: 0,
        number: index,
        names,
    })
}
