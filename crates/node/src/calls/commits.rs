//! Commits, and what else concerns them: what is buffered, flush, refresh, close.

use crate::node_api::{Answer, Arguments, Call, Functions};
use crate::store::NodeStore;
use varve_bindings::{Begun, Commit, Result, answer, durability_of};

/// Adds the functions of this file.
pub(crate) fn add(functions: Functions<NodeStore>) -> Result<Functions<NodeStore>> {
    let functions = functions.add::<PendingBytes>()?.add::<PendingEntries>()?.add::<BeginCommit>()?;
    let functions = functions.add::<NextCommit>()?.add::<Flush>()?.add::<Refresh>()?;
    functions.add::<Close>()
}

struct PendingBytes;
struct PendingEntries;
struct BeginCommit;
struct NextCommit;
struct Flush;
struct Refresh;
struct Close;

impl Call<NodeStore> for PendingBytes {
    const NAME: &'static str = "pendingBytes";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        store.with(|handle| handle.pending_bytes()).map(Answer::Count)
    }
}

impl Call<NodeStore> for PendingEntries {
    const NAME: &'static str = "pendingEntries";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        store.with(|handle| handle.pending_entries()).map(Answer::Count)
    }
}

/// Commits what is buffered:
///
/// - JSON if the commit is complete when the call returns, a promise of it if the commit runs on another thread;
/// - the count of damage if nothing is buffered;
/// - nothing if an older commit has not ended: the caller lets `nextCommit` follow that one.
impl Call<NodeStore> for BeginCommit {
    const NAME: &'static str = "commit";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (durability, now_ms) = (durability_of(&arguments.text(0)?)?, arguments.count(1)?);
        Ok(match store.with(|handle| handle.begin_commit(durability))? {
            Begun::Empty => Answer::Count(store.store()?.damage_count().into()),
            Begun::Waits => Answer::Nothing,
            Begun::Ready(commit) if commit.is_short() => Answer::Text(answer(commit.run(now_ms))),
            Begun::Ready(commit) => promise(store, commit, now_ms),
        })
    }
}

/// A promise of the oldest commit that waits.
impl Call<NodeStore> for NextCommit {
    const NAME: &'static str = "nextCommit";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (durability, now_ms) = (durability_of(&arguments.text(0)?)?, arguments.count(1)?);
        let commit = store.with(|handle| handle.next_commit(durability))?;
        Ok(promise(store, commit, now_ms))
    }
}

impl Call<NodeStore> for Flush {
    const NAME: &'static str = "flush";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let core = store.store()?;
        core.set_now(arguments.count(0)?);
        Ok(store.promise(move || Ok(core.flush()?)))
    }
}

impl Call<NodeStore> for Refresh {
    const NAME: &'static str = "refresh";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        Ok(Answer::Flag(store.store()?.refresh()?))
    }
}

/// JSON at once if the store has nothing to write, else a promise of it.
impl Call<NodeStore> for Close {
    const NAME: &'static str = "close";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        store.store()?.set_now(arguments.count(0)?);
        Ok(match store.close()?.leave_if_unwritten() {
            Ok(left) => Answer::Text(answer(left.map_err(Into::into))),
            Err(shared) => store.promise(move || Ok(shared.leave()?)),
        })
    }
}

fn promise(store: &NodeStore, commit: Commit, now_ms: u64) -> Answer {
    store.promise(move || commit.run(now_ms))
}
