//! Damage to the cache of a schedule, between two turns: a bit flips, a file is cut or removed. This module keeps only
//! damage that a new process reports at once. Other damage is reported later or never: in a file that is being written,
//! in an obsolete file, or at the end of a log that was not synced. A flipped bit that is not reported must not change
//! what a new process reads.
//!
//! While a manifest is being published, manifests stay sound: until the older one is removed, a cut newer one looks as
//! if it were being written, and what a new process finds then is lost with it.

use super::newcomer::{answers, reports_damage};
use super::world::World;
use fastrand::Rng;
use varve_core::testing::sim::SimVfs;

/// How many files are tried until damage to one is reported.
const TRIES: u32 = 4;

#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip { byte: u64, bit: u32 },
    Cut { length: u64 },
    Remove,
}

impl Damage {
    fn new(length: u64, random: &mut Rng) -> Self {
        match random.u8(..4) {
            _ if length == 0 => Self::Remove,
            0 => Self::Cut { length: random.u64(..length) },
            1 => Self::Remove,
            _ => Self::Flip { byte: random.u64(..length), bit: random.u32(..8) },
        }
    }

    fn strike(self, vfs: &SimVfs, name: &str) {
        match self {
            Self::Flip { byte, bit } => vfs.flip(name, byte, bit),
            Self::Cut { length } => vfs.truncate(name, length),
            Self::Remove => vfs.erase(name),
        }
    }
}

/// Damages a file of a sound cache, if a new process reports the damage.
pub(super) fn strike(world: &World, random: &mut Rng) {
    if reports_damage(&world.vfs.fork(), world) {
        return;
    }
    let mut names = world.names_in_use();
    let is_manifest = |name: &String| name.starts_with("manifest"); // a temporary one is linked to its final name
    if names.iter().filter(|name| is_manifest(name)).count() > 1 {
        names.retain(|name| !is_manifest(name));
    }
    let before = answers(&world.vfs.fork(), world);
    for _ in 0..TRIES.min(names.len() as u32) {
        let name = &names[random.usize(..names.len())];
        let damage = Damage::new(world.vfs.length(name), random);
        let trial = world.vfs.fork();
        damage.strike(&trial, name);
        if reports_damage(&trial, world) {
            world.note(|| format!("DAMAGE {name}: {damage:?}"));
            damage.strike(&world.vfs, name);
            world.damaged(name);
            world.count("damages");
            return;
        }
        if matches!(damage, Damage::Flip { .. }) && answers(&trial, world) != before {
            world.violation(format!(
                "{damage:?} in {name} is not reported and changes what a new process reads"
            ));
        }
    }
}
