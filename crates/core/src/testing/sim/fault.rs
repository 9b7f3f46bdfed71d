//! Calls that fail on request.

use std::io::{self, ErrorKind};

/// The calls of `Vfs` and `File`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after the method")]
pub enum Call {
    List,
    Open,
    CreateNew,
    Stat,
    Link,
    Rename,
    Remove,
    SyncFolder,
    Len,
    Read,
    Append,
    Sync,
    TryLock,
}

impl Call {
    /// Every call.
    pub const ALL: [Self; 13] = [
        Self::List,
        Self::Open,
        Self::CreateNew,
        Self::Stat,
        Self::Link,
        Self::Rename,
        Self::Remove,
        Self::SyncFolder,
        Self::Len,
        Self::Read,
        Self::Append,
        Self::Sync,
        Self::TryLock,
    ];
}

/// Which call fails, and how.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The call that is counted and fails; any if `None`.
    pub call: Option<Call>,
    /// Number of calls that succeed first, counted from [`fail`](super::SimVfs::fail) on.
    pub after: usize,
    /// Whether all later calls fail, too.
    pub forever: bool,
    /// The effect of the fault.
    pub effect: Effect,
}

/// The effect of a failing call. An effect that does not apply to a call is only its error.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variants describe their fields")]
pub enum Effect {
    /// Only the error: `StorageFull`, `PermissionDenied`, `Interrupted`, or `Other` for EIO.
    Error(ErrorKind),
    /// The complete call and then the error, as when a network file system loses the answer.
    After(ErrorKind),
    /// An append writes this many bytes, and then the error.
    Short { bytes: usize, error: ErrorKind },
    /// A sync fails and the machine drops what it had not written. The next sync by the same handle, or one opened
    /// later, succeeds without it.
    Lose { pages: LostPages, error: ErrorKind },
}

/// What a reader finds after a failed sync instead of the unwritten bytes. After a crash they are zeros or missing,
/// whatever is synced later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostPages {
    /// The file has the length of its last successful sync.
    Gone,
    /// Zeros.
    Zeroed,
    /// The bytes, from memory, until the crash, as on ext4.
    Cached,
}

impl Effect {
    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Error(error)
            | Self::After(error)
            | Self::Short { error, .. }
            | Self::Lose { error, .. } => error.into(),
        }
    }
}

/// The planned faults, and the calls so far.
#[derive(Debug, Default)]
pub(super) struct Faults {
    counts: [usize; Call::ALL.len()],
    planned: Vec<Fault>,
    calls_max: Option<usize>,
}

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        self.planned.push(fault);
    }

    pub(super) fn limit(&mut self, calls_max: usize) {
        self.calls_max = Some(calls_max);
    }

    pub(super) fn clear(&mut self) {
        self.planned.clear();
    }

    pub(super) fn count(&self, call: Option<Call>) -> usize {
        match call {
            Some(call) => self.counts.get(call as usize).copied().unwrap_or(0),
            None => self.counts.iter().sum(),
        }
    }

    /// Counts a call and returns the effect if it fails.
    pub(super) fn strike(&mut self, call: Call) -> Option<Effect> {
        if let Some(count) = self.counts.get_mut(call as usize) {
            *count += 1;
        }
        assert!(self.calls_max.is_none_or(|max| self.count(None) <= max), "calls without end");
        let mut effect = None;
        self.planned.retain_mut(|fault| {
            if fault.call.is_some_and(|planned| planned != call) {
                return true;
            }
            if fault.after > 0 {
                fault.after -= 1;
                return true;
            }
            effect = effect.or(Some(fault.effect));
            fault.forever
        });
        effect
    }
}
