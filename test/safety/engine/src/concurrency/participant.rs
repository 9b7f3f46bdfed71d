//! What a participant of a schedule does, and what it must find. Commit number n of participant p writes n under
//! all keys of p. All participants write the key `shared`, and change the version of the namespace `versions` and back.
//!
//! - `p a`: a short value;
//! - `p f`: a short value, or a large one that is stored as a file;
//! - `p o`: an entry that needs a file whose content other participants store, too;
//! - `p d`: written only if n is not a multiple of 3;
//! - `p #n`: a key of this commit alone.
//!
//! Over layers (`layers.rs`), each commit also deletes the key `gone` of `versions`.

use super::layers::{Space, Stack, VERSIONS};
use super::newcomer;
use super::turn::TurnVfs;
use super::world::World;
use std::ops::ControlFlow;
use std::sync::Arc;
use varve_core::{
    BlobRef, BlobWriter, Clock, Durability, Error, Handle, Options, Pin, Result, SerialPool, Store,
};

/// The most steps of one life.
const STEPS_MAX: u64 = 6;

/// One commit in so many is looked for by a new process; after damage, every one.
const COMMITS_PER_LOOK: u64 = 8;

/// The value that makes a commit attach a table: longer than the least of such a commit.
const LARGE_BYTES: usize = 1 << 20;

/// Of the commits of a schedule that attaches tables, one in so many does.
const COMMITS_PER_LARGE: u64 = 4;

/// One life of a participant, from open to close.
pub(super) fn live(world: &Arc<World>, me: usize, has_locks: bool) {
    world.expose(me, true);
    if let Err(error) =
        Participant::open(world, me, has_locks).and_then(|mut participant| participant.live())
    {
        match *error {
            // It lost every race: an answer, too.
            Error::Busy { .. } => world.count("busy"),
            // Of a sync that failed for one participant, others learn, too.
            _ if world.terms.calls_per_fault > 0 => world.count("failures"),
            error => world.violation(format!("participant {me}: {error}")),
        }
    }
}

pub(super) struct Participant {
    pub(super) world: Arc<World>,
    pub(super) me: usize,
    pub(super) handle: Handle,
    pub(super) id: u32,
    /// Of each version of the namespace that changes.
    pub(super) versions: Vec<u32>,
    /// The layers below the cache of this life.
    pub(super) stack: Option<&'static Stack>,
    /// When what it sees was read: in calls, and how often a file had been damaged.
    pub(super) read_at: u64,
    pub(super) damages: u64,
    /// Of each participant, the highest number seen, and what a new process had found since the last damage.
    pub(super) seen: Vec<u64>,
    pub(super) established: Vec<Vec<u64>>,
    /// Content stored for a commit to come.
    stored: Option<(Vec<u8>, BlobRef, Pin)>,
    /// Its last commit in this life.
    committed: Option<u64>,
    /// The version that a commit has put, until it succeeds. A commit has one version of each name.
    pub(super) version: Option<u32>,
    /// What it had seen of each when it began its first log in this life.
    base: Vec<u64>,
}

impl Participant {
    pub(super) fn open(world: &Arc<World>, me: usize, has_locks: bool) -> Result<Self> {
        let (groups, read_at, damages, clocks) =
            (world.groups(), world.now(), world.damages(), Arc::clone(world));
        let stack = world.layers.draw();
        world.note(|| format!("open over {stack:?}"));
        let options = Options {
            clock: Clock::new(move || clocks.clock_us(me)),
            block_cache_bytes: 1 << 16,
            bytes_max: world.terms.bytes_max,
            blob_bytes_min: world.terms.blob_bytes_min(),
            random: world.random(u64::MAX),
            layers: stack.map_or_else(Vec::new, Stack::sources),
            ..Options::default()
        };
        let store =
            Store::open(Arc::new(TurnVfs::new(world, has_locks)), Arc::new(SerialPool), options)?;
        let mut handle = store.handle();
        let id = handle.namespace("n", "1")?;
        let versions = VERSIONS
            .iter()
            .map(|version| handle.namespace("versions", version))
            .collect::<Result<_>>()?;
        let seen = groups.iter().map(|group| group.acknowledged).collect();
        let established = groups.into_iter().map(|group| group.established).collect();
        let world = Arc::clone(world);
        Ok(Self {
            world,
            me,
            handle,
            id,
            versions,
            stack,
            read_at,
            damages,
            seen,
            established,
            stored: None,
            committed: None,
            version: None,
            base: Vec::new(),
        })
    }

