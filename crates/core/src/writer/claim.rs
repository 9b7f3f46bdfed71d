//! Claiming a number as a writer: create a log under a number that is free, lock it, and check that it counts.
//!
//! 1. The directory has a manifest that is sure and durable (`create.rs`).
//! 2. The number is above every number in the directory and not below the manifest's `next writer`. Its rank differs
//!    from those of all logs that count (`format/sequence.rs`).
//! 3. `create_new` fails if another process was faster.
//! 4. The lock shows others that the writer lives. Without locks the log says so.
//! 5. The start of the log names the manifest of step 1.
//! 6. The directory may have moved on meanwhile: the number may have been used and folded, or there may be a newer
//!    manifest. The log is ours if it has its name alone, and if the newest manifest is sure and is that of step 5, or
//!    lists the log.
//! 7. For commits: what other writers left behind is made durable, and the log says how far each of their logs goes.
//!    Commits may rest on it, and must not outlive it.
//!
//! A log that turns out to be of no use stays, so that its number is not given out again before a manifest covers it.

use crate::error::{Error, Result};
use crate::format::file_names::FileName;
use crate::format::sequence::{WRITER_MAX, rank_of_writer};
use crate::log::{LogStart, LogWriter};
use crate::platform::failpoints;
use crate::state::context::Context;
use crate::state::{State, outline};
use crate::writer::create::begin;
use std::collections::HashSet;
use std::io;

const ATTEMPTS: u32 = 256;

/// The numbers above are for those who begin a cache.
const WRITERS_MAX: u32 = WRITER_MAX - 64;

/// A log, and what was in the directory when it was found to count.
pub(crate) type Claim = (LogWriter, State);

/// A log for commits. `None` = the cache is lost and has to start afresh first.
pub(crate) fn claim_log(context: &Context, known: &State) -> Result<Option<Claim>> {
    let Some((mut log, mut state)) = claim_number(context, known)? else { return Ok(None) };
    state.sync_others(context, Some(log.writer))?;
    let name = FileName::Log(log.writer).to_string();
    log.see(&state.seen(context, log.writer)).map_err(|source| Error::io("append to", &name, source))?;
    Ok(Some((log, state)))
}

/// A log that only keeps its number. The first manifest is published on the way. `None` likewise.
pub(crate) fn claim_number(context: &Context, known: &State) -> Result<Option<Claim>> {
    failpoints::panics("claim-log");
    let mut found = outline(context, known)?;
    let mut next = found.next_writer_seen;
    for _ in 0..ATTEMPTS {
        if found.lost {
            return Ok(None);
        }
        if !found.is_sure() || found.manifest.is_first() && found.logs.is_empty() {
            begin(context)?;
            found = outline(context, known)?;
        }
        let ranks: HashSet<u16> = found.logs.iter().map(|view| rank_of_writer(view.writer)).collect();
        let Some(writer) = (next..WRITERS_MAX).find(|writer| !ranks.contains(&rank_of_writer(*writer))) else {
            return Err(Error::Exhausted { field: "writers", limit: u64::from(WRITERS_MAX) });
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
    Err(Error::Busy { operation: "create a log", attempts: ATTEMPTS })
}

/// Creates the log of that number. `None` = another process has it.
fn create(context: &Context, found: &State, writer: u32) -> Result<Option<LogWriter>> {
    let name = FileName::Log(writer).to_string();
    let wrap = |operation| move |source| Error::io(operation, &FileName::Log(writer).to_string(), source);
    let file = match context.vfs.create_new(&name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        Err(source) => return Err(wrap("create")(source)),
    };
    let locked = match file.try_lock() {
        Ok(true) => true,
        // Another process looked at it before it was locked, and will take it.
        Ok(false) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => false,
        Err(source) => return Err(wrap("lock")(source)),
    };
    let Some(created) = context.vfs.stat(&name).map_err(wrap("look for"))? else { return Ok(None) };
    let start = LogStart { locked, id: context.new_id(), base: found.manifest.id };
    let checksum = found.checksum_of(context, FileName::Log(writer));
    LogWriter::start(file, created, checksum, writer, start).map(Some).map_err(wrap("write"))
}

fn is_ours(found: &State, log: &LogWriter) -> bool {
    let mut same = found.logs.iter().filter(|view| view.writer == log.writer);
    let is_alone = same.next().is_some_and(|view| view.name == FileName::Log(log.writer)) && same.next().is_none();
    is_alone && found.is_sure() && found.has_claimed(log)
}
