//! One open cache as the calls of one JavaScript thread use it. JavaScript keeps it alive through its object and the
//! functions of that; it is dropped with the last of them.

use crate::memory::{Cells, Memory, Scratch, Target};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use varve_bindings::{Failure, Guard, JsHandle, Result, guarded};
use varve_core::failpoints;
use varve_core::{Error, Pin, Store};
use varve_disk::SharedStore;

/// Files that tasks stored, until the handle keeps them.
pub(crate) type Pins = Arc<Mutex<Vec<Pin>>>;

/// The handle, and the memory through which calls reach it.
pub(crate) struct Open {
    pub(crate) handle: JsHandle<Scratch>,
    pub(crate) cells: Cells,
    /// Where `find` writes values; none until JavaScript names it.
    pub(crate) target: Option<Target>,
}

/// The store as one thread of JavaScript has it open.
pub(crate) struct OpenStore {
    open: RefCell<Open>,
    /// None once closed.
    shared: RefCell<Option<SharedStore>>,
    pins: Pins,
    /// Shared with the jobs on other threads.
    guard: Guard,
}

impl OpenStore {
    /// Uses the store of `shared`.
    pub(crate) fn new(shared: SharedStore, Memory { scratch, cells }: Memory) -> Self {
        let handle = JsHandle::new(shared.store(), scratch);
        Self {
            open: RefCell::new(Open { handle, cells, target: None }),
            shared: RefCell::new(Some(shared)),
            pins: Pins::default(),
            guard: Guard::default(),
        }
    }

    /// Runs one call from JavaScript; a panic becomes a failure.
    #[inline(always)]
    pub(crate) fn guarded<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        self.guard.run(call)
    }

    /// Runs `call` on the handle and its memory.
    #[inline(always)]
    pub(crate) fn with<T>(&self, call: impl FnOnce(&mut Open) -> Result<T>) -> Result<T> {
        call(&mut *self.open.try_borrow_mut().map_err(nested)?)
    }

    /// The store, for a job on another thread.
    pub(crate) fn store(&self) -> Result<Arc<Store>> {
        self.with(|open| open.handle.store().cloned())
    }

    /// The directory with its files.
    pub(crate) fn folder(&self) -> Result<Arc<Path>> {
        let shared = self.shared.borrow();
        let folder = shared.as_ref().map(|shared| Arc::clone(shared.folder()));
        folder.ok_or_else(|| Error::Closed.into())
    }

    pub(crate) fn pins(&self) -> Pins {
        Arc::clone(&self.pins)
    }

    /// Keeps what jobs stored until the next commit that begins.
    pub(crate) fn keep_stored(&self) -> Result<()> {
        let pins = std::mem::take(&mut *self.pins.lock().unwrap_or_else(PoisonError::into_inner));
        self.with(|open| pins.into_iter().try_for_each(|pin| open.handle.keep(pin)))
    }

    /// For the jobs on other threads.
    pub(crate) fn guard(&self) -> Guard {
        self.guard.clone()
    }

    /// Makes every later call answer `CLOSED`. Returns the share in the store, which the caller leaves.
    pub(crate) fn close(&self) -> Result<SharedStore> {
        self.with(|open| {
            open.handle.close();
            Ok(())
        })?;
        self.shared.take().ok_or_else(|| Error::Closed.into())
    }

    /// Drops a count of the store that JavaScript has given up. No caller is left to receive a panic; the process must
    /// live.
    pub(crate) fn release(self: Rc<Self>) {
        let _ = guarded(|| {
            failpoints::panics("finalizer");
            drop(self);
            Ok(())
        });
    }
}

fn nested<E>(_borrowed: E) -> Box<Failure> {
    Failure::internal("a call came within a call")
}
