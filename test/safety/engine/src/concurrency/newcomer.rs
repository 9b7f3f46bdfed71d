//! A process that opens the cache at this moment, over the same layers each time, and only reads. It opens a copy of
//! the folder, so the schedule does not change. This process must find every commit that an open handle has
//! acknowledged.

use super::layers::Stack;
use super::world::World;
use std::ops::ControlFlow;
use std::sync::Arc;
use varve_core::testing::sim::SimVfs;
use varve_core::{Options, Result, SerialPool, Store};

/// Opens a copy of the folder.
fn open(vfs: &SimVfs, world: &World) -> Result<Arc<Store>> {
    let blob_bytes_min = world.terms.blob_bytes_min();
    let layers = world.layers.first().map_or_else(Vec::new, Stack::sources);
    let options = Options {
        read_only: true,
        block_cache_bytes: 1 << 16,
        blob_bytes_min,
        layers,
        ..Options::default()
    };
    Store::open(Arc::new(vfs.clone()), Arc::new(SerialPool), options)
}

/// Whether it reports damage in any byte of the folder.
pub(super) fn reports_damage(vfs: &SimVfs, world: &World) -> bool {
    let verified =
        open(vfs, world).and_then(|store| store.verify(&|_, _| ControlFlow::Continue(())));
    verified.is_ok_and(|report| report.damage.iter().any(|damage| damage.layer.is_none()))
}

/// Whether it finds nothing damaged as it opens.
pub(super) fn opens_sound(world: &World) -> bool {
    open(&world.vfs.fork(), world)
        .is_ok_and(|store| store.status().damage.iter().all(|damage| damage.layer.is_some()))
}

/// Looks for a commit that was acknowledged just now. `is_due`: the folder was sound when it began and no file was
/// damaged since; otherwise a reset may have come between the append and now.
pub(super) fn look_for(world: &World, participant: usize, number: u64, is_due: bool) {
    match found(&world.vfs.fork(), world, participant) {
        Ok(Some(found)) if found == number => {
            world.count("established");
            world.establish(participant, number);
        }
        Ok(None | Some(0)) if !is_due => world.count("lostInReset"),
        Ok(found) => {
            let damage = open(&world.vfs.fork(), world).map(|store| store.status().damage);
            let what = format!(
                "a new process reads {found:?} where {participant} has just committed {number}"
            );
            world.violation(format!("{what}: {damage:?}"))
        }
        Err(error) => world.violation(format!("a new process: {error}")),
    }
}

/// What it reads of every participant; `None` if it cannot read.
pub(super) fn answers(vfs: &SimVfs, world: &World) -> Option<Vec<Option<u64>>> {
    (0..world.groups().len()).map(|participant| found(vfs, world, participant).ok()).collect()
}

/// The number of a participant's newest commit; 0 = it is that of the layers.
fn found(vfs: &SimVfs, world: &World, participant: usize) -> Result<Option<u64>> {
    let mut handle = open(vfs, world)?.handle();
    let id = handle.namespace("n", "1")?;
    let parse = |value: &[u8]| {
        String::from_utf8_lossy(value).split(' ').next().unwrap_or_default().parse().ok()
    };
    Ok(handle.get(id, format!("{participant} a").as_bytes(), parse)?.flatten())
}
