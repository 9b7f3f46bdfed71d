//! Which logs belong to the manifest. A directory may have been merged from two copies of one cache, by `cp -r` or by a
//! restore into a directory that is not empty. Numbers of logs then coincide or follow on each other, although their
//! commits rest on entries that are not here.
//!
//! Each log and each manifest has a random id, and every reference to one of them contains it. A log belongs to a
//! manifest if one of these holds:
//! 1. The manifest lists the log.
//! 2. Its number is not below `next writer`, it was begun on this manifest or its parent, and every log that existed
//!    when it was begun belongs to the manifest, too. That log is open, or this manifest has checkpointed it.
//!
//! The parent is enough: a compaction lists every log that it finds, so only logs begun after that are in no list.

use super::LogView;
use crate::log::LogStart;
use crate::manifest::{KnownLog, Manifest};

/// Positions of the logs that do not belong to the manifest, without logs whose start is not whole.
pub(super) fn foreign_logs(manifest: &Manifest, logs: &[LogView]) -> Vec<usize> {
    let mut foreign: Vec<usize> = Vec::new();
    // A log that rests on a foreign one is foreign, too: repeat until no more are found.
    loop {
        let is_new = |(at, view): &(usize, &LogView)| {
            let rests = |seen: &KnownLog| has(manifest, logs, &foreign, view, seen);
            !foreign.contains(at)
                && view.start().is_some_and(|start| {
                    !is_begun_here(manifest, view.writer, start)
                        || !is_listed(manifest, view.writer) && !view.head.seen.iter().all(rests)
                })
        };
        let found: Vec<usize> = logs.iter().enumerate().filter(is_new).map(|(at, _)| at).collect();
        if found.is_empty() {
            return foreign;
        }
        foreign.extend(found);
    }
}

fn is_listed(manifest: &Manifest, writer: u32) -> bool {
    manifest.open_logs.iter().any(|log| log.writer == writer)
}

fn is_begun_here(manifest: &Manifest, writer: u32, start: LogStart) -> bool {
    let is_of_parent = start.base == manifest.parent && manifest.parent != 0;
    is_claimed(manifest, writer, start) || is_of_parent && !is_listed(manifest, writer)
}

/// Whether the manifest lists the log, or is the one on which the log was begun. The log then belongs to the next
/// manifest, too, and the one after that lists it.
pub(super) fn is_claimed(manifest: &Manifest, writer: u32, start: LogStart) -> bool {
    let mut listed = manifest.open_logs.iter().filter(|log| log.writer == writer).peekable();
    if listed.peek().is_some() {
        listed.any(|log| log.id == start.id)
    } else {
        start.base == manifest.id
    }
}

/// Whether the log that `view` has seen belongs to the manifest, or has been checkpointed into it. Several logs may
/// have its number: its own, and a ghost, if both were claimed. If it had no commits, a power failure may have taken
/// it, and a log that was begun since, and has seen `view`, may have its number.
fn has(
    manifest: &Manifest,
    logs: &[LogView],
    foreign: &[usize],
    view: &LogView,
    seen: &KnownLog,
) -> bool {
    let is_seen = |known: &KnownLog| (known.writer, known.id) == (seen.writer, seen.id);
    if manifest.checkpointed_logs.iter().any(|known| is_seen(known) && known.end >= seen.end) {
        return true;
    }
    let mut of_number = logs.iter().enumerate().filter(|(_, other)| other.writer == seen.writer);
    if of_number.clone().any(|(_, other)| other.start().is_some()) {
        let is_newer = |other: &LogView| {
            !other.head.is_used || other.head.seen.iter().any(|known| view.is(known))
        };
        return seen.end == 0 && of_number.clone().all(|(_, other)| is_newer(other))
            // A log without commits may be a claim that was given up.
            || of_number.any(|(at, other)| other.is(seen) && (seen.end == 0 || !foreign.contains(&at)));
    }
    let mut known = manifest.open_logs.iter().chain(&manifest.checkpointed_logs);
    if known.any(|known| known.writer == seen.writer) {
        return manifest.open_logs.iter().any(is_seen);
    }
    // A log without commits may be gone. `short_log` reports a missing log with commits.
    seen.end == 0 || seen.writer >= manifest.next_writer
}
