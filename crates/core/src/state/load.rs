//! Loading the newest committed state. The directory may change at any moment: if a file vanishes between two steps,
//! another process has published a newer manifest, and the load starts again.

use super::current_manifest::{NewestManifest, newest_manifest};
use super::lineage::foreign_logs;
use super::{Known, LiveTable, LogView, State};
use crate::error::{Error, Result};
use crate::format::file_names::{FileName, highest_manifest};
use crate::format::order;
use crate::log::{LastFrame, Stop, read_head, scan};
use crate::manifest::Manifest;
use crate::platform::failpoints;
use crate::platform::vfs::Access;
use crate::report::Damage;
use crate::state::context::Context;
use crate::table::{Origin, Table, TableMeta};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

/// Consecutive tries that find the same names before a missing file counts as damage. In a race, the other process
/// changes the names.
const ATTEMPTS: u32 = 16;

/// Tries in total.
const RACES: u32 = 1000;

/// Tries before a gap in the numbers of logs is accepted, or a log that ends too early counts as damage. The file that
/// refers to the end is read after the log, so the second try should see all of it.
const GAP_ATTEMPTS: u32 = 4;

/// Loads the newest state. What is `known` is not read again.
pub(crate) fn load(context: &Context, known: &Known) -> Result<State> {
    failpoints::panics("load");
    read(context, State::default, known)
}

/// Loads only which numbers are in use and how far each log goes, without tables and entries.
pub(crate) fn outline(context: &Context, known: &Known) -> Result<State> {
    read(context, || State { is_outline: true, ..State::default() }, known)
}

fn read(context: &Context, empty: fn() -> State, known: &Known) -> Result<State> {
    let (mut attempts, mut tried) = (Attempts::default(), None);
    for _ in 0..RACES {
        let mut state = empty();
        if read_folder(context, &mut state, tried.as_ref().unwrap_or(known), &mut attempts)? {
            return Ok(state);
        }
        // Otherwise processes that publish and append faster than all logs are read would keep this one from ending.
        if !state.logs.is_empty() {
            tried = Some(state.known());
        }
    }
    Err(Error::Busy { operation: "read the cache", attempts: RACES }.boxed())
}

/// Distinguishes damage, which stays, from a race with another process.
#[derive(Default)]
struct Attempts {
    names: Vec<FileName>,
    /// Consecutive tries that found these names.
    attempt: u32,
}

impl Attempts {
    fn next(&mut self, names: &[FileName]) -> u32 {
        let names = sorted(names);
        self.attempt = if self.names == names { self.attempt + 1 } else { 1 };
        self.names = names;
        self.attempt
    }
}

fn sorted(names: &[FileName]) -> Vec<FileName> {
    let mut sorted = names.to_vec();
    order::sort_by(&mut sorted, Ord::cmp);
    sorted
}

/// Names in the directory that belong to the format.
pub(crate) fn list(context: &Context) -> Result<Vec<FileName>> {
    let names =
        context.vfs.list().map_err(|source| Error::io("list", "the cache directory", source))?;
    Ok(names.iter().filter_map(|name| FileName::parse(name)).collect())
}

/// Loads once. `false` = a file vanished meanwhile. On the `last` attempt a missing file is damage.
fn read_folder(
    context: &Context,
    state: &mut State,
    known: &Known,
    attempts: &mut Attempts,
) -> Result<bool> {
    let names = list(context)?;
    let attempt = attempts.next(&names);
    let last = attempt >= ATTEMPTS;
    let mut damaged = Vec::new();
    state.manifest_seen = highest_manifest(&names);
    state.has_older_manifest = names.iter().filter_map(|name| name.manifest()).count() > 1;
    for name in &names {
        if let Some(writer) = name.writer_max().filter(|_| !matches!(name, FileName::Temporary(_)))
        {
            state.next_writer_seen = state.next_writer_seen.max(writer + 1);
        }
    }
    match newest_manifest(&*context.vfs, &context.checksum, &names)? {
        NewestManifest::Found(manifest, file) => {
            (state.manifest, state.manifest_file) = (manifest, file)
        }
        NewestManifest::Vanished if !last => return Ok(false),
        // The cache is empty, or processes are creating it and no manifest is whole yet.
        NewestManifest::None if state.next_writer_seen == 0 => return Ok(true),
        // The manifest may have been replaced while the directory was listed.
        NewestManifest::None if !last => return Ok(false),
        NewestManifest::None | NewestManifest::Vanished => {
            damaged.push(("manifest".to_owned(), "missing manifest"));
        }
        NewestManifest::Damaged(file) => {
            state.manifest_file = file;
            damaged.push((file.name(), "manifest"));
        }
    }
    state.next_writer_seen = state.next_writer_seen.max(state.manifest.next_writer);
    state.last_sequence = state.manifest.sequence_max();
    if attempt < GAP_ATTEMPTS && has_gap(state, &names) {
        return Ok(false);
    }
    if !(state.is_outline || open_tables(context, state, known, last)?)
        || !read_logs(context, state, known, &names, last)?
    {
        return Ok(false);
    }
    if !last && (state.vanished || is_outdated(context, state, &names)?) {
        return Ok(false);
    }
    // If something is damaged already, further damage makes no difference.
    let misfit =
        if state.unrecoverable || known_manifest(state).is_none() { None } else { state.misfit() };
    if let Some((writer, what)) = misfit {
        if attempt < GAP_ATTEMPTS {
            return Ok(false);
        }
        damaged.push(damage_log(state, writer, what));
    }
    state.unrecoverable |= !damaged.is_empty();
    for (name, what) in damaged {
        context.damage.add(Damage::new(name, 0, what));
    }
    Ok(true)
}

