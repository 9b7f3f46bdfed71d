//! Calls of a participant that fail in the middle of a schedule: the disk is full or broken, an answer is lost, an
//! append is cut short. A call of the participant may then fail. What it had not acknowledged is there as a whole or
//! not at all, and is part of its next commit; all else holds as without faults. `io_faults.rs` has syncs that lose
//! bytes: a process that comes later cannot detect that.

use fastrand::Rng;
use std::io::ErrorKind;
use varve_core::testing::sim::{Call, Effect, Fault, SimVfs};

const ERRORS: [ErrorKind; 4] =
    [ErrorKind::Other, ErrorKind::StorageFull, ErrorKind::PermissionDenied, ErrorKind::OutOfMemory];

/// Longest part of an append that is written.
const SHORT_BYTES_MAX: usize = 300;

/// Makes the next such call fail.
pub(super) fn strike(vfs: &SimVfs, call: Call, random: &mut Rng) {
    let error = ERRORS[random.usize(..ERRORS.len())];
    let effect = match (call, random.u8(..3)) {
        // A call that only reads can lose no answer.
        (Call::List | Call::Open | Call::Stat, _) | (_, 0) => Effect::Error(error),
        (Call::Append, 1) => Effect::Short { bytes: random.usize(..SHORT_BYTES_MAX), error },
        (_, _) => Effect::After(error),
    };
    vfs.fail(Fault { call: Some(call), after: 0, forever: false, effect });
}
