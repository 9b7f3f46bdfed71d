//! Files in memory that crash, fail and get damaged on request. The tests of the engine run on them.
//!
//! 1. A history: every change is an entry of the journal (`journal.rs`). It is durable once it was synced.
//! 2. A crash: [`SimVfs::crash_states`] replays every prefix of the journal. Each unsynced change may happen, not
//!    happen, tear or become zeros (`fate.rs`). Each outcome is a new directory (`crash.rs`).
//! 3. A fault: [`SimVfs::fail`] makes the n-th call fail, once or for ever (`fault.rs`).
//! 4. Damage: [`SimVfs::flip`], [`SimVfs::truncate`] and others change a file without the engine's knowledge
//!    (`damage.rs`).
//! 5. Unusual machines: no links, no locks (for all or some processes), Windows, padded appends, a read-only disk.
//!
//! Bytes are in shared chunks (`content.rs`), so a crash state costs a few counters and copies no file.

mod content;
mod crash;
mod damage;
mod fate;
mod fault;
mod file;
mod journal;
mod replay;
mod state;
#[cfg(test)]
mod tests;

pub use crash::{CrashState, CrashStates};
pub use fate::Model;
pub use fault::{Call, Effect, Fault, LostPages};

use crate::platform::vfs::{Access, File, Stat, Vfs};
use file::SimFile;
use journal::{Image, InodeId};
use state::{Options, State};
use std::collections::BTreeSet;
use std::fmt;
use std::hash::Hasher;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One simulated directory. A clone is the same directory.
#[derive(Clone, Default)]
pub struct SimVfs {
    state: Arc<Mutex<State>>,
    /// Prefix of the names of a nested directory: `files/`.
    prefix: String,
    /// Locks are `Unsupported` for this clone.
    is_lockless: bool,
}

impl SimVfs {
    /// An empty directory on a machine with all abilities.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on `link` is `Unsupported`, for every clone.
    #[must_use]
    pub fn without_links(self) -> Self {
        self.configure(|options| options.links = false)
    }

    /// From now on `try_lock` is `Unsupported`, for every clone.
    #[must_use]
    pub fn without_locks(self) -> Self {
        self.configure(|options| options.locks = false)
    }

    /// The same directory for a process without locks, beside others that have them.
    #[must_use]
    pub fn lockless(&self) -> Self {
        Self { is_lockless: true, ..self.clone() }
    }

    /// From now on as on Windows, if files are opened as `varve-disk` and Node.js open them (other processes may remove
    /// and rename them). Removing an open file frees its name only after the last handle is closed. Until then the name
    /// is listed and taken, but counts as missing. Replacing an open file fails with `PermissionDenied`. Directories
    /// have no sync. Only [`Model::Journaled`] fits.
    #[must_use]
    pub fn windows(self) -> Self {
        self.configure(|options| options.windows = true)
    }

    /// Another program (a virus scanner) has this file open, and changes of its name fail with `ResourceBusy`. `None` =
    /// no file.
    pub fn watch(&self, name: Option<&str>) {
        self.state().watched = name.map(Into::into);
    }

    /// From now on, durable appends fill the last block with zeros, which the next append overwrites, and write zeros
    /// ahead, as `varve-disk` does.
    #[must_use]
    pub fn padded(self) -> Self {
        self.configure(|options| options.pads = true)
    }

    /// Whether processes that drop files from now on are killed, and do not cut off zeros.
    pub fn kill(&self, kills: bool) {
        self.state().options.kills = kills;
    }

