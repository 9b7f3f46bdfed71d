//! The planted fault: named in the environment of the process when first needed, or chosen by a host.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The environment variable with its name.
const VARIABLE: &str = "VARVE_PLANTED";

/// Tags of no name.
const UNASKED: u64 = 0;
const NONE: u64 = 1;

static CHOSEN: AtomicU64 = AtomicU64::new(UNASKED);

/// Whether the panic has happened: it happens once.
static PANICKED: AtomicBool = AtomicBool::new(false);

pub(super) fn from_environment() -> String {
    std::env::var(VARIABLE).unwrap_or_default()
}

/// Choosing the same name again changes nothing, so that a panic happens once.
pub(super) fn choose(name: &str) {
    let tag = if name.is_empty() { NONE } else { tag_of(name) };
    if CHOSEN.swap(tag, Ordering::SeqCst) != tag {
        PANICKED.store(false, Ordering::SeqCst);
    }
}

#[inline]
pub(super) fn is(name: &str) -> bool {
    match CHOSEN.load(Ordering::Relaxed) {
        NONE => false,
        UNASKED => {
            choose(&from_environment());
            is(name)
        }
        tag => tag == tag_of(name),
    }
}

#[expect(clippy::panic, clippy::print_stderr, reason = "that is what it is for")]
pub(super) fn panic_once(name: &str) {
    if is(name) && !PANICKED.swap(true, Ordering::SeqCst) {
        // If no caller can receive the panic, as in a finalizer, the suite detects it by this line.
        eprintln!("planted panic: {name}");
        panic!("planted panic: {name}");
    }
}

/// Length and hash (FNV-1a) of a name, which compare faster than text.
#[inline]
fn tag_of(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    (name.bytes().fold(0xcbf2_9ce4_8422_2325, step) << 8) | name.len() as u64 | 0x80
}
