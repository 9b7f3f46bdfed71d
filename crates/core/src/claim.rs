//! Taking a number as a writer: create a log that nobody has, lock it, and look again whether it is really ours.
//!
//! 1. The number is above every number in the folder and not below the manifest's `next writer`.
//! 2. `create_new` fails if another one was faster.
//! 3. The lock says to others that the writer lives. Where there are no locks the log says so, and its writer looks for
//!    its name after every append instead.
//! 4. The folder may have moved on between 1 and 3: the number may have been used, folded and forgotten. Then a file
//!    `<n>-<by>.taken` is still there, or a manifest says that `n` is folded, or our log has been taken already.
//! 5. If there will be commits: what other writers left behind is made durable, and our log says how far it goes. Our
//!    commits may rest on it, and must not outlive it.

use crate::begin::begin;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::format::names::FileName;
use crate::format::order::WRITER_MAX;
use crate::log::LogWriter;
use crate::planted;
use crate::state::{State, outline};
use std::io;

const ATTEMPTS: u32 = 256;

/// A log for commits.
pub(crate) fn claim_log(context: &Context, known: &State) -> Result<LogWriter> {
    let (mut log, mut state) = claim_number(context, known)?;
    state.sync_others(context, Some(log.writer))?;
    let name = FileName::Log(log.writer).to_string();
    log.see(&state.seen(context, log.writer)).map_err(|source| Error::io("append to", &name, source))?;
    Ok(log)
}

/// A log that only keeps its number, with what was in the folder when it was ours. The folder's first manifest is
/// published on the way.
pub(crate) fn claim_number(context: &Context, known: &State) -> Result<(LogWriter, State)> {
    planted::panics("claim-log");
    // Who has a log has seen to it.
    if known.manifest.is_first() && known.logs.is_empty() && !known.lost {
        begin(context)?;
    }
    let found = outline(context, known)?;
    let (mut next, mut id) = (found.next_writer_seen, found.manifest.id);
    for _ in 0..ATTEMPTS {
        if next > WRITER_MAX - 64 {
            return Err(Error::Exhausted { field: "writers", limit: u64::from(WRITER_MAX) });
        }
        let writer = next;
        next += 1;
        let name = FileName::Log(writer).to_string();
        let wrap = |operation| move |source| Error::io(operation, &FileName::Log(writer).to_string(), source);
        let file = match context.vfs.create_new(&name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(source) => return Err(Error::io("create", &name, source)),
        };
        let locked = match file.try_lock() {
            Ok(true) => true,
            // A participant looked at it before we held it; it will take it away.
            Ok(false) => continue,
            Err(error) if error.kind() == io::ErrorKind::Unsupported => false,
            Err(source) => return Err(Error::io("lock", &name, source)),
        };
        let log = LogWriter::start(file, context.checksum, writer, id, locked).map_err(wrap("write"))?;
        let state = outline(context, known)?;
        let mut same = state.logs.iter().filter(|view| view.writer == writer);
        let is_ours = same.next().is_some_and(|view| view.name == FileName::Log(writer)) && same.next().is_none();
        if is_ours && state.manifest.open_log(writer).is_some_and(|known| known.id == id) {
            return Ok((log, state));
        }
        (next, id) = (next.max(state.next_writer_seen), state.manifest.id);
        if is_ours {
            // The cache has begun afresh meanwhile. The log may be listed by now; it stays, and is worth nothing.
            continue;
        }
        match context.vfs.remove(&name) {
            // It was taken, or swept away.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", &name, error)),
            _ => {}
        }
    }
    Err(Error::Busy { operation: "create a log", attempts: ATTEMPTS })
}
