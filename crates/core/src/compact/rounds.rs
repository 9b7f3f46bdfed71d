//! Divides the work of a merge among the threads of the pool, in rounds. Each piece of a table passes four steps, one
//! in each round, so that the steps of a round work on different pieces and share nothing:
//!
//! ```text
//! gather ---> fill ---> pack ---> place
//! one job     one job   a job     one job: checksums, writing, syncing
//!                       a piece
//! ```
//! Entries are gathered and blocks are filled in order of the hashes, and pieces are placed in that order. So a table
//! has the same bytes with any number of threads. What waits for a step is limited: a step that is behind stops those
//! before it.

use crate::error::{Error, Result};
use crate::platform::failpoints;
use crate::platform::pool::Pool;
use crate::read::entries::{Range, Ranges};
use crate::table::{Ending, Stretch, TableFile, TableMeta};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of ranges that are gathered ahead, and of pieces that are filled in a round. One thread has one range and one
/// piece at a time, which stay in the processor's cache.
const AHEAD_BYTES: usize = 2 << 20;

/// A part of a table.
#[derive(Debug)]
pub(super) struct Piece {
    /// The file, if this is the first piece.
    pub(super) begin: Option<TableFile>,
    pub(super) stretch: Stretch<'static>,
    /// What follows, if this is the last piece.
    pub(super) end: Option<Ending>,
}

/// Writes pieces in order.
#[derive(Debug)]
pub(super) struct Placing {
    file: Option<TableFile>,
    /// Times of the oldest and the newest commit.
    times: (u64, u64),
    pub(super) tables: Vec<TableMeta>,
    /// Stretches that were written.
    spare: Vec<Stretch<'static>>,
}

impl Placing {
    pub(super) fn new(times: (u64, u64)) -> Self {
        Self { file: None, times, tables: Vec::new(), spare: Vec::new() }
    }

    /// Packs and writes pieces on this thread.
    pub(super) fn place_all(&mut self, pieces: Vec<Piece>) -> Result<()> {
        pieces.into_iter().try_for_each(|mut piece| {
            piece.stretch.pack();
            self.place(piece)
        })
    }

    fn place(&mut self, mut piece: Piece) -> Result<()> {
        let Some(mut file) = piece.begin.or_else(|| self.file.take()) else { return Ok(()) };
        let name = file.name;
        let wrap = |source| Error::io("write", &name.to_string(), source);
        match piece.end {
            Some(ending) => {
                self.tables.push(file.finish(&piece.stretch, ending, 0, self.times).map_err(wrap)?);
            }
            None => {
                file.place(&piece.stretch).map_err(wrap)?;
                self.file = Some(file);
            }
        }
        piece.stretch.clear();
        self.spare.push(piece.stretch);
        Ok(())
    }
}

/// Fills pieces of tables from ranges of entries.
pub(super) trait FillPieces: Send {
    /// Fills pieces from a range until they have `bytes`. `false` = the range may have more.
    fn fill(&mut self, range: &mut Range<'_>, bytes: usize) -> Result<bool>;

    /// No range follows.
    fn end(&mut self);

    /// Full pieces that were not taken yet, in order.
    fn take(&mut self) -> Vec<Piece>;

    /// Takes the memory of stretches that were written, for the next ones.
    fn reuse(&mut self, written: &mut Vec<Stretch<'static>>);
}

/// A job of a round.
#[derive(Clone, Copy, Debug)]
enum Job {
    Place,
    Fill,
    Gather,
    Pack(usize),
}

/// Writes tables from all ranges.
pub(super) fn run(
    pool: &dyn Pool,
    ranges: &mut Ranges<'_>,
    filling: &mut dyn FillPieces,
    placing: &mut Placing,
) -> Result<()> {
    let ahead_bytes = if pool.threads() > 1 { AHEAD_BYTES } else { 1 };
    let (mut ready, mut filled, mut packed) = (VecDeque::new(), Vec::new(), Vec::new());
    let mut has_more = true;
    loop {
        // Ranges for the next round are gathered while this one fills pieces.
        let is_short = has_more && ready.iter().map(Range::bytes).sum::<usize>() < 2 * ahead_bytes;
        let steps = [
            (!packed.is_empty()).then_some(Job::Place),
            (!ready.is_empty()).then_some(Job::Fill),
            is_short.then_some(Job::Gather),
        ];
        let jobs: Vec<Job> =
            steps.into_iter().flatten().chain((0..filled.len()).map(Job::Pack)).collect();
        if jobs.is_empty() {
            return Ok(());
        }
        let packing: Vec<Mutex<Piece>> = filled.into_iter().map(Mutex::new).collect();
        let (to_place, to_fill, gathered) =
            (Mutex::new(packed), Mutex::new(&mut ready), Mutex::new(Vec::new()));
        let shared_ranges = Mutex::new(&mut *ranges);
        let shared_filling = Mutex::new(&mut *filling);
        let (shared_placing, failed) = (Mutex::new(&mut *placing), Mutex::new(None));
        pool.run(jobs.len(), &|index| {
            let outcome = match jobs.get(index) {
                Some(Job::Place) => lock(&to_place)
                    .drain(..)
                    .try_for_each(|piece| lock(&shared_placing).place(piece)),
                Some(Job::Fill) => {
                    fill(&mut lock(&to_fill), &mut **lock(&shared_filling), ahead_bytes)
                }
                Some(Job::Gather) => {
                    *lock(&gathered) = gather(&mut lock(&shared_ranges), ahead_bytes);
                    Ok(())
                }
                Some(Job::Pack(index)) => {
                    packing.get(*index).into_iter().for_each(|piece| lock(piece).stretch.pack());
                    Ok(())
                }
                None => Ok(()),
            };
            if let Err(error) = outcome {
                lock(&failed).get_or_insert(error);
            }
        });
        if let Some(error) = owned(failed) {
            return Err(error);
        }
        let gathered = owned(gathered);
        has_more &= !is_short || !gathered.is_empty();
        ready.extend(gathered);
        if !has_more && ready.is_empty() {
            filling.end();
        }
        filling.reuse(&mut placing.spare);
        packed = packing.into_iter().map(owned).collect();
        filled = filling.take();
    }
}

fn fill(ready: &mut VecDeque<Range<'_>>, filling: &mut dyn FillPieces, bytes: usize) -> Result<()> {
    while let Some(range) = ready.front_mut() {
        if !filling.fill(range, bytes)? {
            break;
        }
        ready.pop_front();
    }
    Ok(())
}

fn gather<'a>(ranges: &mut Ranges<'a>, bytes_max: usize) -> Vec<Range<'a>> {
    failpoints::panics("gather");
    let mut bytes = 0;
    let mut gathered = Vec::new();
    while bytes < bytes_max
        && let Some(range) = ranges.next()
    {
        bytes += range.bytes();
        gathered.push(range);
    }
    gathered
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn owned<T>(shared: Mutex<T>) -> T {
    shared.into_inner().unwrap_or_else(PoisonError::into_inner)
}
