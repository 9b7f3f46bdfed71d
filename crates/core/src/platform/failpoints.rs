//! Planted faults: a panic at a named place, or a defect of a named kind, so that the suites can prove that they notice
//! (`test/safety/mutation.mjs` has the names). Only with the feature `planted`, which no shipped build has:
//! `npm run check` looks into them. Without it everything here is nothing, and costs nothing.

#[cfg(feature = "planted")]
mod chosen;
#[cfg(feature = "planted")]
mod vfs;

use crate::platform::vfs::Vfs;
use std::sync::Arc;

/// A place where a panic may be planted.
#[inline(always)]
pub fn panics(name: &str) {
    #[cfg(feature = "planted")]
    chosen::panic_once(name);
    let _ = name;
}

/// Whether the code is to have this defect.
#[inline(always)]
pub fn bug(name: &str) -> bool {
    #[cfg(feature = "planted")]
    return chosen::is(name);
    #[cfg(not(feature = "planted"))]
    {
        let _ = name;
        false
    }
}

/// The folder, seen through whatever defect in the use of files is planted.
#[inline(always)]
pub(crate) fn vfs(vfs: Arc<dyn Vfs>) -> Arc<dyn Vfs> {
    #[cfg(feature = "planted")]
    return vfs::wrapped(vfs);
    #[cfg(not(feature = "planted"))]
    vfs
}

/// Plants what the environment names now: for hosts that begin to plant while they run.
#[inline(always)]
pub fn arm() {
    #[cfg(feature = "planted")]
    chosen::choose(&chosen::from_environment());
}

/// Plants what is named; nothing for an empty name. For hosts without an environment.
#[cfg(feature = "planted")]
pub fn choose(name: &str) {
    chosen::choose(name);
}
