//! One schedule: the folder, the participant whose turn it is, and the commits acknowledged so far.

use super::fault;
use super::layers::{Layers, Space};
use super::power::{Event, Note};
use super::terms::Terms;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use varve_core::testing::sim::{Call, Model, SimVfs};
use varve_core::vfs::Vfs;

/// Calls after which a schedule counts as stuck: hundreds of times as many as the longest schedule needs.
const CALLS_MAX: u64 = 300_000;

/// How many calls a trace shows; it shows the last ones.
const TRACE_MAX: usize = 10_000;

/// What participants share besides the folder.
pub(super) struct World {
    pub(super) vfs: SimVfs,
    pub(super) machine: Machine,
    pub(super) terms: Terms,
    pub(super) layers: Layers,
    inner: Mutex<Inner>,
}

struct Inner {
    random: fastrand::Rng,
    /// One call in so many hands the turn over.
    calls_per_turn: u64,
    /// One list or append in so many is torn; 0 = none.
    tears: u64,
    calls_left: u64,
    calls: u64,
    /// FNV-1a of all calls: equal for equal schedules.
    trace_hash: u64,
    trace: Option<Vec<String>>,
    running: usize,
    is_killed: bool,
    is_over: bool,
    groups: Vec<Group>,
    shared: Vec<SharedCommit>,
    notes: Vec<Note>,
    /// Microseconds by which the clock of each participant is off; none = all show the same.
    skews: Vec<u64>,
    /// How often a file was damaged.
    damages: u64,
    /// A manifest or a log was damaged, after which the next commit resets the cache.
    may_be_reset: bool,
    /// A participant with layers had a commit, so that no compaction drops a delete that a layer may need.
    is_layered: bool,
    /// Of each participant, whether its calls may fail now.
    exposed: Vec<bool>,
    violations: Vec<String>,
    counts: Counts,
}

/// How often something happened.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// What is known of one participant's own keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Number of the last commit that was begun, and of the last that was acknowledged.
    pub(super) begun: u64,
    pub(super) acknowledged: u64,
    pub(super) has_lock: bool,
    /// All that were acknowledged.
    pub(super) history: Vec<u64>,
    /// Those that a new process has found since a file was last damaged.
    pub(super) established: Vec<u64>,
    /// Those whose deletes a compaction may drop although a layer has the key.
    loose: Vec<u64>,
}

/// A commit to the keys that all participants write; its number is one more than its place in the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedCommit {
    /// When it was begun and acknowledged, in calls.
    pub(super) begun: u64,
    pub(super) acknowledged: Option<u64>,
    /// A compaction may drop its delete although a layer has the key.
    pub(super) is_loose: bool,
}

/// What distinguishes the file system from one with all abilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    Usual,
    /// There are no hard links.
    Linkless,
    /// Durable appends are padded with zeros.
    Padded,
    /// A removed file keeps its name while it is open.
    Windows,
}

impl Machine {
    fn new(random: &mut fastrand::Rng) -> Self {
        [Self::Usual, Self::Usual, Self::Linkless, Self::Padded, Self::Windows][random.usize(..5)]
    }

    fn vfs(self) -> SimVfs {
        match self {
            Self::Usual => SimVfs::new(),
            Self::Linkless => SimVfs::new().without_links(),
            Self::Padded => SimVfs::new().padded(),
            Self::Windows => SimVfs::new().windows(),
        }
    }

    /// What a power failure may leave.
    pub(super) fn models(self) -> &'static [Model] {
        if self == Self::Windows { &[Model::Journaled] } else { &Model::ALL }
    }
}

/// The most by which a clock is off, and one look in so many finds that it has jumped.
const SKEW_US_MAX: u64 = 1_000_000;
const LOOKS_PER_JUMP: u64 = 16;

/// Microseconds that a call takes by the clock: more than a tick of the engine's.
const CALL_US: u64 = 10;

/// 2027.
const START_US: u64 = 57 * 365 * 24 * 60 * 60 * 1_000_000;

/// How a killed participant leaves the engine: as a panic that is not reported.
pub(super) struct Killed;