/// Whether the directory, listed again, has a newer manifest, or a log that the first list missed because it was being
/// renamed. If ghosts may have been read, any change counts.
fn is_outdated(context: &Context, state: &State, names: &[FileName]) -> Result<bool> {
    let now = list(context)?;
    let known: HashSet<u32> = names.iter().filter_map(|name| name.log_writer()).collect();
    let counts = |writer: &u32| !known.contains(writer) && state.manifest.is_open(*writer);
    let is_any_new = now.iter().filter_map(|name| name.log_writer()).any(|writer| counts(&writer));
    // A log that was claimed while it was read may have been read further than by its claimer.
    let was_claimed = state.is_outline && state.logs.iter().any(|log| !now.contains(&log.name));
    let are_ghosts = may_be_ghosts(state) && sorted(names) != sorted(&now);
    Ok(highest_manifest(&now) > state.manifest_seen || is_any_new || was_claimed || are_ghosts)
}

/// Whether a log may not be the one that was listed. The name of a claimed log is free, and a slow writer may create it
/// again before it sees that its number is used (`writer/claim.rs`). Such a *ghost* never has a commit, and another
/// compaction may claim it.
fn may_be_ghosts(state: &State) -> bool {
    state.logs.iter().any(|log| log.commits == 0)
}

/// Whether the list of names may lack a log. Numbers have no gaps, so a log that the list misses because it is being
/// renamed is noticed. A log that stays away was lost in a power failure before its name was synced. Other logs rest on
/// it only after that sync; if one does, the loss is damage (`short_log`).
fn has_gap(state: &State, names: &[FileName]) -> bool {
    let logs: HashSet<u32> = names.iter().filter_map(|name| name.log_writer()).collect();
    let named = state.manifest.open_logs.iter().filter(|log| log.end > 0).map(|log| log.writer);
    let unnamed = (state.manifest.next_writer..state.next_writer_seen).rev().take(64);
    named.chain(unnamed).any(|writer| !logs.contains(&writer))
}

/// The manifest if one could be read.
fn known_manifest(state: &State) -> Option<&Manifest> {
    Some(&state.manifest).filter(|manifest| manifest.number > 0)
}

/// Marks a log as damaged as a whole, and returns its name and what is wrong.
fn damage_log(state: &mut State, writer: u32, what: &'static str) -> (String, &'static str) {
    match state.logs.iter_mut().find(|view| view.writer == writer) {
        Some(view) => {
            view.stop = Stop::Damaged(what);
            (view.name.to_string(), what)
        }
        None => (FileName::Log(writer).to_string(), "missing log"),
    }
}

fn open_tables(context: &Context, state: &mut State, known: &Known, last: bool) -> Result<bool> {
    let open: HashMap<TableMeta, Arc<Table>> =
        known.tables.iter().map(|table| (table.meta, Arc::clone(table))).collect();
    for namespace in std::mem::take(&mut state.manifest.namespaces) {
        let id =
            state.record_version(context, &namespace.name, &namespace.version, namespace.latest)?;
        let mut added = Vec::with_capacity(namespace.tables.len());
        for meta in &namespace.tables {
            let table = match open.get(meta) {
                Some(table) if !table.is_broken() => Arc::clone(table),
                _ => match open_table(context, state, *meta, &namespace.name, last)? {
                    Some(table) => table,
                    None => return Ok(false),
                },
            };
            added.push(LiveTable { table, attached_by: None });
        }
        // The manifest has one version of each namespace.
        if let Some(target) = state.namespace_mut(id.number) {
            target.hidden_below = namespace.hidden_below;
            target.hides_layers = namespace.hides_layers;
            namespace
                .tables
                .iter()
                .for_each(|meta| target.record_times(meta.oldest_ms, meta.newest_ms));
            target.add_tables(added);
        }
        state.manifest.namespaces.push(namespace);
    }
    Ok(true)
}

