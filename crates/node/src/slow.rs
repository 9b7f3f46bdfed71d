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
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Task};
use napi_derive::napi;
use std::path::PathBuf;
use std::sync::Arc;
use varve_core::Options;
use varve_door::{Failure, Result, answer, durability_of};

/// Opens the store in `folder`. The promise gives the functions of a session, or JSON with the failure.
#[napi(catch_unwind)]
pub(crate) fn open_store(folder: String, durability: String, read_only: bool, bytes_max: f64) -> AsyncTask<Open> {
    let bytes_max = bytes_max as u64;
    AsyncTask::new(Open { folder: folder.into(), durability, read_only, bytes_max })
}

/// The task of `open_store`.
#[derive(Debug)]
pub(crate) struct Open {
    folder: PathBuf,
    durability: String,
    read_only: bool,
    bytes_max: u64,
}

impl Open {
    fn open(&self) -> Result<Seat> {
        let durability = durability_of(&self.durability)?.unwrap_or_default();
        let (read_only, bytes_max) = (self.read_only, self.bytes_max);
        Seat::open(&self.folder, &Options { durability, read_only, bytes_max, ..Options::default() })
    }
}

impl Task for Open {
    type Output = Result<Seat>;
    type JsValue = Made;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(guarded(|| self.open()))
    }

    fn resolve(&mut self, env: Env, seat: Self::Output) -> napi::Result<Made> {
        let made = guarded(|| session(&env, seat?));
        Ok(made.map_or_else(|failure| Made::Text(answer::<()>(Err(failure))), Made::Object))
    }
}

fn session(env: &Env, seat: Seat) -> Result<napi::sys::napi_value> {
    let functions = Functions::new(env, |scratch| Context::new(seat, scratch))?;
    let functions = functions.add::<hot::Get>()?.add::<hot::Take>()?.add::<hot::Has>()?;
    let functions = functions.add::<hot::Put>()?.add::<hot::Delete>()?.add::<hot::GetMany>()?;
    let functions = functions.add::<cold::Namespace>()?.add::<cold::Scan>()?.add::<cold::PendingBytes>()?;
    let functions = functions.add::<cold::BeginCommit>()?.add::<cold::CommitNow>()?;
    let functions = functions.add::<cold::Refresh>()?.add::<cold::Status>()?;
    let functions = functions.add::<Commit>()?.add::<Flush>()?.add::<Compact>()?;
    let functions = functions.add::<control::BeginWatch>()?.add::<control::WatchDone>()?;
    let functions = functions.add::<control::WatchTotal>()?.add::<control::CancelWatch>()?;
    let functions = functions.add::<control::EndWatch>()?;
    let functions = files::add(functions)?;
    Ok(functions.add::<Stats>()?.add::<Verify>()?.add::<Close>()?.finish())
}

type Job = Box<dyn FnOnce() -> Result<String> + Send>;

/// One long call, to be run on another thread.
pub(crate) struct Work {
    /// None once it ran.
    job: Option<Job>,
    broken: Broken,
}

impl Work {
    pub(crate) fn promise(context: &Context, job: impl FnOnce() -> Result<String> + Send + 'static) -> Answer {
        Answer::Promise(Self { job: Some(Box::new(job)), broken: Arc::clone(context.broken()) })
    }
}

impl Task for Work {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> napi::Result<String> {
        let Some(job) = self.job.take() else { return Ok(answer::<()>(Err(Failure::internal("a task ran twice")))) };
        Ok(watched(&self.broken, job).unwrap_or_else(|failure| answer::<()>(Err(failure))))
    }

    fn resolve(&mut self, _env: Env, json: String) -> napi::Result<String> {
        Ok(json)
    }
}

struct Commit;
struct Flush;
struct Compact;
struct Stats;
struct Verify;
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

impl Call for Flush {
    const NAME: &'static str = "flush";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        let store = context.store()?;
        Ok(Work::promise(context, move || Ok(answer(Ok(store.flush()?)))))
    }
}

impl Call for Compact {
    const NAME: &'static str = "compact";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let full = arguments.flag(0)?;
        let progress = context.progress(arguments.number(1)?)?;
        let store = context.store()?;
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

impl Call for Close {
    const NAME: &'static str = "close";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        let seat = context.close()?;
        Ok(Work::promise(context, move || Ok(answer(Ok(seat.leave()?)))))
    }
}
