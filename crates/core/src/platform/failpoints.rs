//! Planted faults: a panic at a named place, or a defect of a named kind. With them the suites prove that they detect
//! it (`test/safety/mutation.mjs` has the names). They exist only with the feature `planted`, which no shipped build
//! has; `npm run check` verifies that. Without the feature all of this compiles to nothing.

#[cfg(feature = "planted")]
mod chosen;
#[cfg(feature = "planted")]
mod vfs;

use crate::platform::vfs::Vfs;
use std::sync::Arc;

/// A place where a panic can be planted.
#[inline(always)]
pub fn panics(name: &str) {
    #[cfg(feature = "planted")]
    chosen::panic_once(name);
    let _ = name;
}

/// Whether this defect is planted. Only the copy of the sources that `test/safety/mutation` builds calls it.
#[cfg(feature = "planted")]
pub fn bug(name: &str) -> bool {
    chosen::is(name)
}

/// The files of the cache, with a planted defect in their use.
#[inline(always)]
pub(crate) fn vfs(vfs: Arc<dyn Vfs>) -> Arc<dyn Vfs> {
    #[cfg(feature = "planted")]
    return vfs::wrapped(vfs);
    #[cfg(not(feature = "planted"))]
    vfs
}

/// Plants what the environment names now, for hosts that begin while they run.
#[inline(always)]
pub fn arm() {
    #[cfg(feature = "planted")]
    chosen::choose(&chosen::from_environment());
}

/// Plants the named fault, or none for an empty name. For hosts without an environment.
#[cfg(feature = "planted")]
pub fn choose(name: &str) {
    chosen::choose(name);
}
