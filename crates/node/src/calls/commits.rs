//! Commits, and what else concerns them: what is buffered, flush, refresh, close.

use crate::node_api::{Answer, Arguments, Call, Methods, Reply};
use crate::store::NodeStore;
use std::ffi::CStr;
use varve_bindings::{Begun, Commit, Result, answer, durability};

/// Adds the methods of this file.
pub(crate) fn add(methods: Methods<NodeStore>) -> Methods<NodeStore> {
    methods
        .add::<PendingBytes>()
        .add::<PendingEntries>()
        .add::<BeginCommit>()
        .add::<NextCommit>()
        .add::<Flush>()
        .add::<Refresh>()
        .add::<Close>()
}

struct PendingBytes;
struct PendingEntries;
struct BeginCommit;
struct NextCommit;
struct Flush;
struct Refresh;
struct Close;

impl Call<NodeStore> for PendingBytes {
    const NAME: &'static CStr = c"pendingBytes";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        store.with(|handle| handle.pending_bytes()).map(Answer::Count)
    }
}

impl Call<NodeStore> for PendingEntries {
    const NAME: &'static CStr = c"pendingEntries";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        store.with(|handle| handle.pending_entries()).map(Answer::Count)
    }
}

/// Commits what is buffered:
///
/// - true if the commit is complete when the call returns; its packed report is in the scratch buffer;
/// - a promise of the packed report if the commit runs on another thread;
/// - false if an older commit has not ended: the caller lets `nextCommit` follow that one.
impl Call<NodeStore> for BeginCommit {
    const NAME: &'static CStr = c"commit";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (durability, now_ms) = (durability(arguments.flag(0)?), arguments.count(1)?);
        store.with(|handle| {
            match handle.begin_commit(durability)? {
                Begun::Empty => handle.report_empty()?,
                Begun::Waits => return Ok(Answer::Flag(false)),
                Begun::Ready(commit) if commit.is_short() => handle.report(&commit.run(now_ms)?),
                Begun::Ready(commit) => return Ok(promise(store, commit, now_ms)),
            }
            Ok(Answer::Flag(true))
        })
    }
}

/// A promise of the oldest commit that waits.
impl Call<NodeStore> for NextCommit {
    const NAME: &'static CStr = c"nextCommit";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (durability, now_ms) = (durability(arguments.flag(0)?), arguments.count(1)?);
        let commit = store.with(|handle| handle.next_commit(durability))?;
        Ok(promise(store, commit, now_ms))
    }
}

impl Call<NodeStore> for Flush {
    const NAME: &'static CStr = c"flush";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let core = store.store()?;
        core.set_now(arguments.count(0)?);
        Ok(store.promise(move || Ok(core.flush()?)))
    }
}

impl Call<NodeStore> for Refresh {
    const NAME: &'static CStr = c"refresh";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        Ok(Answer::Flag(store.store()?.refresh()?))
    }
}

/// JSON at once if the store has nothing to write, else a promise of it.
impl Call<NodeStore> for Close {
    const NAME: &'static CStr = c"close";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        store.store()?.set_now(arguments.count(0)?);
        Ok(match store.close()?.leave_if_unwritten() {
            Ok(left) => Answer::Text(answer(left.map_err(Into::into))),
            Err(shared) => store.promise(move || Ok(shared.leave()?)),
        })
    }
}

fn promise(store: &NodeStore, commit: Commit, now_ms: u64) -> Answer {
    store.promise_reply(move || Ok(Reply::Bytes(commit.run(now_ms)?.pack().to_vec())))
}
