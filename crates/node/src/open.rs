//! Calls that take long: each runs on a thread of libuv's pool and answers with one promise of JSON. The session stays
//! on its thread; a task carries the shared store only. Where the environment ends first, Node waits for the task and
//! drops its answer.

use crate::cold;
use crate::context::{Broken, Context, watched};
use crate::control;
use crate::files;
use crate::guard::guarded;
use crate::hot;
use crate::place::Seat;
use crate::raw::{Answer, Arguments, Call, Functions, Made};
use napi::bindgen_prelude::{AsyncTask, Uint8Array};
use napi::{Env, Task};
use napi_derive::napi;
use std::path::PathBuf;
use std::sync::Arc;
use varve_bindings::{Failure, Result, answer, durability_of, top};
use varve_core::failpoints;
use varve_core::{Key, Options, folder_of};

/// Opens the store in `folder`. The promise gives the functions of a session, or JSON with the failure.
#[napi(catch_unwind)]
pub(crate) fn open_store(
    folder: String,
    durability: String,
    read_only: bool,
    bytes_max: f64,
    secret: Option<Uint8Array>,
) -> AsyncTask<Open> {
    failpoints::panics("open-store");
    let (bytes_max, key) = (bytes_max as u64, key_of(secret));
    AsyncTask::new(Open { folder: folder.into(), durability, read_only, bytes_max, key })
}

/// The same at once, on JavaScript's thread, where little is to be read: the functions of a session, or nothing, and
/// then `open_store` says how it is.
#[napi(catch_unwind)]
pub(crate) fn open_small(
    env: &Env,
    folder: String,
    durability: String,
    read_only: bool,
    bytes_max: f64,
    secret: Option<Uint8Array>,
) -> Option<Made> {
    let (bytes_max, key) = (bytes_max as u64, key_of(secret));
    let open = Open { folder: folder.into(), durability, read_only, bytes_max, key };
    guarded(|| {
        failpoints::arm();
        failpoints::panics("open-small");
        let seat = Seat::open_small(&open.folder, &open.options()?)?;
        seat.map(|seat| session(env, seat)).transpose()
    })
    .ok()
    .flatten()
    .map(Made::Object)
}

/// The folder of a cache with that secret, or without, below the cache's own. Nothing where the secret is no key.
#[napi(catch_unwind)]
pub(crate) fn folder_name(secret: Option<Uint8Array>) -> Option<String> {
    key_of(secret).ok().map(|key| folder_of(key.as_ref()))
}

fn key_of(secret: Option<Uint8Array>) -> Result<Option<Key>> {
    Ok(secret.map(|secret| Key::new(&secret)).transpose()?)
}

/// The task of `open_store`.
#[derive(Debug)]
pub(crate) struct Open {
    folder: PathBuf,
    durability: String,
    read_only: bool,
    bytes_max: u64,
    key: Result<Option<Key>>,
}

impl Open {
    fn options(&self) -> Result<Options> {
        let durability = durability_of(&self.durability)?.unwrap_or_default();
        let (read_only, bytes_max, key) = (self.read_only, self.bytes_max, self.key.clone()?);
        Ok(Options { durability, read_only, bytes_max, key, ..Options::default() })
    }
}

impl Task for Open {
    type Output = Result<Seat>;
    type JsValue = Made;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(guarded(|| {
            failpoints::arm();
            failpoints::panics("open-task");
            Seat::open(&self.folder, &self.options()?)
        }))
    }

    fn resolve(&mut self, env: Env, seat: Self::Output) -> napi::Result<Made> {
        let made = guarded(|| {
            failpoints::panics("open-resolve");
            session(&env, seat?)
        });
        Ok(made.map_or_else(|failure| Made::Text(answer::<()>(Err(failure))), Made::Object))
    }
}

fn session(env: &Env, seat: Seat) -> Result<napi::sys::napi_value> {
    seat.sit()?;
    let functions = Functions::new(env, |scratch| Context::new(seat, scratch))?;
    let functions = functions.add::<hot::Get>()?.add::<hot::Take>()?.add::<hot::Has>()?;
    let functions = functions.add::<hot::Put>()?.add::<hot::Delete>()?.add::<hot::GetMany>()?;
    let functions = functions
        .add::<cold::Namespace>()?
        .add::<cold::Scan>()?
        .add::<cold::PendingBytes>()?
        .add::<cold::PendingEntries>()?
        .add::<cold::DamageCount>()?;
    let functions = functions.add::<cold::BeginCommit>()?.add::<cold::CommitNow>()?;
    let functions = functions.add::<cold::Refresh>()?.add::<cold::Status>()?;
    let functions = functions.add::<Commit>()?.add::<Flush>()?.add::<Compact>()?;
    let functions = functions.add::<control::BeginWatch>()?.add::<control::WatchDone>()?;
    let functions = functions.add::<control::WatchTotal>()?.add::<control::CancelWatch>()?;
    let functions = functions.add::<control::EndWatch>()?;
    let functions = files::add(functions)?;
    let functions = functions.add::<cold::BeginExport>()?.add::<cold::ExportChunk>()?;
    let functions = functions.add::<cold::BeginImport>()?.add::<cold::FeedImport>()?.add::<CommitImport>()?;
    let functions = functions.add::<cold::FinishImport>()?.add::<cold::EndTransfer>()?;
    let functions = functions.add::<Stats>()?.add::<Top>()?.add::<Verify>()?.add::<Repair>()?;
    let functions = functions.add::<GetManyAsync>()?;
    Ok(functions.add::<Close>()?.finish())
}

