//! Commits, and what else concerns them: what is buffered, flush, refresh, close.

use crate::answers::{Job, Promise, Result, json_of};
use crate::calls::NodeStore;
use crate::store::OpenStore;
use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;
use varve_bindings::{Begun, Commit, answer, durability};

#[napi]
impl NodeStore {
    #[napi(catch_unwind)]
    pub fn pending_bytes(&self) -> Result<f64> {
        self.on_handle(|handle| Ok(handle.pending_bytes()? as f64))
    }

    #[napi(catch_unwind)]
    pub fn pending_entries(&self) -> Result<f64> {
        self.on_handle(|handle| Ok(handle.pending_entries()? as f64))
    }

    /// Commits what is buffered: true if the commit is complete, with its packed report in the scratch buffer; a promise
    /// of the packed report if it runs on another thread; false if an older commit has not ended: the caller lets
    /// `nextCommit` follow that one.
    #[napi(catch_unwind)]
    pub fn commit(
        &self,
        is_durable: bool,
        now_ms: f64,
    ) -> Result<Either<bool, Promise<Either<Uint8Array, String>>>> {
        let now_ms = now_ms as u64;
        self.call(|store| {
            store.with(|open| {
                match open.handle.begin_commit(durability(is_durable))? {
                    Begun::Empty => open.handle.report_empty()?,
                    Begun::Waits => return Ok(Either::A(false)),
                    Begun::Ready(commit) if commit.is_short() => {
                        open.handle.report(&commit.run(now_ms)?);
                    }
                    Begun::Ready(commit) => return Ok(Either::B(promise(store, commit, now_ms))),
                }
                Ok(Either::A(true))
            })
        })
    }

    /// Runs the oldest commit for which `commit` returned false.
    #[napi(catch_unwind)]
    pub fn next_commit(
        &self,
        is_durable: bool,
        now_ms: f64,
    ) -> Result<Promise<Either<Uint8Array, String>>> {
        self.call(|store| {
            let commit = store.with(|open| open.handle.next_commit(durability(is_durable)))?;
            Ok(promise(store, commit, now_ms as u64))
        })
    }

    #[napi(catch_unwind)]
    pub fn flush(&self, now_ms: f64) -> Result<Promise<String>> {
        self.job(move |core| {
            core.set_now(now_ms as u64);
            Ok(core.flush()?)
        })
    }

    #[napi(catch_unwind)]
    pub fn refresh(&self) -> Result<bool> {
        self.call(|store| Ok(store.store()?.refresh()?))
    }

    /// JSON at once if the store has nothing to write, else a promise of it.
    #[napi(catch_unwind)]
    pub fn close(&self, now_ms: f64) -> Result<Either<String, Promise<String>>> {
        self.call(|store| {
            store.store()?.set_now(now_ms as u64);
            Ok(match store.close()?.leave_if_unwritten() {
                Ok(left) => Either::A(answer(left.map_err(Into::into))),
                Err(shared) => Either::B(json_of(store.guard(), || Ok(shared.leave()?))),
            })
        })
    }
}

fn promise(store: &OpenStore, commit: Commit, now_ms: u64) -> Promise<Either<Uint8Array, String>> {
    Job::promise(store.guard(), move || Ok(commit.run(now_ms)?.pack().to_vec()))
}
