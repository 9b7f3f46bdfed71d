//! Claiming a log; FORMAT.md, "The protocol", section 2. The writer creates a log under a free number, locks it, and
//! checks that it counts.
//!
//! ```text
//!  manifest   choose    create
//!  sure? ---> <w> ----> <w>.log -> lock -> start -> list: does it count? -> sync other logs, SEEN -> commits
//!  1          2         3 |        4       5        6 |                     7
//!             ^-----------+---------------------------+
//! ```
//! 1. The writer makes sure that the directory has a sure and durable manifest (`writer/create.rs`). While an older one
//!    is there, the newest may not be durable.
//! 2. It chooses a number above every number in the directory and not below the manifest's `next writer`. The rank of
//!    the number differs from those of all open logs (`format/sequence.rs`).
//! 3. It creates the log, which fails if another process was faster.
//! 4. It locks the log, which shows other processes that the writer lives. If the file system has no locks, the start
//!    records that.
//! 5. It writes the start, which names the manifest of step 1.
//! 6. It lists the directory again. The log counts if it has its name alone and if the newest manifest is sure, and is
//!    that of step 5 or lists the log. Otherwise the writer leaves the log without a commit: another process has used
//!    the number or published a manifest.
//! 7. For commits, the writer syncs the logs of other writers and records how many bytes each has. Commits may rest on
//!    those logs and must not outlive them.
//!
//! A log that does not count stays in the directory, so that its number is not reused before a manifest covers it.

use crate::error::{Error, Result};
use crate::format::file_names::{FileName, WRITERS_MAX};
use crate::format::sequence::rank_of_writer;
use crate::log::{LogStart, LogWriter};
use crate::platform::failpoints;
use crate::state::context::Context;
use crate::state::{Known, State, outline};
use crate::writer::create::begin;
use crate::writer::exhausted::{is_exhausted, start_over};
use std::io;

/// Numbers tried before a claim fails.
const ATTEMPTS: u32 = 256;

/// A log, and the outline of the directory in which it was found to count.
pub(crate) type Claim = (LogWriter, State);

/// Claims a log for commits. `None` = the cache is unrecoverable and must be reset first.
pub(crate) fn claim_log(context: &Context, known: &Known) -> Result<Option<Claim>> {
    let Some((mut log, mut state)) = claim_number(context, known)? else { return Ok(None) };
    state.sync_others(context, Some(log.writer))?;
    log.see(state.seen(context, log.writer))
        .map_err(|source| Error::io("append to", &log.name, source))?;
    Ok(Some((log, state)))
}

/// Claims a log that only reserves its number; publishes the first manifest if there is none. `None` = as for
/// `claim_log`.
pub(crate) fn claim_number(context: &Context, known: &Known) -> Result<Option<Claim>> {
    failpoints::panics("claim-log");
    let mut found = outline(context, known)?;
    let mut next = found.next_writer_seen;
    let mut durable = None;
    for _ in 0..ATTEMPTS {
        if is_exhausted(&found) {
            start_over(context)?;
            found = outline(context, known)?;
            next = found.next_writer_seen;
        }
        if found.unrecoverable {
            return Ok(None);
        }
        // After a power failure, a log whose manifest is lost would count as that of another copy of the cache.
        if !found.is_sure() || found.may_lose_manifest() && durable != Some(found.manifest.number) {
            durable = begin(context)?;
            found = outline(context, known)?;
            continue;
        }
        let ranks: Vec<u16> = found.logs.iter().map(|view| rank_of_writer(view.writer)).collect();
        let Some(writer) =
            (next..WRITERS_MAX).find(|writer| !ranks.contains(&rank_of_writer(*writer)))
        else {
            return Err(
                Error::Exhausted { field: "writers", limit: u64::from(WRITERS_MAX) }.boxed()
            );
        };
        next = writer + 1;
        if let Some(log) = create(context, &found, writer)? {
            found = outline(context, known)?;
            if is_ours(&found, &log) {
                return Ok(Some((log, found)));
            }
            next = next.max(found.next_writer_seen);
        }
    }
    Err(Error::Busy { operation: "create a log", attempts: ATTEMPTS }.boxed())
}

/// Creates the log of that number. `None` = another process has it.
fn create(context: &Context, found: &State, writer: u32) -> Result<Option<LogWriter>> {
    let name = FileName::Log(writer).to_string();
    let wrap =
        |operation| move |source| Error::io(operation, &FileName::Log(writer).to_string(), source);
    let file = match context.vfs.create_new(&name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        Err(source) => return Err(wrap("create")(source)),
    };
    let locked = match file.try_lock() {
        Ok(true) => true,
        // Another process tested the lock before this one held it, and will claim the log.
        Ok(false) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => false,
        Err(source) => return Err(wrap("lock")(source)),
    };
    let Some(created) = context.vfs.stat(&name).map_err(wrap("check"))? else { return Ok(None) };
    let layered = !context.options.layers.is_empty();
    let start = LogStart { locked, layered, id: context.new_id(), base: found.manifest.id };
    let checksum = found.checksum_of(context, FileName::Log(writer));
    LogWriter::start(file, created, checksum, writer, start).map(Some).map_err(wrap("write"))
}

fn is_ours(found: &State, log: &LogWriter) -> bool {
    let mut same = found.logs.iter().filter(|view| view.writer == log.writer);
    let is_alone = same.next().is_some_and(|view| view.name == FileName::Log(log.writer))
        && same.next().is_none();
    is_alone && found.is_sure() && found.has_claimed(log)
}