    /// From now on every change is `ReadOnlyFilesystem`, for every clone.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.configure(|options| options.read_only = true)
    }

    /// An independent copy of the directory as it is now: everything is durable, the journal is empty, locks are free,
    /// and no call fails.
    #[must_use]
    pub fn fork(&self) -> Self {
        let state = self.state();
        Self::from_image(state.options, state.image())
    }

    /// Number of changes and syncs: the length of the journal.
    pub fn operation_count(&self) -> usize {
        self.state().journal.len()
    }

    /// The journal as text.
    pub fn operations(&self) -> Vec<String> {
        self.state().journal.iter().map(ToString::to_string).collect()
    }

    /// Directories as a crash could leave them, for every prefix of the journal with at least `from_operation` entries.
    /// Each has the fates of the unsynced changes that `fate.rs` lists for the file system, and `random_per_prefix`
    /// random mixtures drawn from `seed`.
    pub fn crash_states(
        &self,
        model: Model,
        from_operation: usize,
        seed: u64,
        random_per_prefix: usize,
    ) -> CrashStates {
        let state = self.state();
        let sampling = crash::Sampling { model, from_operation, seed, random_per_prefix };
        CrashStates::new(state.options, state.start.clone(), state.journal.clone(), sampling)
    }

    /// Makes calls fail from now on.
    pub fn fail(&self, fault: Fault) {
        self.state().faults.add(fault);
    }

    /// Makes each call panic after this many, so that an endless loop fails a test.
    pub fn limit_calls(&self, calls_max: usize) {
        self.state().faults.limit(calls_max);
    }

    /// Ends every fault.
    pub fn clear_faults(&self) {
        self.state().faults.clear();
    }

    /// Number of times that `call` was made, or any call for `None`, so that a test can fail each of them once.
    pub fn call_count(&self, call: Option<Call>) -> usize {
        self.state().faults.count(call)
    }

    /// A number that is equal for equal names and bytes.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = twox_hash::xxhash3_64::Hasher::new();
        let state = self.state();
        for (name, &inode) in &state.names {
            hasher.write(name.as_bytes());
            let content = &state.inode_ref(inode).content;
            hasher.write(&content.len().to_le_bytes());
            content.for_each_slice(|bytes| hasher.write(bytes));
        }
        hasher.finish()
    }

    fn configure(self, set: impl FnOnce(&mut Options)) -> Self {
        set(&mut self.state().options);
        self
    }

    fn from_image(options: Options, image: Image) -> Self {
        Self { state: Arc::new(Mutex::new(State::new(options, image))), ..Self::default() }
    }

    /// A test that panics in one thread must not change what other threads see, so a poisoned lock can be used.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One call of the platform: counted, then failed by a fault or made.
    fn call<T>(&self, call: Call, make: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state();
        match state.faults.strike(call) {
            None => make(&mut state),
            Some(Effect::After(error)) => make(&mut state).and(Err(error.into())),
            Some(effect) => Err(effect.error()),
        }
    }

    fn full(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn handle(&self, inode: InodeId, writable: bool) -> Arc<dyn File> {
        Arc::new(SimFile::new(self.clone(), inode, writable))
    }
}

impl Vfs for SimVfs {
    fn list(&self) -> io::Result<Vec<String>> {
        let here = |name: &Arc<str>| {
            Some(name.strip_prefix(&*self.prefix)?.to_owned()).filter(|rest| !rest.contains('/'))
        };
        self.call(Call::List, |state| Ok(state.names.keys().filter_map(here).collect()))
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        let below =
            |name: &Arc<str>| Some(name.strip_prefix(&*self.prefix)?.split_once('/')?.0.to_owned());
        let folders: BTreeSet<String> =
            self.call(Call::List, |state| Ok(state.names.keys().filter_map(below).collect()))?;
        Ok(folders.into_iter().collect())
    }

    fn open(&self, name: &str, _access: Access) -> io::Result<Arc<dyn File>> {
        let inode = self.call(Call::Open, |state| state.find(&self.full(name)))?;
        Ok(self.handle(inode, false))
    }

    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let inode = self.call(Call::CreateNew, |state| state.create_new(&self.full(name)))?;
        Ok(self.handle(inode, true))
    }

    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        self.call(Call::Stat, |state| {
            let inode = state.find(&self.full(name)).ok();
            Ok(inode.map(|inode| {
                let file = state.inode_ref(inode);
                Stat { file: inode as u64, bytes: file.content.len(), changed: file.damages }
            }))
        })
    }

    fn link(&self, source: &str, target: &str) -> io::Result<()> {
        self.call(Call::Link, |state| state.link(&self.full(source), &self.full(target)))
    }

    fn rename(&self, source: &str, target: &str) -> io::Result<()> {
        self.call(Call::Rename, |state| state.rename(&self.full(source), &self.full(target)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.call(Call::Remove, |state| state.remove(&self.full(name)))
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>> {
        Ok(Arc::new(Self { prefix: format!("{}{name}/", self.prefix), ..self.clone() }))
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.call(Call::SyncFolder, |state| state.sync_folder(&self.prefix))
    }
}

impl fmt::Debug for SimVfs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let sizes =
            state.names.iter().map(|(name, &inode)| (name, state.inode_ref(inode).content.len()));
        out.debug_map().entries(sizes).finish()
    }
}
