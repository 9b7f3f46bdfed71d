//! What is asked of the store as a whole, and the watches of its long calls.

use crate::node_api::{Answer, Arguments, Call, Methods};
use crate::store::NodeStore;
use serde::Deserialize;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_bindings::{Result, answer, request, top};
use varve_core::vfs::Vfs;
use varve_disk::{DiskVfs, layer_at};

/// Adds the methods of this file.
pub(crate) fn add(methods: Methods<NodeStore>) -> Methods<NodeStore> {
    methods
        .add::<DamageCount>()
        .add::<Status>()
        .add::<Stats>()
        .add::<Top>()
        .add::<Compact>()
        .add::<Verify>()
        .add::<Seal>()
        .add::<Repair>()
        .add::<BeginWatch>()
        .add::<WatchDone>()
        .add::<WatchTotal>()
        .add::<CancelWatch>()
        .add::<EndWatch>()
}

struct DamageCount;
struct Status;
struct Stats;
struct Top;
struct Compact;
struct Verify;
struct Repair;
struct Seal;
struct BeginWatch;
struct WatchDone;
struct WatchTotal;
struct CancelWatch;
struct EndWatch;

impl Call<NodeStore> for DamageCount {
    const NAME: &'static CStr = c"damageCount";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        store.with(|handle| handle.damage_count()).map(|count| Answer::Count(count.into()))
    }
}

impl Call<NodeStore> for Status {
    const NAME: &'static CStr = c"status";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        Ok(Answer::Text(answer(Ok(store.store()?.status()))))
    }
}

impl Call<NodeStore> for Stats {
    const NAME: &'static CStr = c"stats";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        let core = store.store()?;
        Ok(store.promise(move || Ok(core.stats()?)))
    }
}

impl Call<NodeStore> for Top {
    const NAME: &'static CStr = c"top";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (core, options) = (store.store()?, arguments.text(0)?);
        Ok(store.promise(move || top(&core, &options)))
    }
}

impl Call<NodeStore> for Compact {
    const NAME: &'static CStr = c"compact";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (full, watch) = (arguments.flag(0)?, arguments.number(1)?);
        store.store()?.set_now(arguments.count(2)?);
        store.promise_watched(watch, move |core, watch| Ok(core.compact(full, watch)?))
    }
}

impl Call<NodeStore> for Verify {
    const NAME: &'static CStr = c"verify";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        store.promise_watched(arguments.number(0)?, |core, watch| Ok(core.verify(watch)?))
    }
}

impl Call<NodeStore> for Repair {
    const NAME: &'static CStr = c"repair";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (dry_run, watch) = (arguments.flag(0)?, arguments.number(1)?);
        store.promise_watched(watch, move |core, watch| Ok(core.repair(dry_run, watch)?))
    }
}

/// The directory of the new layer, and those of the layers that it builds on, the newest first.
#[derive(Deserialize)]
struct SealRequest {
    target: PathBuf,
    since: Vec<String>,
}

impl Call<NodeStore> for Seal {
    const NAME: &'static CStr = c"seal";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let (json, folder) = (arguments.text(0)?, store.folder()?);
        store.promise_watched(arguments.number(1)?, move |core, watch| {
            let SealRequest { target, since } = request(&json)?;
            // The layer has the secret of the cache.
            let folder = folder.file_name().unwrap_or_default();
            let target: Arc<dyn Vfs> = Arc::new(DiskVfs::new(target.join(folder)));
            let since: Vec<_> = since
                .iter()
                .map(|path| layer_at(path, &Path::new(folder).to_string_lossy()))
                .collect();
            Ok(core.seal(&target, &since, watch)?)
        })
    }
}

/// A new watch, for one call; returns its number.
impl Call<NodeStore> for BeginWatch {
    const NAME: &'static CStr = c"beginWatch";

    fn run(store: &NodeStore, _arguments: &Arguments) -> Result<Answer> {
        store.with_watches(|watches| Ok(Answer::Count(watches.begin().into())))
    }
}

impl Call<NodeStore> for WatchDone {
    const NAME: &'static CStr = c"watchDone";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        Ok(Answer::Count(store.progress(arguments.number(0)?)?.done()))
    }
}

impl Call<NodeStore> for WatchTotal {
    const NAME: &'static CStr = c"watchTotal";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        Ok(Answer::Count(store.progress(arguments.number(0)?)?.total()))
    }
}

/// Asks the call to stop.
impl Call<NodeStore> for CancelWatch {
    const NAME: &'static CStr = c"cancelWatch";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        store.progress(arguments.number(0)?)?.cancel();
        Ok(Answer::Nothing)
    }
}

impl Call<NodeStore> for EndWatch {
    const NAME: &'static CStr = c"endWatch";

    fn run(store: &NodeStore, arguments: &Arguments) -> Result<Answer> {
        let number = arguments.number(0)?;
        store.with_watches(|watches| {
            watches.end(number);
            Ok(Answer::Nothing)
        })
    }
}
