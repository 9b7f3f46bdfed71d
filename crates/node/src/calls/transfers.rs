//! Calls that are rare and done when they return.

use crate::context::Context;
use crate::raw::{Answer, Arguments, Call};
use varve_bindings::{Result, answer, durability_of};

pub(crate) struct Namespace;
pub(crate) struct Scan;
pub(crate) struct PendingBytes;
pub(crate) struct PendingEntries;
pub(crate) struct DamageCount;
pub(crate) struct BeginCommit;
pub(crate) struct CommitNow;
pub(crate) struct Refresh;
pub(crate) struct Status;
pub(crate) struct BeginExport;
pub(crate) struct ExportChunk;
pub(crate) struct BeginImport;
pub(crate) struct FeedImport;
pub(crate) struct FinishImport;
pub(crate) struct EndTransfer;

impl Call for Namespace {
    const NAME: &'static str = "namespace";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (name, version) = (arguments.text(0)?, arguments.text(1)?);
        context.with(|desk| desk.session.namespace(&name, &version)).map(|number| Answer::Count(number.into()))
    }
}

/// The answer is held; returns its length.
impl Call for Scan {
    const NAME: &'static str = "scan";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (namespace, cursor, bytes_max) = (arguments.number(0)?, arguments.big(1)?, arguments.count(2)?);
        context.with(|desk| desk.session.scan(namespace, cursor, bytes_max)).map(Answer::Number)
    }
}

impl Call for PendingBytes {
    const NAME: &'static str = "pendingBytes";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        context.with(|desk| desk.session.pending_bytes()).map(Answer::Count)
    }
}

impl Call for PendingEntries {
    const NAME: &'static str = "pendingEntries";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        context.with(|desk| desk.session.pending_entries()).map(Answer::Count)
    }
}

impl Call for DamageCount {
    const NAME: &'static str = "damageCount";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        context.with(|desk| desk.session.damage_count()).map(|count| Answer::Count(count.into()))
    }
}

/// Takes what is buffered for a commit; `false` where nothing is.
impl Call for BeginCommit {
    const NAME: &'static str = "beginCommit";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        context.with(|desk| desk.session.begin_commit()).map(Answer::Flag)
    }
}

/// Runs the oldest commit that was begun, on this thread.
impl Call for CommitNow {
    const NAME: &'static str = "commitNow";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (durability, now_ms) = (durability_of(&arguments.text(0)?)?, arguments.count(1)?);
        let commit = context.with(|desk| desk.session.next_commit())?;
        Ok(Answer::Text(answer(commit.run(durability, now_ms).map_err(Into::into))))
    }
}

impl Call for Refresh {
    const NAME: &'static str = "refresh";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        Ok(Answer::Flag(context.store()?.refresh()?))
    }
}

impl Call for Status {
    const NAME: &'static str = "status";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        Ok(Answer::Text(answer(Ok(context.store()?.status()))))
    }
}

/// Returns the number of the export.
impl Call for BeginExport {
    const NAME: &'static str = "beginExport";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let options = arguments.text(0)?;
        context.with(|desk| desk.session.begin_export(&options)).map(|number| Answer::Count(number.into()))
    }
}

/// The chunk is held; returns JSON with its length.
impl Call for ExportChunk {
    const NAME: &'static str = "exportChunk";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let number = arguments.number(0)?;
        Ok(Answer::Text(answer(context.with(|desk| desk.session.export_chunk(number)))))
    }
}

/// Returns the number of the import.
impl Call for BeginImport {
    const NAME: &'static str = "beginImport";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let may_replace = arguments.flag(0)?;
        context.with(|desk| desk.session.begin_import(may_replace)).map(|number| Answer::Count(number.into()))
    }
}

impl Call for FeedImport {
    const NAME: &'static str = "feedImport";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let (number, piece) = (arguments.number(0)?, arguments.bytes(1)?);
        Ok(Answer::Text(answer(context.with(|desk| desk.session.feed_import(number, piece)))))
    }
}

impl Call for FinishImport {
    const NAME: &'static str = "finishImport";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let number = arguments.number(0)?;
        Ok(Answer::Text(answer(context.with(|desk| desk.session.finish_import(number)))))
    }
}

/// Lets go of an export or an import.
impl Call for EndTransfer {
    const NAME: &'static str = "endTransfer";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let number = arguments.number(0)?;
        context.with(|desk| {
            desk.session.end_transfer(number);
            Ok(Answer::Nothing)
        })
    }
}
