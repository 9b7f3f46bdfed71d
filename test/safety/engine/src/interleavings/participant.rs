//! What a participant of a schedule does, and what it must find. A commit of number n by participant p gives n to all
//! its keys: `p a` a short value, `p f` a short one or a large one, which is a file, `p o` an entry that needs a file
//! whose content others store, too, `p d` only where n is no multiple of 3, and `p #n` of its own. All participants
//! write the key `shared`, and change the version of the namespace `versions` there and back.

use super::turn::TurnVfs;
use super::world::{SharedCommit, World};
use std::ops::ControlFlow;
use std::sync::Arc;
use varve_core::{Clock, Durability, Error, FileRef, Handle, Hold, Intake, Options, Result, SerialPool, Store};

/// Steps of one life, at most.
const STEPS_MAX: u64 = 6;

/// Versions of the namespace that changes.
const VERSIONS: [&str; 2] = ["1", "2"];

/// How often a file that is missing is looked for in a newer state, as the API does for large values.
const READS: u32 = 8;

/// One life of a participant, from open to close.
pub(super) fn live(world: &Arc<World>, me: usize, has_locks: bool) {
    if let Err(error) = Participant::open(world, me, has_locks).and_then(|mut participant| participant.live()) {
        match error {
            // It lost every race: an answer, too.
            Error::Busy { .. } => world.count_busy(),
            error => world.violation(format!("participant {me}: {error}")),
        }
    }
}

pub(super) struct Participant {
    world: Arc<World>,
    me: usize,
    handle: Handle,
    id: u32,
    /// Of each version of the namespace that changes.
    versions: Vec<u32>,
    /// When what it sees was read, in calls.
    read_at: u64,
    /// The highest number seen of each participant.
    seen: Vec<u64>,
    /// Content stored for a commit to come.
    stored: Option<(Vec<u8>, FileRef, Hold)>,
}

impl Participant {
    pub(super) fn open(world: &Arc<World>, me: usize, has_locks: bool) -> Result<Self> {
        let (acknowledged, read_at, clocks) = (world.groups(), world.now(), Arc::clone(world));
        let options = Options {
            clock: Clock::new(move || clocks.clock_us(me)),
            block_cache_bytes: 1 << 16,
            file_bytes_min: world.file_bytes_min,
            random: world.random(u64::MAX),
            ..Options::default()
        };
        let store = Store::open(Arc::new(TurnVfs::new(world, has_locks)), Arc::new(SerialPool), options)?;
        let mut handle = store.handle();
        let id = handle.namespace("n", "1")?;
        let versions = VERSIONS.iter().map(|version| handle.namespace("versions", version)).collect::<Result<_>>()?;
        let seen = acknowledged.iter().map(|group| group.acknowledged).collect();
        Ok(Self { world: Arc::clone(world), me, handle, id, versions, read_at, seen, stored: None })
    }

