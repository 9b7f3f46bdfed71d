//! Which sessions of this process use which store. All threads share one store per folder, so `close` of one session
//! must not close it under the others: the last to leave does.
//!
//! Joining and leaving one store wait for each other (on threads of the pool; JavaScript's thread does not wait), so
//! nobody goes on with a store that is about to close. A session that is dropped without leaving, because its worker
//! thread was terminated, does no file operation here; dropping the last reference lets go of the files and of the
//! log's lock.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use varve_bindings::Result;
use varve_core::failpoints;
use varve_core::{Damage, Error, Options, Store, folder_of};

/// Places by the address of their store. One whose store is gone without a `close` counts no session, so it is as good
/// as new for a store that comes to lie at the same address.
static PLACES: LazyLock<Mutex<HashMap<usize, Arc<Place>>>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct Place {
    /// Held while somebody joins or leaves.
    door: Mutex<()>,
    sessions: AtomicU32,
}

impl Place {
    /// Whether the store has a session.
    fn is_taken(&self) -> bool {
        self.sessions.load(Ordering::Relaxed) > 0
    }
}

/// The right of one session to use a store.
#[derive(Debug)]
pub(crate) struct Seat {
    store: Arc<Store>,
    place: Arc<Place>,
    /// Where the files of the store are.
    folder: Arc<Path>,
}

impl Seat {
    /// Opens the store of `folder` or joins the threads that have it open.
    pub(crate) fn open(folder: &Path, options: &Options) -> Result<Self> {
        for _attempt in 0..2 {
            let (store, place) = found(folder, options)?;
            let _door = locked(&place.door);
            if place.is_taken() && !failpoints::bug("stale-second-open") {
                // `Seat::sit` makes it visible, on the thread of the session.
                store.look_ahead()?;
            }
            if let Some(seat) = Self::join(store, &place, folder.join(folder_of(options.mac_key.as_ref()))) {
                return Ok(seat);
            }
            // The last session left between the two lines above: the next attempt opens a new store.
        }
        Err(Error::Closed.into())
    }

    /// The same for JavaScript's thread, where it takes as long as loading a small module: `None` where there is more
    /// to read, where the store is open already, or where another thread is just joining or leaving.
    pub(crate) fn open_small(folder: &Path, options: &Options) -> Result<Option<Self>> {
        if !varve_disk::is_small(folder, options.mac_key.as_ref()).unwrap_or(false) {
            return Ok(None);
        }
        let (store, place) = found(folder, options)?;
        let Ok(_door) = place.door.try_lock() else { return Ok(None) };
        if place.is_taken() {
            return Ok(None);
        }
        Ok(Self::join(store, &place, folder.join(folder_of(options.mac_key.as_ref()))))
    }

    /// One more session, unless the store was closed meanwhile. The caller holds the door.
    fn join(store: Arc<Store>, place: &Arc<Place>, folder: PathBuf) -> Option<Self> {
        if store.is_closed() {
            return None;
        }
        place.sessions.fetch_add(1, Ordering::Relaxed);
        Some(Self { store, place: Arc::clone(place), folder: folder.into() })
    }

    /// Begins the session: from now on it sees what was committed before it was opened. Between two turns of the event
    /// loop, so that no other session of this thread sees its state change between two reads.
    pub(crate) fn sit(&self) -> Result<()> {
        Ok(self.store.advance().map(drop)?)
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn folder(&self) -> &Arc<Path> {
        &self.folder
    }

    /// Leaves the store: closes it if this was the last session, else makes what was committed survive power loss.
    /// Returns all damage that was met, on the way as well.
    pub(crate) fn leave(self) -> Result<Vec<Damage>> {
        failpoints::panics("leave");
        let _door = locked(&self.place.door);
        if self.place.sessions.load(Ordering::Relaxed) > 1 {
            self.store.flush()?;
        } else {
            locked(&PLACES).remove(&Arc::as_ptr(&self.store).addr());
            self.store.close()?;
        }
        Ok(self.store.status().damage)
    }

    /// Leaves at once, if this was the last session and nothing is to be written; else gives the seat back.
    pub(crate) fn leave_now(self) -> std::result::Result<Result<Vec<Damage>>, Self> {
        failpoints::panics("leave-now");
        let place = Arc::clone(&self.place);
        let Ok(_door) = place.door.try_lock() else { return Err(self) };
        if self.place.sessions.load(Ordering::Relaxed) > 1 || !self.store.is_unwritten() {
            return Err(self);
        }
        locked(&PLACES).remove(&Arc::as_ptr(&self.store).addr());
        Ok(self.store.close().map(|()| self.store.status().damage).map_err(Into::into))
    }
}

fn found(folder: &Path, options: &Options) -> Result<(Arc<Store>, Arc<Place>)> {
    let store = varve_disk::open_shared(folder, options.clone())?;
    let place = Arc::clone(locked(&PLACES).entry(Arc::as_ptr(&store).addr()).or_default());
    Ok((store, place))
}

impl Drop for Seat {
    fn drop(&mut self) {
        failpoints::panics("seat-drop");
        self.place.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A panic behind a lock leaves nothing half done that the next one relies on.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
