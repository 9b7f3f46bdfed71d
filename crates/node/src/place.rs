//! Which sessions of this process use which folder. All threads of a process share one store per folder, so `close` of
//! one session must not close it under the others: the last to leave does.
//!
//! Opening and leaving one folder wait for each other (on threads of the pool, never on JavaScript's), so nobody gets a
//! store that is about to close. A session that is dropped without leaving, because its worker thread was terminated,
//! does no file operation here; dropping the last reference lets go of the files and of the log's lock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use varve_core::{Options, Store};
use varve_door::Result;

/// Folders that were ever opened: a few bytes each.
static PLACES: Mutex<BTreeMap<PathBuf, Arc<Place>>> = Mutex::new(BTreeMap::new());

#[derive(Debug, Default)]
struct Place {
    /// Held while somebody opens or leaves.
    door: Mutex<()>,
    sessions: AtomicU32,
}

/// The right of one session to use a store.
#[derive(Debug)]
pub(crate) struct Seat {
    store: Arc<Store>,
    place: Arc<Place>,
}

impl Seat {
    /// Opens the store in `folder` or joins the threads that have it open.
    pub(crate) fn open(folder: &Path, options: Options) -> Result<Self> {
        // A folder that does not exist yet has no real path; then the name as given must do.
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let place = Arc::clone(locked(&PLACES).entry(real).or_default());
        let door = locked(&place.door);
        let store = varve_disk::open_shared(folder, options)?;
        place.sessions.fetch_add(1, Ordering::Relaxed);
        drop(door);
        Ok(Self { store, place })
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Leaves the store: closes it if this was the last session, else makes what was committed survive power loss.
    pub(crate) fn leave(self, now_ms: u64) -> Result<()> {
        let place = Arc::clone(&self.place);
        let _door = locked(&place.door);
        let last = place.sessions.load(Ordering::Relaxed) == 1;
        let outcome = if last { self.store.close(now_ms) } else { self.store.flush() };
        drop(self); // before the door opens again: whoever opens next must not find the closed store
        Ok(outcome?)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.place.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A panic behind a door leaves nothing half done that the next one relies on.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
