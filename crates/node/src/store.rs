//! One open cache as the callbacks of one JavaScript thread use it. JavaScript keeps it alive through their functions;
//! it is dropped with the last of them.

mod watches;

pub(crate) use watches::{Progress, Watches};

use crate::node_api::{Answer, Callee, Cells, Instance, Reply, Scratch, Target, Task};
use serde::Serialize;
use std::cell::RefCell;
use std::ffi::CStr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use varve_bindings::{Failure, Guard, JsHandle, Result, answer};
use varve_core::failpoints;
use varve_core::{Error, Pin, Store, Watch};
use varve_disk::SharedStore;

/// Files that tasks stored, until the handle keeps them.
pub(crate) type Pins = Arc<Mutex<Vec<Pin>>>;

/// The store as one thread of JavaScript has it open.
#[derive(Debug)]
pub(crate) struct NodeStore {
    handle: RefCell<JsHandle<Scratch>>,
    pub(crate) cells: Cells,
    /// Where `find` writes values; none until JavaScript names it.
    target: RefCell<Option<Target>>,
    /// None once closed.
    shared: RefCell<Option<SharedStore>>,
    watches: RefCell<Watches>,
    pins: Pins,
    /// Shared with the tasks on other threads.
    guard: Guard,
}

impl NodeStore {
    /// Uses the store of `shared`.
    pub(crate) fn new(shared: SharedStore, scratch: Scratch, cells: Cells) -> Self {
        Self {
            handle: RefCell::new(JsHandle::new(shared.store(), scratch)),
            cells,
            target: RefCell::default(),
            shared: RefCell::new(Some(shared)),
            watches: RefCell::default(),
            pins: Pins::default(),
            guard: Guard::default(),
        }
    }

    /// Runs `call` on the handle.
    #[inline(always)]
    pub(crate) fn with<T>(
        &self,
        call: impl FnOnce(&mut JsHandle<Scratch>) -> Result<T>,
    ) -> Result<T> {
        call(&mut *self.handle.try_borrow_mut().map_err(nested)?)
    }

    /// Runs `call` on the handle and on the memory for values.
    #[inline(always)]
    pub(crate) fn with_target<T>(
        &self,
        call: impl FnOnce(&mut JsHandle<Scratch>, Option<&mut Target>) -> Result<T>,
    ) -> Result<T> {
        let mut target = self.target.try_borrow_mut().map_err(nested)?;
        self.with(|handle| call(handle, target.as_mut()))
    }

    /// Names the memory for values.
    pub(crate) fn set_target(&self, target: Target) -> Result<()> {
        *self.target.try_borrow_mut().map_err(nested)? = Some(target);
        Ok(())
    }

    /// Runs `call` on the watches of long calls.
    pub(crate) fn with_watches<T>(
        &self,
        call: impl FnOnce(&mut Watches) -> Result<T>,
    ) -> Result<T> {
        call(&mut *self.watches.try_borrow_mut().map_err(nested)?)
    }

    /// What a long call and its watch share.
    pub(crate) fn progress(&self, number: u32) -> Result<Arc<Progress>> {
        self.with_watches(|watches| watches.progress(number))
    }

    /// The store, for a task on another thread.
    pub(crate) fn store(&self) -> Result<Arc<Store>> {
        self.with(|handle| handle.store().cloned())
    }

    /// The directory with its files.
    pub(crate) fn folder(&self) -> Result<Arc<Path>> {
        self.shared
            .borrow()
            .as_ref()
            .map(|shared| Arc::clone(shared.folder()))
            .ok_or_else(|| Error::Closed.into())
    }

    pub(crate) fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Keeps what tasks stored until the next commit that begins.
    pub(crate) fn keep_stored(&self) -> Result<()> {
        let pins = std::mem::take(&mut *self.pins.lock().unwrap_or_else(PoisonError::into_inner));
        self.with(|handle| pins.into_iter().try_for_each(|pin| handle.keep(pin)))
    }

    /// A promise of the JSON that `job` answers on another thread.
    pub(crate) fn promise<T: Serialize>(
        &self,
        job: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Answer {
        self.promise_reply(move || Ok(Reply::Text(answer(Ok(job()?)))))
    }

    /// The same for a long call, whose watch has that number.
    pub(crate) fn promise_watched<T: Serialize>(
        &self,
        watch: u32,
        job: impl FnOnce(&Arc<Store>, Watch<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Answer> {
        let (progress, store) = (self.progress(watch)?, self.store()?);
        Ok(self.promise(move || job(&store, &|done, total| progress.report(done, total))))
    }

    /// A promise of what `job` answers on another thread.
    pub(crate) fn promise_reply(
        &self,
        job: impl FnOnce() -> Result<Reply> + Send + 'static,
    ) -> Answer {
        self.promise_job(Box::new(job))
    }

    /// The same. Not generic, because there are about twenty jobs.
    fn promise_job(&self, job: Box<dyn FnOnce() -> Result<Reply> + Send>) -> Answer {
        let guard = self.guard.clone();
        Answer::Promise(Task::new(move || {
            let run = || {
                failpoints::panics("task");
                job()
            };
            guard.run(run).unwrap_or_else(Reply::failed)
        }))
    }

    /// Makes every later call answer `CLOSED`. Returns the share in the store, which the caller leaves.
    pub(crate) fn close(&self) -> Result<SharedStore> {
        self.with(|handle| {
            handle.close();
            Ok(())
        })?;
        self.shared.take().ok_or_else(|| Error::Closed.into())
    }
}

impl Callee for NodeStore {
    fn guarded<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        self.guard.run(call)
    }
}

impl Instance for NodeStore {
    const CLASS: &'static CStr = c"Store";
    const TAG: (u64, u64) = (0x2808_294c_2bfa_8b6f, 0xae2e_6162_f5cb_8a7d);
}

fn nested<E>(_borrowed: E) -> Box<Failure> {
    Failure::internal("a call came within a call")
}
