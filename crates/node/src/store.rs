//! What the callbacks of one session share. JavaScript holds it through their functions; it goes with the last of them.

use crate::control::{Progress, Watches};
use crate::guard::{guarded, panicked};
use crate::place::Seat;
use crate::raw::Scratch;
use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use varve_bindings::{Failure, Result, Session};
use varve_core::{Error, Hold, Store};

/// The failure that ended a session. Shared with its tasks on other threads.
pub(crate) type Broken = Arc<OnceLock<Failure>>;

/// The session and the scratch buffer its hot calls read and write.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) session: Session,
    pub(crate) scratch: Scratch,
}

/// One session as its callbacks see it; used by one thread only.
#[derive(Debug)]
pub(crate) struct Context {
    desk: RefCell<Desk>,
    seat: RefCell<Option<Seat>>,
    watches: RefCell<Watches>,
    broken: Broken,
    /// Of files that tasks stored, until the session takes them.
    holds: Arc<Mutex<Vec<Hold>>>,
}

impl Context {
    /// A session on the store of `seat`.
    pub(crate) fn new(seat: Seat, scratch: Scratch) -> Self {
        let session = Session::new(seat.store());
        Self {
            desk: RefCell::new(Desk { session, scratch }),
            seat: RefCell::new(Some(seat)),
            watches: RefCell::default(),
            broken: Broken::default(),
            holds: Arc::default(),
        }
    }

    /// Runs one call. After a panic every call answers with that failure: what it was changing is in doubt.
    pub(crate) fn run<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        watched(&self.broken, call)
    }

    /// Runs `call` on the session.
    pub(crate) fn with<T>(&self, call: impl FnOnce(&mut Desk) -> Result<T>) -> Result<T> {
        let mut desk = self.desk.try_borrow_mut().map_err(|_| Failure::internal("a call came within a call"))?;
        call(&mut desk)
    }

    /// Runs `call` on the watches of long calls.
    pub(crate) fn with_watches<T>(&self, call: impl FnOnce(&mut Watches) -> Result<T>) -> Result<T> {
        let mut watches = self.watches.try_borrow_mut().map_err(|_| Failure::internal("a call came within a call"))?;
        call(&mut watches)
    }

    /// What a long call and its watch share.
    pub(crate) fn progress(&self, number: u32) -> Result<Arc<Progress>> {
        self.with_watches(|watches| watches.progress(number))
    }

    /// The store, for a task on another thread.
    pub(crate) fn store(&self) -> Result<Arc<Store>> {
        self.with(|desk| desk.session.store().cloned())
    }

    /// Where the files of that store are.
    pub(crate) fn folder(&self) -> Result<Arc<Path>> {
        self.seat.borrow().as_ref().map(|seat| Arc::clone(seat.folder())).ok_or_else(|| Error::Closed.into())
    }

    pub(crate) fn holds(&self) -> &Arc<Mutex<Vec<Hold>>> {
        &self.holds
    }

    pub(crate) fn broken(&self) -> &Broken {
        &self.broken
    }

    /// Ends the session and gives up its seat, for `Seat::leave` on another thread.
    pub(crate) fn close(&self) -> Result<Seat> {
        self.with(|desk| {
            desk.session.close();
            Ok(())
        })?;
        self.seat.take().ok_or_else(|| Error::Closed.into())
    }
}

/// Runs a call of a session, on any thread.
pub(crate) fn watched<T>(broken: &Broken, call: impl FnOnce() -> Result<T>) -> Result<T> {
    if let Some(failure) = broken.get() {
        return Err(failure.clone());
    }
    let outcome = guarded(call);
    if panicked(&outcome) { outcome.map_err(|failure| broken.get_or_init(|| failure).clone()) } else { outcome }
}
