//! Files in memory that crash, fail and get damaged on request. The tests of the engine run on it.
//!
//! 1. A history: every change is an entry of the journal (`journal.rs`). Nothing is durable before it was synced.
//! 2. A crash: [`SimVfs::crash_states`] plays every prefix of the journal, lets each change that was not synced happen,
//!    not happen, tear or turn to zeros (`fate.rs`), and gives each outcome as a new folder (`crash.rs`).
//! 3. A fault: [`SimVfs::fail`] makes the n-th call fail once or for ever (`fault.rs`).
//! 4. Damage: [`SimVfs::flip`], [`SimVfs::truncate`] and others change a file behind the engine's back
//!    (`damage_list.rs`).
//! 5. Odd machines: no links, no locks (for all or for some), Windows, padded appends, a read-only disk.
//!
//! Bytes are kept in shared chunks (`content.rs`), so a crash state costs a few counters and no copy of a file.

mod content;
mod crash;
mod damage;
mod fate;
mod fault;
mod file;
mod journal;
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

/// One simulated folder. A clone is the same folder.
#[derive(Clone, Default)]
pub struct SimVfs {
    state: Arc<Mutex<State>>,
    /// In front of the names of a folder in the folder: `files/`.
    prefix: String,
    /// Locks are `Unsupported` here, whatever they are for other clones.
    is_lockless: bool,
}

impl SimVfs {
    /// An empty folder on a machine that can do everything.
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

    /// The same folder for a participant that has no locks, beside others that have.
    #[must_use]
    pub fn lockless(&self) -> Self {
        Self { is_lockless: true, ..self.clone() }
    }

    /// From now on as Windows does it where files are opened as `varve-disk` and Node.js open them (others may remove
    /// and rename them): who removes a file that is open takes its name away only once it is open no more; until then
    /// the name is listed, and `PermissionDenied` for everybody, as is replacing a file that is open. Folders have no
    /// sync. Only [`Model::Journaled`] fits.
    #[must_use]
    pub fn windows(self) -> Self {
        self.configure(|options| options.windows = true)
    }

    /// Another program (a virus scanner) has this file open and lets nobody change its name: `ResourceBusy`. `None` =
    /// it lets go.
    pub fn watch(&self, name: Option<&str>) {
        self.state().watched = name.map(Into::into);
    }

    /// From now on durable appends fill the last block up with zeros, which the next append goes over, and write zeros
    /// ahead, as `varve-disk` does.
    #[must_use]
    pub fn padded(self) -> Self {
        self.configure(|options| options.pads = true)
    }

    /// Whether those who drop their files from now on are killed: they cut off no zeros.
    pub fn kill(&self, kills: bool) {
        self.state().options.kills = kills;
    }

    /// From now on every change is `ReadOnlyFilesystem`, for every clone.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.configure(|options| options.read_only = true)
    }

    /// An independent copy of the folder as it is now: everything durable, the journal empty, locks free, no faults.
    #[must_use]
    pub fn fork(&self) -> Self {
        let state = self.state();
        Self::from_image(state.options, state.image())
    }

    /// How many changes and syncs there were: the length of the journal.
    pub fn operation_count(&self) -> usize {
        self.state().journal.len()
    }

    /// The journal in words.
    pub fn operations(&self) -> Vec<String> {
        self.state().journal.iter().map(ToString::to_string).collect()
    }

    /// Folders as a crash could leave them: for every prefix of the journal with at least `from_operation` entries,
    /// each fate of what was not synced that `fate.rs` lists for the file system, and `random_per_prefix` random
    /// mixtures drawn from `seed`.
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

    /// From the call after so many on each one panics: what makes a loop without end a failure.
    pub fn limit_calls(&self, calls_max: usize) {
        self.state().faults.limit(calls_max);
    }

    /// Ends every fault.
    pub fn clear_faults(&self) {
        self.state().faults.clear();
    }

    /// How often `call`, or with `None` any call, was made: what a test goes through to fail each once.
    pub fn call_count(&self, call: Option<Call>) -> usize {
        self.state().faults.count(call)
    }

    /// A number that is equal where names and bytes are.
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

    /// A test that panics in one thread must not change what the others see, so a poisoned lock is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One call through the door: counted, failed by a fault, or made.
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
        let here =
            |name: &Arc<str>| Some(name.strip_prefix(&*self.prefix)?.to_owned()).filter(|rest| !rest.contains('/'));
        self.call(Call::List, |state| Ok(state.names.keys().filter_map(here).collect()))
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        let below = |name: &Arc<str>| Some(name.strip_prefix(&*self.prefix)?.split_once('/')?.0.to_owned());
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
            let inode = state.names.get(&*self.full(name)).copied();
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
        let sizes = state.names.iter().map(|(name, &inode)| (name, state.inode_ref(inode).content.len()));
        out.debug_map().entries(sizes).finish()
    }
}