    fn live(&mut self) -> Result<()> {
        self.check()?;
        for _ in 0..=self.world.random(STEPS_MAX) {
            self.world.expose(self.me, true);
            match self.step() {
                Err(error) if self.world.terms.calls_per_fault > 0 => {
                    self.world.note(|| format!("failed: {error}"));
                    self.world.count("failures");
                }
                outcome => outcome?,
            }
            if self.world.has_failed() {
                return Ok(());
            }
        }
        if self.world.random(4) > 0 {
            self.world.expose(self.me, true);
            self.world.note(|| "close".to_owned());
            self.handle.store().close()?;
            self.make_durable();
        }
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        match self.world.random(33) {
            0..14 => self.commit(),
            14..18 => self.store_file(),
            18..22 => self.compact(false),
            22..26 => self.compact(true),
            26..28 => {
                self.handle.store().flush()?;
                self.make_durable();
                Ok(())
            }
            28 => self.repair(),
            _ => self.refresh(),
        }
    }

    fn commit(&mut self) -> Result<()> {
        let (world, me, id) = (Arc::clone(&self.world), self.me, self.id);
        self.begin_log();
        let number = world.begin(me, &self.base, self.stack.is_some());
        world.note(|| format!("commit {number}"));
        let damages = world.damages();
        let is_looked_for =
            !world.terms.is_capped() && (damages > 0 || number.is_multiple_of(COMMITS_PER_LOOK));
        // A process whose clock is behind commits below the entries that a damaged table may have had: a miss.
        let was_sound = damages == 0 || world.is_in_step() && newcomer::opens_sound(&world);
        let text = number.to_string();
        self.handle.put(id, format!("{me} a").as_bytes(), text.as_bytes())?;
        let large =
            if number % 4 == 2 { format!("{text} {}", "x".repeat(100)) } else { text.clone() };
        self.handle.put(id, format!("{me} f").as_bytes(), large.as_bytes())?;
        let outputs = format!("{me} o");
        match self.stored.take() {
            Some((content, file, hold)) => {
                let value = [text.as_bytes(), b" ", &content].concat();
                self.handle.put_with_blobs(id, outputs.as_bytes(), &value, &[file])?;
                self.handle.keep(hold);
            }
            None => self.handle.put(id, outputs.as_bytes(), text.as_bytes())?,
        }
        if number % 3 == 0 {
            self.handle.delete(id, format!("{me} d").as_bytes())?;
        } else {
            self.handle.put(id, format!("{me} d").as_bytes(), text.as_bytes())?;
        }
        self.handle.put(id, format!("{me} #{number}").as_bytes(), text.as_bytes())?;
        if world.terms.has_large && number.is_multiple_of(COMMITS_PER_LARGE) {
            self.handle.put(id, format!("{me} large").as_bytes(), &vec![b'x'; LARGE_BYTES])?;
            world.count("attached");
        }
        let shared = world.begin_shared(self.stack.is_some());
        self.handle.put(id, b"shared", shared.to_string().as_bytes())?;
        let drawn = self.versions[world.random(VERSIONS.len() as u64) as usize];
        let version = *self.version.get_or_insert(drawn);
        self.handle.put(version, b"shared", shared.to_string().as_bytes())?;
        if world.layers.is_any() {
            self.handle.delete(version, b"gone")?;
        }
        let durability =
            if world.random(4) == 0 { Durability::Durable } else { Durability::Relaxed };
        if let Some(commit) = self.handle.begin_commit() {
            commit.run(Some(durability), 1_000 + number)?;
        }
        world.note(|| format!("acknowledged {number}"));
        world.acknowledge(me, number, self.stack.is_some());
        world.acknowledge_shared(shared);
        self.seen[me] = number;
        (self.committed, self.version) = (Some(number), None);
        if durability == Durability::Durable {
            self.make_durable();
        }
        if is_looked_for {
            newcomer::look_for(&world, me, number, was_sound && world.damages() == damages);
        }
        self.check_group(me)
    }

