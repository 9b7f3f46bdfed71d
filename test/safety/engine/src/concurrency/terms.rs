//! What a schedule has beside commits, compactions and kills, and what must hold then.
//!
//! - **Cap**: a compaction evicts entries. An entry is the newest of its key or a miss, never an older one; alone, a
//!   full compaction leaves no more bytes than the cap. Without the cap (planted `no-cap`) it leaves more.
//! - **Attached tables**: large commits write tables first. A commit is seen whole or not at all, also while another
//!   participant merges its tables (planted: `attached-may-vanish`).
//! - **Damage** (`damage.rs`): an entry is the newest of its key or a miss, never an older one, and no commit is seen
//!   in part but for misses. A commit that a new process has found since the damage stays (planted: `damaged-as-torn`).
//! - **Reset**: if the whole cache is unrecoverable, the next commit starts a new one, while other participants do the
//!   same or still commit to the old one. A new process finds each acknowledged commit that began after the reset
//!   (planted: `reset-leaves-logs`, `reset-counts-old-logs`).
//! - **Faults** (`fault.rs`): calls fail. Then the participant's own call may fail; what it had not acknowledged is
//!   there as a whole or not at all. There are hard links: without them, a manifest whose sync fails is withdrawn,
//!   although others may have seen it.
//! - **Pauses**: participants pause for up to a thousand turns, as slow processes do. An entry whose blob was stored
//!   before a pause may be a miss: a compaction that has waited long enough claims the log that pins the blob.
//! - **Repair**: any participant may repair at any time. Without damage, repair finds nothing. If no other participant
//!   runs, it leaves no damage (planted: `repair-without-merge`).

use fastrand::Rng;

/// Bytes of a cache with a cap, below.
const CAP_BYTES: std::ops::Range<u64> = 500..4000;

/// Values from this length on are files; not those of commits that attach tables.
const FILE_BYTES_MIN: usize = 64;
const FILE_BYTES_MIN_LARGE: usize = 2 << 20;

/// One call in so many fails.
const CALLS_PER_FAULT: [u64; 3] = [10, 40, 160];

/// One turn in so many damages a file.
const TURNS_PER_DAMAGE: u64 = 64;

/// What one schedule has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) bytes_max: u64,
    pub(super) has_large: bool,
    pub(super) is_damaged: bool,
    /// One call in so many fails; 0 = none.
    pub(super) calls_per_fault: u64,
    /// One turn in so many ends with a pause; 0 = none.
    pub(super) turns_per_pause: u64,
}

impl Terms {
    pub(super) fn new(random: &mut Rng, has_links: bool) -> Self {
        let kind = random.u8(..32);
        let has_faults = has_links && (14..22).contains(&kind);
        Self {
            bytes_max: if (0..6).contains(&kind) { random.u64(CAP_BYTES) } else { u64::MAX },
            has_large: (6..8).contains(&kind),
            is_damaged: (7..14).contains(&kind),
            calls_per_fault: if has_faults { CALLS_PER_FAULT[random.usize(..3)] } else { 0 },
            turns_per_pause: [0, 8, 32][random.usize(..3)],
        }
    }

    pub(super) fn is_capped(&self) -> bool {
        self.bytes_max < u64::MAX
    }

    pub(super) fn blob_bytes_min(&self) -> usize {
        if self.has_large { FILE_BYTES_MIN_LARGE } else { FILE_BYTES_MIN }
    }

    pub(super) fn damages_now(&self, random: &mut Rng) -> bool {
        self.is_damaged && random.u64(..TURNS_PER_DAMAGE) == 0
    }
}