type Job = Box<dyn FnOnce() -> Result<Reply> + Send>;

/// What a long call answers with.
pub(crate) enum Reply {
    /// JSON.
    Text(String),
    Bytes(Vec<u8>),
}

/// One long call, to be run on another thread.
pub(crate) struct Work {
    /// None once it ran.
    job: Option<Job>,
    broken: Broken,
}

impl Work {
    pub(crate) fn promise(context: &Context, job: impl FnOnce() -> Result<String> + Send + 'static) -> Answer {
        Self::reply(context, move || Ok(Reply::Text(job()?)))
    }

    fn reply(context: &Context, job: impl FnOnce() -> Result<Reply> + Send + 'static) -> Answer {
        Answer::Promise(Self { job: Some(Box::new(job)), broken: Arc::clone(context.broken()) })
    }
}

impl Task for Work {
    type Output = Reply;
    type JsValue = Made;

    fn compute(&mut self) -> napi::Result<Reply> {
        let failed = |failure| Reply::Text(answer::<()>(Err(failure)));
        let Some(job) = self.job.take() else { return Ok(failed(Failure::internal("a task ran twice"))) };
        let run = || {
            failpoints::panics("task");
            job()
        };
        Ok(watched(&self.broken, run).unwrap_or_else(failed))
    }

    fn resolve(&mut self, _env: Env, reply: Reply) -> napi::Result<Made> {
        Ok(match reply {
            Reply::Text(json) => Made::Text(json),
            Reply::Bytes(bytes) => Made::Bytes(bytes),
        })
    }
}

impl Drop for Work {
    /// A job that never ran, because the environment ended first, takes what it holds along: that may panic.
    fn drop(&mut self) {
        let job = self.job.take();
        let _ = guarded(|| {
            drop(job);
            Ok(())
        });
    }
}

struct Commit;
struct CommitImport;
struct Flush;
struct Compact;
struct Stats;
struct Top;
struct Verify;
struct Repair;
struct GetManyAsync;
struct Close;

/// Runs the oldest commit that was begun. The caller lets one follow the other, which keeps their order.
impl Call for Commit {
    const NAME: &'static str = "commit";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (durability, now_ms) = (durability_of(&arguments.text(0)?)?, arguments.count(1)?);
        let commit = context.with(|desk| desk.session.next_commit())?;
        Ok(Work::promise(context, move || Ok(answer(Ok(commit.run(durability, now_ms)?)))))
    }
}

/// Commits what an import has; the report is null where it has nothing.
impl Call for CommitImport {
    const NAME: &'static str = "commitImport";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (number, now_ms) = (arguments.number(0)?, arguments.count(1)?);
        let commit = context.with(|desk| desk.session.commit_import(number))?;
        Ok(Work::promise(context, move || Ok(answer(Ok(commit.map(|commit| commit.run(None, now_ms)).transpose()?)))))
    }
}

impl Call for Flush {
    const NAME: &'static str = "flush";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let store = context.store()?;
        store.set_now(arguments.count(0)?);
        Ok(Work::promise(context, move || Ok(answer(Ok(store.flush()?)))))
    }
}

impl Call for Compact {
    const NAME: &'static str = "compact";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let full = arguments.flag(0)?;
        let progress = context.progress(arguments.number(1)?)?;
        let store = context.store()?;
        store.set_now(arguments.count(2)?);
        Ok(Work::promise(context, move || {
            let watch = |done, total| progress.report(done, total);
            Ok(answer(Ok(store.compact(full, &watch)?)))
        }))
    }
}

impl Call for Stats {
    const NAME: &'static str = "stats";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        let store = context.store()?;
        Ok(Work::promise(context, move || Ok(answer(Ok(store.stats()?)))))
    }
}

impl Call for Top {
    const NAME: &'static str = "top";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (store, options) = (context.store()?, arguments.text(0)?);
        Ok(Work::promise(context, move || Ok(answer(top(&store, &options)))))
    }
}

impl Call for Verify {
    const NAME: &'static str = "verify";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let progress = context.progress(arguments.number(0)?)?;
        let store = context.store()?;
        Ok(Work::promise(context, move || {
            let watch = |done, total| progress.report(done, total);
            Ok(answer(Ok(store.verify(&watch)?)))
        }))
    }
}

impl Call for Repair {
    const NAME: &'static str = "repair";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let dry_run = arguments.flag(0)?;
        let progress = context.progress(arguments.number(1)?)?;
        let store = context.store()?;
        Ok(Work::promise(context, move || {
            let watch = |done, total| progress.report(done, total);
            Ok(answer(Ok(store.repair(dry_run, &watch)?)))
        }))
    }
}

/// The answer of `getMany` as a promise of its bytes.
impl Call for GetManyAsync {
    const NAME: &'static str = "getManyAsync";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (namespace, keys, key_ends) = (arguments.number(0)?, arguments.bytes(1)?, arguments.words(2)?);
        let reads = context.with(|desk| desk.session.begin_reads(namespace, keys, key_ends))?;
        Ok(Work::reply(context, move || Ok(Reply::Bytes(reads.run()?))))
    }
}

/// JSON at once where nothing is to be written, else a promise of it.
impl Call for Close {
    const NAME: &'static str = "close";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        context.store()?.set_now(arguments.count(0)?);
        let seat = match context.close()?.leave_now() {
            Ok(left) => return Ok(Answer::Text(answer(left))),
            Err(seat) => seat,
        };
        Ok(Work::promise(context, move || Ok(answer(Ok(seat.leave()?)))))
    }
}