    /// The namespace of an id.
    pub(super) fn space(&self, id: u32) -> Space {
        self.versions.iter().position(|version| *version == id).map_or(Space::Fixed, Space::Version)
    }

    /// Its commits of this life survive a power failure from now on.
    fn make_durable(&self) {
        if let Some(number) = self.committed {
            self.world.make_durable(self.me, number);
        }
    }

    fn begin_log(&mut self) {
        if self.base.is_empty() {
            self.base = self.seen.clone();
        }
    }

    /// Stores content that others store as well, for the next commit to name.
    fn store_file(&mut self) -> Result<()> {
        self.begin_log(); // it pins the file
        let content = format!("content {}", self.world.random(3)).repeat(10).into_bytes();
        self.world.note(|| "store a file".to_owned());
        let intake = BlobWriter::new(self.handle.store())?;
        let file = intake.store(&content)?;
        self.stored = Some((content, file, intake.into_pin()));
        Ok(())
    }

    pub(super) fn compact(&mut self, full: bool) -> Result<()> {
        self.world.note(|| format!("compact, full: {full}"));
        match self.handle.store().compact(full, &|_, _| ControlFlow::Continue(())) {
            Err(error) if matches!(*error, Error::Busy { .. }) => {
                self.world.count("busy");
                Ok(())
            }
            outcome => outcome.map(|_| ()),
        }
    }

    /// While nothing was damaged there is nothing to repair, whatever the others do.
    fn repair(&mut self) -> Result<()> {
        self.world.note(|| "repair".to_owned());
        self.world.count("repairs");
        match self.handle.store().repair(false, &|_, _| ControlFlow::Continue(())) {
            Err(error) if matches!(*error, Error::Busy { .. }) => self.world.count("busy"),
            outcome => {
                let damage = self.damage_here(outcome?.damage);
                if self.world.damages() == 0 && !damage.is_empty() {
                    self.world.violation(format!(
                        "a repair reports damage, although nothing was damaged: {damage:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// After it, what others had acknowledged before must be there.
    fn refresh(&mut self) -> Result<()> {
        for (index, group) in self.world.groups().into_iter().enumerate() {
            self.seen[index] = group.acknowledged.max(self.seen[index]);
            self.established[index] = group.established;
        }
        (self.read_at, self.damages) = (self.world.now(), self.world.damages());
        self.world.note(|| "refresh".to_owned());
        self.handle.store().refresh()?;
        self.check()
    }

    /// At the end, as the only participant: repairs damage and compacts everything; nothing is lost, and no obsolete
    /// file remains.
    pub(super) fn tidy_up(&mut self, files_max: usize) -> Result<()> {
        self.check()?;
        let watch = &|_, _| ControlFlow::Continue(());
        if self.world.damages() > 0 {
            let remaining = self.damage_here(self.handle.store().repair(false, watch)?.remaining);
            if !remaining.is_empty() {
                self.world.violation(format!("a repair leaves {remaining:?}"));
            }
        }
        if self.world.damages() > 0 || self.world.terms.calls_per_fault > 0 {
            // Acts as a participant after its last life. Now there is a manifest in any case.
            self.me = 0;
            self.commit()?;
        }
        self.compact(true)?;
        self.compact(true)?;
        self.check()?;
        let damage = self.damage_here(self.handle.store().verify(watch)?.damage);
        if !damage.is_empty() {
            self.world.violation(format!("verify found {damage:?}"));
        }
        let stored = self.handle.store().list_blobs()?.len() as u64;
        let stats = self.handle.store().stats()?;
        let named = stats.blobs;
        // After damage, a file may be one of the layers.
        if stored != named
            && !(stored < named && self.world.damages() > 0 && self.world.layers.is_any())
        {
            self.world
                .violation(format!("{stored} files of content are stored, entries name {named}"));
        }
        let bytes = stats.table_bytes + stats.blob_bytes;
        if bytes > self.world.terms.bytes_max {
            self.world.violation(format!(
                "{bytes} bytes are left of a cap of {}",
                self.world.terms.bytes_max
            ));
        }
        let mut names = self.world.names_in_use();
        names.retain(|name| !name.contains('/') && !name.ends_with(".bad"));
        if names.len() > files_max {
            self.world.violation(format!("files stay behind: {names:?}"));
        }
        Ok(())
    }
}