fn open_table(
    context: &Context,
    state: &State,
    meta: TableMeta,
    namespace: &str,
    last: bool,
) -> Result<Option<Arc<Table>>> {
    let name = meta.name.to_string();
    let file = match context.vfs.open(&name, Access::Random) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !last => return Ok(None),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) =>
        {
            None
        }
        Err(source) => return Err(Error::io("open", &name, source)),
    };
    let checksum = state.checksum_of(context, FileName::Table(meta.name));
    let table = Table::new(
        meta,
        Origin::cache(namespace),
        file,
        checksum,
        &context.damage,
        &context.blocks,
    );
    Ok(Some(Arc::new(table)))
}

/// Reads every open log. `false` = one vanished. A log with the number of a claimed log is a ghost: a slow writer has
/// created the free name again.
fn read_logs(
    context: &Context,
    state: &mut State,
    known: &Known,
    names: &[FileName],
    last: bool,
) -> Result<bool> {
    let claimed: HashSet<u32> = names
        .iter()
        .filter(|name| matches!(name, FileName::Claimed { .. }))
        .filter_map(|name| name.log_writer())
        .collect();
    let is_ghost =
        |name: &FileName| matches!(name, FileName::Log(writer) if claimed.contains(writer));
    let mut logs = Vec::new();
    for name in names.iter().filter(|name| !is_ghost(name)) {
        let Some(writer) = name.log_writer().filter(|writer| state.manifest.is_open(*writer))
        else {
            continue;
        };
        let log = match known.log(context, state.manifest.cache_id, *name)? {
            Some(log) => Some(log),
            None => open_log(context, writer, *name)?,
        };
        let Some(log) = log else { return Ok(false) };
        logs.push(log);
    }
    order::sort_by(&mut logs, |left, right| left.writer.cmp(&right.writer));
    state.logs = logs;
    Ok(extend(context, state, Some(known), !last)?.is_some())
}

/// `None` = the log vanished.
fn open_log(context: &Context, writer: u32, name: FileName) -> Result<Option<LogView>> {
    let text = name.to_string();
    let found = context.vfs.stat(&text).map_err(|source| Error::io("check", &text, source))?;
    let Some(stat) = found else { return Ok(None) };
    match context.vfs.open(&text, Access::Stream) {
        Ok(file) => Ok(Some(LogView::new(writer, name, file, stat.file))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::io("open", &text, source)),
    }
}

/// Reads on in every log. A state that is being loaded takes what is `known` of them first. `true` = a commit was
/// found. `None` = the caller must load again: a log was begun between the reading of its head and of its commits, or
/// was cut.
fn extend(
    context: &Context,
    state: &mut State,
    known: Option<&Known>,
    ends_at_missing: bool,
) -> Result<Option<bool>> {
    let mut logs = std::mem::take(&mut state.logs);
    let head_of = |state: &State, log: &LogView| {
        read_head(&*log.file, &state.checksum_of(context, FileName::Log(log.writer)), log.writer)
    };
    // The head is whole before the first commit is there.
    for log in logs.iter_mut().filter(|log| log.commits == 0 && log.stop == Stop::End) {
        log.head = head_of(state, log)?;
    }
    let foreign =
        known_manifest(state).map_or_else(Vec::new, |manifest| foreign_logs(manifest, &logs));
    for (at, log) in logs.iter_mut().enumerate() {
        log.is_foreign = foreign.contains(&at);
    }
    if let Some(known) = known {
        logs.iter_mut().filter(|log| log.is_foreign).for_each(LogView::forget);
        state.apply_known(context, &logs, known)?;
    }
    let mut changed = false;
    for log in &mut logs {
        if !log.is_foreign && log.stop != Stop::Sealed {
            let before = log.commits;
            read_on(context, state, log)?;
            changed |= log.commits > before;
            let is_first = before == 0 && log.commits > 0;
            if log.stop == Stop::Cut || is_first && !head_of(state, log)?.is_same(&log.head) {
                log.forget();
                state.logs = logs;
                return Ok(None);
            }
        }
    }
    state.logs = logs;
    state.open_attached(context, ends_at_missing);
    Ok(Some(changed))
}