impl World {
    pub(super) fn new(seed: u64, locks: &[bool], is_traced: bool) -> Arc<Self> {
        let mut random = fastrand::Rng::with_seed(seed);
        let machine = Machine::new(&mut random);
        let calls_per_turn = [1, 2, 4, 16, 64][random.usize(..5)];
        let tears = [0, 2, 8][random.usize(..3)];
        let is_skewed = random.u8(..4) == 0;
        let skews = if is_skewed {
            locks.iter().map(|_| random.u64(..SKEW_US_MAX)).collect()
        } else {
            Vec::new()
        };
        let terms = Terms::new(&mut random, machine != Machine::Linkless);
        let inner = Inner {
            random,
            calls_per_turn,
            tears,
            calls_left: 1,
            calls: 0,
            trace_hash: 0xcbf2_9ce4_8422_2325,
            trace: is_traced.then(Vec::new),
            running: 0,
            is_killed: false,
            is_over: false,
            groups: locks
                .iter()
                .map(|has_lock| Group { has_lock: *has_lock, ..Group::default() })
                .collect(),
            shared: Vec::new(),
            notes: Vec::new(),
            skews,
            damages: 0,
            may_be_reset: false,
            is_layered: false,
            exposed: vec![false; locks.len()],
            violations: Vec::new(),
            counts: Counts::new(),
        };
        Arc::new(Self {
            vfs: machine.vfs(),
            machine,
            terms,
            layers: Layers::new(seed),
            inner: Mutex::new(inner),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn random(&self, below: u64) -> u64 {
        self.inner().random.u64(..below)
    }

    pub(super) fn tears_now(&self) -> bool {
        let mut inner = self.inner();
        let one_in = inner.tears;
        one_in > 0 && !inner.is_over && inner.random.u64(..one_in) == 0
    }

    /// Names of all files, without those that Windows keeps for removed ones.
    pub(super) fn names_in_use(&self) -> Vec<String> {
        let mut names = self.vfs.names();
        names.retain(|name| self.vfs.exists(name).is_ok_and(|exists| exists));
        names
    }

    /// Runs before each call of the participant whose turn it is.
    pub(super) fn turn(&self, call: &str, name: &str) {
        if std::thread::panicking() {
            return; // it was killed and only releases its resources
        }
        let mut inner = self.inner();
        inner.calls += 1;
        let running = inner.running;
        let letters = [call.as_bytes(), name.as_bytes(), &[running as u8]].concat();
        inner.trace_hash = letters.iter().fold(inner.trace_hash, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        if let Some(trace) = &mut inner.trace {
            trace.push(format!("{running}: {call} {name}"));
        }
        let is_stuck = inner.calls > CALLS_MAX;
        if is_stuck && !inner.is_over {
            inner.violations.push(format!("no end after {CALLS_MAX} calls"));
            inner.is_over = true;
        }
        inner.calls_left = inner.calls_left.saturating_sub(1);
        let goes_on = inner.calls_left > 0 && !is_stuck;
        drop(inner);
        if goes_on {
            return;
        }
        hand_over();
        if std::mem::take(&mut self.inner().is_killed) || is_stuck {
            self.vfs.kill(true);
            std::panic::resume_unwind(Box::new(Killed));
        }
    }

    /// Makes the next call of the running participant fail, if faults are due.
    pub(super) fn may_fail(&self, call: Call) {
        let mut inner = self.inner();
        let calls_per_fault = self.terms.calls_per_fault;
        let (running, is_over) = (inner.running, inner.is_over);
        let is_exposed = inner.exposed.get(running).is_some_and(|exposed| *exposed);
        if calls_per_fault == 0
            || is_over
            || std::thread::panicking()
            || !is_exposed
            || inner.random.u64(..calls_per_fault) > 0
        {
            return;
        }
        let mut random = inner.random.fork();
        *inner.counts.entry("faults").or_default() += 1;
        drop(inner);
        self.note(|| format!("FAULT {call:?}"));
        fault::strike(&self.vfs, call, &mut random);
    }

    /// Whether calls of a participant may fail from now on.
    pub(super) fn expose(&self, participant: usize, is_exposed: bool) {
        if let Some(exposed) = self.inner().exposed.get_mut(participant) {
            *exposed = is_exposed;
        }
    }

    /// Decides whose turn it is, for how many calls, and whether this participant is killed now.
    pub(super) fn give_turn(&self, participant: usize, is_killed: bool) {
        let mut inner = self.inner();
        inner.running = participant;
        inner.is_killed = is_killed;
        let mean = inner.calls_per_turn;
        inner.calls_left = 1 + inner.random.u64(..2 * mean - 1);
        if is_killed && let Some(trace) = &mut inner.trace {
            trace.push(format!("{participant}: KILLED"));
        }
    }

    pub(super) fn note(&self, what: impl FnOnce() -> String) {
        let mut inner = self.inner();
        let running = inner.running;
        if let Some(trace) = &mut inner.trace {
            trace.push(format!("{running}: -- {}", what()));
        }
    }

    pub(super) fn violation(&self, what: String) {
        self.note(|| format!("VIOLATION {what}"));
        self.inner().violations.push(what);
    }

    pub(super) fn groups(&self) -> Vec<Group> {
        self.inner().groups.clone()
    }

    /// The number of the next commit of a participant whose log builds on these of each.
    pub(super) fn begin(&self, participant: usize, base: &[u64], has_layers: bool) -> u64 {
        let number = {
            let inner = &mut *self.inner();
            let group = &mut inner.groups[participant];
            group.begun += 1;
            if !has_layers && !inner.is_layered {
                group.loose.push(group.begun);
            }
            group.begun
        };
        self.record(participant, number, Event::Begun { base: base.to_vec(), has_layers });
        number
    }

    fn record(&self, participant: usize, number: u64, event: Event) {
        let operations = self.vfs.operation_count();
        self.inner().notes.push(Note { operations, participant, number, event });
    }

    /// All that participants noted, in order.
    pub(super) fn notes(&self) -> Vec<Note> {
        self.inner().notes.clone()
    }

    /// This commit and those before it survive a power failure.
    pub(super) fn make_durable(&self, participant: usize, number: u64) {
        self.record(participant, number, Event::Durable);
    }

    pub(super) fn acknowledge(&self, participant: usize, number: u64, has_layers: bool) {
        let mut inner = self.inner();
        inner.is_layered |= has_layers;
        let group = &mut inner.groups[participant];
        group.acknowledged = number;
        group.history.push(number);
        *inner.counts.entry("commits").or_default() += 1;
        drop(inner);
        self.record(participant, number, Event::Acknowledged);
    }

    /// The time, in calls.
    pub(super) fn now(&self) -> u64 {
        self.inner().calls
    }

    /// What the clock of a participant shows.
    pub(super) fn clock_us(&self, participant: usize) -> u64 {
        let inner = &mut *self.inner();
        let mut skew = 0;
        if let Some(known) = inner.skews.get_mut(participant) {
            if inner.random.u64(..LOOKS_PER_JUMP) == 0 {
                *known = inner.random.u64(..SKEW_US_MAX);
            }
            skew = *known;
        }
        START_US + inner.calls * CALL_US + skew
    }

    /// Whether all clocks show the same.
    pub(super) fn is_in_step(&self) -> bool {
        self.inner().skews.is_empty()
    }

    /// The number of the next commit to the keys of all.
    pub(super) fn begin_shared(&self, has_layers: bool) -> usize {
        let mut inner = self.inner();
        let (begun, is_loose) = (inner.calls, !has_layers && !inner.is_layered);
        inner.shared.push(SharedCommit { begun, acknowledged: None, is_loose });
        inner.shared.len()
    }

    pub(super) fn acknowledge_shared(&self, number: usize) {
        let mut inner = self.inner();
        inner.shared[number - 1].acknowledged = Some(inner.calls);
    }

    pub(super) fn shared(&self) -> Vec<SharedCommit> {
        self.inner().shared.clone()
    }

    /// A file was damaged: only what a new process finds from now on has to stay.
    pub(super) fn damaged(&self, file: &str) {
        let mut inner = self.inner();
        inner.damages += 1;
        inner.may_be_reset |= !file.contains('/') && !file.ends_with(".table");
        inner.groups.iter_mut().for_each(|group| group.established.clear());
    }

    /// Whether appends become visible in parts.
    pub(super) fn has_tears(&self) -> bool {
        self.inner().tears > 0
    }

    pub(super) fn damages(&self) -> u64 {
        self.inner().damages
    }

    /// A new process has found this commit.
    pub(super) fn establish(&self, participant: usize, number: u64) {
        self.inner().groups[participant].established.push(number);
    }

    /// Whether acknowledged commits may be misses.
    pub(super) fn may_miss(&self) -> bool {
        self.terms.is_capped() || self.damages() > 0
    }

    /// Whether layers may show a key of an acknowledged commit that is loose or not, if that has a delete or is a miss;
    /// see `layers.rs`.
    pub(super) fn may_show(&self, space: Space, key: &str, is_loose: bool) -> bool {
        is_loose || !self.layers.keep_deletes(space, key) || self.inner().may_be_reset
    }

    /// Whether a compaction may have dropped the deletes of this commit.
    pub(super) fn is_loose(&self, participant: usize, number: u64) -> bool {
        self.inner().groups[participant].loose.contains(&number)
    }

    pub(super) fn count(&self, what: &'static str) {
        *self.inner().counts.entry(what).or_default() += 1;
    }

    pub(super) fn has_failed(&self) -> bool {
        !self.inner().violations.is_empty()
    }

    pub(super) fn summary(&self) -> Summary {
        let inner = self.inner();
        let trace = inner.trace.as_deref().unwrap_or_default();
        Summary {
            terms: format!("{:?} {:?} {:?}", self.machine, self.terms, self.layers),
            violations: inner.violations.clone(),
            trace: trace[trace.len().saturating_sub(TRACE_MAX)..].to_vec(),
            trace_hash: inner.trace_hash,
            calls: inner.calls,
            counts: inner.counts.clone(),
        }
    }
}

#[expect(deprecated, reason = "the other way hands a scope through every call of the engine")]
fn hand_over() {
    generator::yield_with(());
}

/// The result of a schedule.
pub(super) struct Summary {
    pub(super) violations: Vec<String>,
    /// What the schedule has, and its last calls.
    pub(super) terms: String,
    pub(super) trace: Vec<String>,
    pub(super) trace_hash: u64,
    pub(super) calls: u64,
    pub(super) counts: Counts,
}
