//! One store per process and directory. So the worker threads of a host see each other's commits at once, and share one
//! log, one block cache and one pool.
//!
//! 1. A store is identified by the real path of its directory and by its secret. A reader and a writer of the same
//!    directory are two stores.
//! 2. A store lives as long as one of its users. The registry does not keep it alive.
//! 3. Two threads that open the same directory at once get the same store: the second one waits for the first. Threads
//!    that open other directories do not wait.

use crate::{DiskPool, DiskVfs};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;
use varve_core::{Clock, Error, MacKey, Options, Result, Store, folder_of};

/// The most files in a small directory, and the most bytes that opening it reads: all files but tables, of which only
/// the footers are read.
const SMALL_FILES_MAX: usize = 16;
const SMALL_BYTES_MAX: u64 = 64 << 10;

type Identity = (PathBuf, Option<MacKey>, bool);
type Place = Arc<Mutex<Weak<Store>>>;

static STORES: LazyLock<Mutex<HashMap<Identity, Place>>> = LazyLock::new(Mutex::default);
static POOL: LazyLock<Arc<DiskPool>> = LazyLock::new(Arc::default);

/// Returns the store of the cache directory `path`, and opens it if this process has none. The first open decides on
/// all options other than `read_only`, `random` and `clock`.
pub fn open_shared(path: &Path, options: Options) -> Result<Arc<Store>> {
    let folder = real_path(path).map_err(|source| Error::io("find", &path.to_string_lossy(), source))?;
    let folder = folder.join(folder_of(options.mac_key.as_ref()));
    let place = place((folder.clone(), options.mac_key.clone(), options.read_only));
    open_at(&place, || {
        let vfs = Arc::new(DiskVfs::new(folder));
        // The keys of hash maps are random numbers of the system.
        let random = RandomState::new().hash_one(0);
        Store::open(vfs, POOL.clone(), Options { random, clock: Clock::new(now_us), ..options })
    })
}

/// Microseconds since 1970.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// Returns whether opening the store of `path` with that secret reads little: few files, and small logs and manifests.
pub fn is_small(path: &Path, key: Option<&MacKey>) -> io::Result<bool> {
    let (mut files, mut bytes) = (0, 0);
    let entries = match std::fs::read_dir(path.join(folder_of(key))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        files += 1;
        if !entry.file_name().to_string_lossy().ends_with(".table") {
            bytes += entry.metadata()?.len();
        }
        if files > SMALL_FILES_MAX || bytes > SMALL_BYTES_MAX {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the place for a store, and removes places of stores that are gone.
fn place(identity: Identity) -> Place {
    let mut stores = hold(&STORES);
    stores.retain(|_, place| Arc::strong_count(place) > 1 || hold(place).strong_count() > 0);
    stores.entry(identity).or_default().clone()
}

fn open_at(place: &Place, open: impl FnOnce() -> Result<Arc<Store>>) -> Result<Arc<Store>> {
    let mut place = hold(place);
    if let Some(store) = place.upgrade().filter(is_usable) {
        return Ok(store);
    }
    let store = open()?;
    *place = Arc::downgrade(&store);
    Ok(store)
}

/// Returns whether a store can take another user, which a closed one cannot.
fn is_usable(store: &Arc<Store>) -> bool {
    !store.is_closed()
}

/// The path without links and `..`. The part that does not exist yet stays as written.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut existing = path.as_path();
    let mut real = loop {
        match (existing.canonicalize(), existing.parent()) {
            (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => existing = parent,
            (result, _) => break result?,
        }
    };
    for part in path.strip_prefix(existing).into_iter().flat_map(Path::components) {
        if part == Component::ParentDir {
            real.pop();
        } else {
            real.push(part);
        }
    }
    Ok(real)
}

/// Locks a mutex even if it is poisoned: a panic leaves every value here consistent.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_exists_in_part_is_resolved_in_that_part() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("there")).unwrap();
        assert_eq!(real_path(&real.join("there")).unwrap(), real.join("there"));
        assert_eq!(real_path(&real.join("there/a/../b/./c")).unwrap(), real.join("there/b/c"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(real.join("there"), real.join("link")).unwrap();
            assert_eq!(real_path(&real.join("link/a")).unwrap(), real.join("there/a"));
        }
    }
}