/// Reads on in one log and applies its commits.
fn read_on(context: &Context, state: &mut State, log: &mut LogView) -> Result<()> {
    let (mut failed, mut commits) = (None, 0);
    let checksum = state.checksum_of(context, FileName::Log(log.writer));
    let outcome = scan(&*log.file, &checksum, log.writer, log.end, &mut |commit| {
        commits += 1;
        if failed.is_none() {
            failed = state.apply(context, log.writer, &commit).err();
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    log.end = log.end.max(outcome.end);
    log.stop = outcome.stop;
    match outcome.last.map(|offset| LastFrame::read(&*log.file, offset)) {
        None => {}
        Some(Ok(last)) => log.last = Some(last),
        Some(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => log.stop = Stop::Cut,
        Some(Err(source)) => return Err(Error::io("read", &log.name.to_string(), source)),
    }
    log.pins = outcome.pins.unwrap_or(log.pins);
    log.commits += commits;
    if let Stop::Damaged(what) = outcome.stop {
        context.damage.add(Damage::new(log.name.to_string(), outcome.end, what));
        state.unrecoverable = true;
    }
    Ok(())
}

/// Whether `names` are those of the manifest and the logs from which the state was read, and of the same files. What
/// was missing or not whole may be whole by now: a copy of the cache arrives file by file.
fn is_of(context: &Context, state: &State, names: &[FileName]) -> Result<bool> {
    let counts =
        |name: &&FileName| name.log_writer().is_some_and(|writer| state.manifest.is_open(writer));
    let logs: Vec<&FileName> = names.iter().filter(counts).collect();
    let is_known = |name: &&FileName| state.logs.iter().any(|log| log.name == **name);
    let are_same = highest_manifest(names) == state.manifest_seen
        && logs.len() == state.logs.len()
        && logs.iter().all(is_known);
    if !are_same
        || state.unrecoverable
        || !state.is_sure()
        || !is_manifest_in_place(context, state)?
    {
        return Ok(false);
    }
    for log in &state.logs {
        if !log
            .is_in_place(&*context.vfs, &state.checksum_of(context, FileName::Log(log.writer)))?
        {
            return Ok(false);
        }
    }
    let mut broken = state.live_tables().map(|live| &live.table).filter(|table| table.is_broken());
    Ok(!broken.any(|table| is_whole(context, table)))
}

fn is_manifest_in_place(context: &Context, state: &State) -> Result<bool> {
    let file = state.manifest_file;
    file.is_in_place(&*context.vfs).map_err(|source| Error::io("check", &file.name(), source))
}

/// Whether a table whose file was missing or cut can be opened by now.
fn is_whole(context: &Context, table: &Table) -> bool {
    let file = context.vfs.open(&table.meta.name.to_string(), Access::Random).ok();
    file.is_some_and(|file| table.with_file(file).directory().is_some())
}

/// Whether the directory has more than the state: a newer manifest, other logs, or more in one of them.
pub(crate) fn is_behind(context: &Context, state: &State) -> Result<bool> {
    if !is_of(context, state, &list(context)?)? {
        return Ok(true);
    }
    for log in state.logs.iter().filter(|log| log.stop != Stop::Sealed) {
        let checksum = state.checksum_of(context, FileName::Log(log.writer));
        let mut is_more = false;
        let outcome = scan(&*log.file, &checksum, log.writer, log.end, &mut |_| is_more = true)?;
        if is_more || matches!(outcome.stop, Stop::Damaged(_) | Stop::Cut) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes a copy of the state the newest one: extends it, or loads again. `true` = something changed.
pub(crate) fn renew_copy(context: &Context, state: &mut State) -> Result<bool> {
    match catch_up(context, state)? {
        Some(changed) if !state.unrecoverable => Ok(changed),
        _ => {
            *state = load(context, &state.known())?;
            Ok(true)
        }
    }
}

/// Applies what other processes appended since. `None` = the caller must load again: there is a newer manifest or
/// another set of logs.
pub(crate) fn catch_up(context: &Context, state: &mut State) -> Result<Option<bool>> {
    failpoints::panics("catch-up");
    let names = list(context)?;
    if !is_of(context, state, &names)? {
        return Ok(None);
    }
    let knew = state.vanished;
    let Some(changed) = extend(context, state, None, !knew)? else { return Ok(None) };
    // A missing table was merged into a newer manifest before its log was read. A log that looks short was read before
    // the one that refers to its end.
    let is_whole = (knew || !state.vanished) && state.misfit().is_none();
    Ok((is_whole && !is_outdated(context, state, &names)?).then_some(changed))
}
