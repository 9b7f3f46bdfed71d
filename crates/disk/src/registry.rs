//! The stores that this process has open: one per directory, so that the worker threads of a host see each other's
//! commits at once and share one log, one block cache and one thread pool.
//!
//! 1. A store is identified by the real path of its directory, by the secret, by `read_only` and by its layers: a
//!    reader and a writer of one directory are two stores.
//! 2. Each session of the host has a [`SharedStore`]. The last one that leaves closes the store; the others flush it.
//! 3. Sessions open, join and leave one store one at a time, so no session joins a store that is closing. Sessions of
//!    other stores do not wait for them.
//! 4. A session that is dropped without leaving, because its worker thread was terminated, performs no file operation.
//!    The registry holds no store: dropping the last reference closes the files and releases the lock of the log.

use crate::{DiskVfs, pool};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;
use varve_core::failpoints;
use varve_core::{Clock, Damage, Error, LayerSource, MacKey, Options, Result, Store, folder_of};

/// Most files of a small directory.
const SMALL_FILES_MAX: usize = 16;

/// Most bytes that opening a small directory reads: of all files but tables, of which only the footers are read.
const SMALL_BYTES_MAX: u64 = 64 << 10;

type Identity = (PathBuf, Option<MacKey>, bool, Vec<Arc<str>>);

static PLACES: Mutex<Vec<(Identity, Arc<Place>)>> = Mutex::new(Vec::new());

/// The store of one identity, and the number of its sessions.
#[derive(Debug, Default)]
struct Place {
    /// Locked while a session opens, joins or leaves the store.
    store: Mutex<Weak<Store>>,
    /// Not behind the lock: a session that is dropped does not wait for one that leaves.
    sessions: AtomicU32,
}

/// The share of one session in a store that all sessions of the process use.
#[derive(Debug)]
pub struct SharedStore {
    store: Arc<Store>,
    place: Arc<Place>,
    folder: Arc<Path>,
}

impl SharedStore {
    /// Opens the store of the cache directory `path`, or joins the sessions that have it open. The first of them
    /// decides the options other than `read_only`; `random` and `clock` are set here.
    ///
    /// A session that joins sees what other processes committed before, once it calls [`Store::advance`].
    pub fn open(path: &Path, options: &Options) -> Result<Self> {
        let (place, folder) = place(path, options)?;
        let mut open = locked(&place.store);
        if let Some(store) = usable(&open) {
            store.look_ahead()?;
            return Ok(Self::new(store, &place, folder));
        }
        Self::create(&mut open, &place, folder, options)
    }

    /// Opens the store if it is not open and there is so little to read that this takes no longer than starting a
    /// thread. `None` otherwise, and if another session is opening or leaving the store.
    pub fn open_if_small(path: &Path, options: &Options) -> Result<Option<Self>> {
        let (place, folder) = place(path, options)?;
        let Ok(mut open) = place.store.try_lock() else { return Ok(None) };
        if usable(&open).is_some() || !is_small(&folder).unwrap_or(false) {
            return Ok(None);
        }
        Self::create(&mut open, &place, folder, options).map(Some)
    }

    fn create(
        open: &mut Weak<Store>,
        place: &Arc<Place>,
        folder: PathBuf,
        options: &Options,
    ) -> Result<Self> {
        let vfs = Arc::new(DiskVfs::new(folder.clone()));
        // Keys of hash maps are random numbers of the operating system.
        let random = RandomState::new().hash_one(0);
        let options = Options { random, clock: Clock::new(now_us), ..options.clone() };
        let store = Store::open(vfs, pool::shared(), options)?;
        *open = Arc::downgrade(&store);
        Ok(Self::new(store, place, folder))
    }

    /// The caller holds the lock of `place`.
    fn new(store: Arc<Store>, place: &Arc<Place>, folder: PathBuf) -> Self {
        place.sessions.fetch_add(1, Ordering::Relaxed);
        Self { store, place: Arc::clone(place), folder: folder.into() }
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The directory with the files of the store.
    pub fn folder(&self) -> &Arc<Path> {
        &self.folder
    }

    /// Closes the store if this is its last session, else makes every commit survive a power failure. Returns all
    /// damage that was found, by this call too.
    pub fn leave(self) -> Result<Vec<Damage>> {
        failpoints::panics("leave");
        let _open = locked(&self.place.store);
        if self.is_last() {
            self.store.close()?;
        } else {
            self.store.flush()?;
        }
        Ok(self.store.status().damage)
    }

    /// Leaves at once if this is the last session and the store has nothing to write. Otherwise returns the share.
    pub fn leave_if_unwritten(self) -> std::result::Result<Result<Vec<Damage>>, Self> {
        failpoints::panics("leave-now");
        let place = Arc::clone(&self.place);
        let Ok(_open) = place.store.try_lock() else { return Err(self) };
        if !self.is_last() || !self.store.is_unwritten() {
            return Err(self);
        }
        Ok(self.store.close().map(|()| self.store.status().damage))
    }

    fn is_last(&self) -> bool {
        self.place.sessions.load(Ordering::Relaxed) <= 1
    }
}

impl Drop for SharedStore {
    fn drop(&mut self) {
        failpoints::panics("share-drop");
        self.place.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The layer in the directory `path`, whose files are in its directory `folder` (`folder_of` the secret).
pub fn layer_at(path: &str, folder: &str) -> LayerSource {
    LayerSource { name: path.into(), vfs: Arc::new(DiskVfs::new(Path::new(path).join(folder))) }
}

/// The place of the store in `path`, and the directory with its files. Removes the places of stores that are gone.
fn place(path: &Path, options: &Options) -> Result<(Arc<Place>, PathBuf)> {
    let folder =
        real_path(path).map_err(|source| Error::io("find", &path.to_string_lossy(), source))?;
    let folder = folder.join(folder_of(options.mac_key.as_ref()));
    let layers = options.layers.iter().map(|layer| Arc::clone(&layer.name)).collect();
    let identity = (folder.clone(), options.mac_key.clone(), options.read_only, layers);
    let mut places = locked(&PLACES);
    places.retain(|(_, place)| {
        Arc::strong_count(place) > 1 || locked(&place.store).strong_count() > 0
    });
    if let Some((_, place)) = places.iter().find(|(other, _)| *other == identity) {
        return Ok((Arc::clone(place), folder));
    }
    let place = Arc::<Place>::default();
    places.push((identity, Arc::clone(&place)));
    Ok((place, folder))
}

/// The store, unless it is closed, or broken by a panic.
fn usable(open: &Weak<Store>) -> Option<Arc<Store>> {
    open.upgrade().filter(|store| !store.is_closed())
}

/// Microseconds since 1970.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// Whether opening the store in `folder` reads little: the directory has few files, and small logs and manifests.
fn is_small(folder: &Path) -> io::Result<bool> {
    let (mut files, mut bytes) = (0, 0);
    let entries = match std::fs::read_dir(folder) {
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

/// The path without links and `..`. Parts that do not exist yet stay as they are.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut existing = path.as_path();
    let mut real = loop {
        match (existing.canonicalize(), existing.parent()) {
            (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
                existing = parent
            }
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

/// A panic leaves every value here whole, so a poisoned lock can be used.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_path_resolves_links_and_parent_directories() {
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