    fn live(&mut self) -> Result<()> {
        self.check()?;
        for _ in 0..=self.world.random(STEPS_MAX) {
            match self.world.random(16) {
                0..7 => self.commit()?,
                7..9 => self.store_file()?,
                9..11 => self.compact(false)?,
                11..13 => self.compact(true)?,
                13 => self.handle.store().flush()?,
                _ => self.refresh()?,
            }
            if self.world.has_failed() {
                return Ok(());
            }
        }
        if self.world.random(4) > 0 {
            self.world.note(|| "close".to_owned());
            self.handle.store().close()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let (world, me, id) = (Arc::clone(&self.world), self.me, self.id);
        let number = world.begin(me);
        world.note(|| format!("commit {number}"));
        let text = number.to_string();
        self.handle.put(id, format!("{me} a").as_bytes(), text.as_bytes())?;
        let large = if number % 4 == 2 { format!("{text} {}", "x".repeat(100)) } else { text.clone() };
        self.handle.put(id, format!("{me} f").as_bytes(), large.as_bytes())?;
        let outputs = format!("{me} o");
        match self.stored.take() {
            Some((content, file, hold)) => {
                let value = [text.as_bytes(), b" ", &content].concat();
                self.handle.put_filed(id, outputs.as_bytes(), &value, &[file])?;
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
        let shared = world.begin_shared();
        self.handle.put(id, b"shared", shared.to_string().as_bytes())?;
        let version = self.versions[world.random(VERSIONS.len() as u64) as usize];
        self.handle.put(version, b"shared", shared.to_string().as_bytes())?;
        let durability = if world.random(4) == 0 { Durability::Durable } else { Durability::Relaxed };
        if let Some(commit) = self.handle.begin_commit() {
            commit.run(Some(durability), 1_000 + number)?;
        }
        world.note(|| format!("acknowledged {number}"));
        world.acknowledge(me, number);
        world.acknowledge_shared(shared);
        self.seen[me] = number;
        self.check_group(me, number)
    }

    /// Stores content that others store as well, for the next commit to name.
    fn store_file(&mut self) -> Result<()> {
        let content = format!("content {}", self.world.random(3)).repeat(10).into_bytes();
        self.world.note(|| "store a file".to_owned());
        let intake = Intake::new(self.handle.store())?;
        let file = intake.store(&content)?;
        self.stored = Some((content, file, intake.into_hold()));
        Ok(())
    }

    pub(super) fn compact(&mut self, full: bool) -> Result<()> {
        self.world.note(|| format!("compact, full: {full}"));
        match self.handle.store().compact(full, &|_, _| ControlFlow::Continue(())) {
            Err(Error::Busy { .. }) => {
                self.world.count_busy();
                Ok(())
            }
            outcome => outcome.map(|_| ()),
        }
    }

    /// After it, what others had acknowledged before must be there.
    fn refresh(&mut self) -> Result<()> {
        for (seen, group) in self.seen.iter_mut().zip(self.world.groups()) {
            *seen = group.acknowledged.max(*seen);
        }
        self.read_at = self.world.now();
        self.world.note(|| "refresh".to_owned());
        self.handle.store().refresh()?;
        self.check()
    }

    /// Every group whole, none older than what was seen or acknowledged before this state was read.
    pub(super) fn check(&mut self) -> Result<()> {
        for (index, group) in self.world.groups().into_iter().enumerate() {
            let floor = self.seen[index];
            self.check_group(index, floor)?;
            for number in group.history.iter().filter(|number| **number <= floor) {
                if self.number(&format!("{index} #{number}"))?.is_none() {
                    self.world.violation(format!("commit {number} of {index} is lost"));
                }
            }
        }
        self.check_shared()?;
        let damage = self.handle.store().status().damage;
        if !damage.is_empty() {
            self.world.violation(format!("damage where nothing was damaged: {damage:?}"));
        }
        self.world.count_read();
        Ok(())
    }

    /// Of commits to one key the last one is found, unless others went on beside it: then one of those.
    fn check_shared(&mut self) -> Result<()> {
        if !self.world.is_in_step() {
            return Ok(());
        }
        let commits = self.world.shared();
        let own = self.number_in(self.id, "shared")?;
        let mut of_versions = Vec::new();
        for version in self.versions.clone() {
            of_versions.extend(self.number_in(version, "shared")?);
        }
        if of_versions.len() > 1 {
            self.world.violation(format!("several versions at once: {of_versions:?}"));
        }
        for (what, found) in [("key", own), ("version", of_versions.first().copied())] {
            // When the commit that was found was over; before everything if none was.
            let over =
                found.map_or(Some(0), |number| commits.get(number as usize).and_then(|commit| commit.acknowledged));
            let is_newer = |commit: &&SharedCommit| {
                commit.acknowledged.is_some_and(|at| at <= self.read_at) && over.is_some_and(|over| over < commit.begun)
            };
            if let Some(newer) = commits.iter().find(is_newer) {
                self.world.violation(format!("the {what} of all has {found:?}, and {newer:?} came after it"));
            }
        }
        Ok(())
    }

    fn check_group(&mut self, index: usize, floor: u64) -> Result<()> {
        let number = self.number(&format!("{index} a"))?.unwrap_or(0);
        let ceiling = self.world.groups()[index].begun;
        if number < floor || number > ceiling {
            self.world.violation(format!("{index} has {number}, not from {floor} to {ceiling}"));
        }
        let here = Some(number).filter(|number| *number > 0);
        for (key, expected) in [("f", here), ("o", here), ("d", here.filter(|number| number % 3 != 0))] {
            let found = self.number(&format!("{index} {key}"))?;
            // A writer may lose its hold with its log, to a process that cannot test locks if it has one; then the
            // entry of the files is a miss.
            let may_miss = key == "o" && self.world.groups().iter().any(|group| !group.has_lock);
            if found != expected && !(may_miss && found.is_none()) {
                // A file may be collected because its entry was overwritten since: a miss, in an older state only.
                if found.is_none() && self.handle.store().refresh()? {
                    return self.check_group(index, floor);
                }
                self.world.violation(format!("a mixture: {index} a has {number}, {index} {key} {found:?}"));
            }
        }
        // What a writer without a lock has not acknowledged may have been appended to a log that was taken: it is
        // seen, goes, and comes again.
        let group = &self.world.groups()[index];
        if group.has_lock || number <= group.acknowledged {
            self.seen[index] = self.seen[index].max(number);
        }
        self.check_output(index, number)
    }

    /// The file that `o` needs must be there as long as `o` is.
    fn check_output(&mut self, index: usize, number: u64) -> Result<()> {
        let key = format!("{index} o");
        for attempt in 0..READS {
            let Some(value) = self.handle.get(self.id, key.as_bytes(), <[u8]>::to_vec)? else { return Ok(()) };
            let mut parts = value.splitn(2, |byte| *byte == b' ');
            let (Some(now), Some(content)) = (parts.next(), parts.next()) else { return Ok(()) };
            if self.handle.store().read_file(&FileRef::of(content))?.is_some_and(|read| read == content) {
                return Ok(());
            }
            if attempt + 1 < READS && self.handle.store().refresh()? {
                continue;
            }
            let now = String::from_utf8_lossy(now).into_owned();
            self.world.violation(format!("the file of {index} o, commit {now} (first {number}), is missing"));
            break;
        }
        Ok(())
    }

    fn number(&mut self, key: &str) -> Result<Option<u64>> {
        self.number_in(self.id, key)
    }

    fn number_in(&mut self, id: u32, key: &str) -> Result<Option<u64>> {
        let parse = |value: &[u8]| String::from_utf8_lossy(value).split(' ').next().unwrap_or_default().parse().ok();
        let found = self.handle.get(id, key.as_bytes(), parse)?;
        if found == Some(None) {
            self.world.violation(format!("the value of {key} is not what anybody wrote"));
        }
        Ok(found.flatten())
    }

    /// At the end, alone: everything is folded, nothing is lost, nothing needless stays.
    pub(super) fn tidy_up(&mut self, files_max: usize) -> Result<()> {
        self.check()?;
        self.compact(true)?;
        self.compact(true)?;
        self.check()?;
        let report = self.handle.store().verify(&|_, _| ControlFlow::Continue(()))?;
        if !report.damage.is_empty() {
            self.world.violation(format!("verify found {:?}", report.damage));
        }
        let stored = self.handle.store().list_files()?.len() as u64;
        let named = self.handle.store().stats()?.content_files;
        if stored != named {
            self.world.violation(format!("{stored} files of content are stored, entries name {named}"));
        }
        let names = varve_core::vfs::Vfs::list(&self.world.vfs).unwrap_or_default();
        if names.len() > files_max {
            self.world.violation(format!("files stay behind: {names:?}"));
        }
        Ok(())
    }
}
