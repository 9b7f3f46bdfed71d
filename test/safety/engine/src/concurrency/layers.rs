//! Sealed layers below the cache, in half of the schedules: all participants have the same ones, some have none, or
//! they change from life to life. Then a newer layer, a layer with other content or a missing one is in their place.
//!
//! What layers have counts as commit 0 of every participant: values begin with 0, and a lookup finds the whole value
//! that the layers of this participant have, or a commit. Once a commit was acknowledged, its puts and deletes hide
//! what layers have, also after they were evicted or damaged (planted: `unmarked-layers`, `layers-lose-deletes`,
//! `layers-ignore-versions`, `evicted-tables-show-layers`). Layers may show again (FORMAT.md, "Layers"):
//! - keys of a namespace that was discarded: by a commit of another version, or by a reset after damage;
//! - keys that some layers of the schedule lack: a compaction over those keeps no delete of them;
//! - keys of commits without layers, before any participant with layers had a commit.

use crate::history::{commit, open_with};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{BlobWriter, Durability, LayerSource, Options, Result};

/// Versions of the namespace that changes.
pub(super) const VERSIONS: [&str; 2] = ["1", "2"];

/// Participants whose keys layers have.
const PARTICIPANTS: usize = super::PARTICIPANTS_MAX;

/// Values of layers from this length on are blobs.
const BLOB_BYTES_MIN: usize = 64;

/// One life in so many has no layers, if layers change.
const LIVES_PER_BARE: usize = 4;

/// A namespace of the schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    /// The namespace that has one version.
    Fixed,
    /// A version of the one that changes, by its place in `VERSIONS`.
    Version(usize),
}

impl Space {
    fn id(self) -> (&'static str, &'static str) {
        match self {
            Self::Fixed => ("n", "1"),
            Self::Version(version) => ("versions", VERSIONS[version]),
        }
    }
}

type Place = (Space, String);

/// What a layer has: values, or `None` for a delete.
type Content = BTreeMap<Place, Option<Vec<u8>>>;

/// The layers of one participant.
pub(super) struct Stack {
    name: &'static str,
    /// The newest first.
    sources: Vec<LayerSource>,
    /// What an empty cache over them shows.
    shown: BTreeMap<Place, Vec<u8>>,
    /// A layer is missing.
    is_partial: bool,
}

impl Stack {
    pub(super) fn sources(&self) -> Vec<LayerSource> {
        self.sources.clone()
    }

    pub(super) fn value(&self, space: Space, key: &str) -> Option<&[u8]> {
        self.shown.get(&(space, key.to_owned())).map(Vec::as_slice)
    }

    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// The layers that are not missing are in `layers`, the newest first.
    fn new(name: &'static str, layers: &[Option<&Layer>]) -> Self {
        let path = |index: usize| format!("/layer/{index}").into();
        let vfs =
            |layer: &Option<&Layer>| layer.map_or_else(SimVfs::new, |layer| layer.vfs.clone());
        let source = |(index, layer)| LayerSource { name: path(index), vfs: Arc::new(vfs(layer)) };
        let here = || layers.iter().flatten();
        let version = here().find_map(|layer| layer.version());
        let mut shown = BTreeMap::new();
        for ((space, key), value) in here().rev().flat_map(|layer| &layer.content) {
            let place = (*space, key.clone());
            match value {
                _ if *space != Space::Fixed && Some(*space) != version => {}
                Some(value) => drop(shown.insert(place, value.clone())),
                None => drop(shown.remove(&place)),
            }
        }
        let sources = layers.iter().enumerate().map(source).collect();
        Self { name, sources, shown, is_partial: layers.iter().any(Option::is_none) }
    }
}

/// A sealed layer.
struct Layer {
    vfs: SimVfs,
    content: Content,
}

impl Layer {
    /// Seals the content, as what changes over the layer below.
    fn seal(content: Content, below: Option<&Self>) -> Result<Self> {
        let below =
            below.map_or_else(Vec::new, |below| Stack::new("below", &[Some(below)]).sources);
        let options =
            Options { layers: below.clone(), blob_bytes_min: BLOB_BYTES_MIN, ..Options::default() };
        let mut handle = open_with(&SimVfs::new(), options)?;
        for ((space, key), value) in &content {
            let (name, version) = space.id();
            let id = handle.namespace(name, version)?;
            match value {
                Some(value) if key.ends_with('o') => {
                    let intake = BlobWriter::new(handle.store())?;
                    let file =
                        intake.store(value.get(OUTPUT_PREFIX.len()..).unwrap_or_default())?;
                    handle.put_with_blobs(id, key.as_bytes(), value, &[file])?;
                    handle.keep(intake.into_pin());
                }
                Some(value) => handle.put(id, key.as_bytes(), value)?,
                None => handle.delete(id, key.as_bytes())?,
            }
        }
        commit(&mut handle, Durability::Relaxed)?;
        let vfs = SimVfs::new();
        let target: Arc<dyn Vfs> = Arc::new(vfs.clone());
        handle.store().seal(&target, &below, &|_, _| ControlFlow::Continue(()))?;
        Ok(Self { vfs, content })
    }

    /// The version of the namespace that changes.
    fn version(&self) -> Option<Space> {
        self.content.keys().map(|(space, _)| *space).find(|space| *space != Space::Fixed)
    }
}

/// What an output has before its content.
const OUTPUT_PREFIX: &str = "0 ";

/// What participants store, too.
fn output(number: usize) -> String {
    format!("{OUTPUT_PREFIX}{}", format!("content {}", number % 3).repeat(10))
}

/// All keys of all participants.
fn base(mark: &str, with_all_deleted: bool) -> Content {
    let (short, long) = (format!("0 {mark}"), format!("0 {mark} {}", "x".repeat(100)));
    let mut content = Content::new();
    let mut put =
        |space, key: String, value: &str| drop(content.insert((space, key), Some(value.into())));
    for me in 0..PARTICIPANTS {
        put(Space::Fixed, format!("{me} a"), &short);
        put(Space::Fixed, format!("{me} f"), &long);
        put(Space::Fixed, format!("{me} o"), &output(me));
        if with_all_deleted || me % 2 == 0 {
            put(Space::Fixed, format!("{me} d"), &short);
        }
    }
    put(Space::Fixed, "shared".to_owned(), &short);
    put(Space::Version(0), "shared".to_owned(), &short);
    put(Space::Version(0), "gone".to_owned(), &short);
    put(Space::Version(0), "kept".to_owned(), &short);
    content
}

/// Of the keys of participants some change and some are deleted; `versions` has a newer version.
fn delta() -> Content {
    let mut content = Content::new();
    let mut change = |space, key: String, value: Option<&str>| {
        content.insert((space, key), value.map(|value| value.as_bytes().to_vec()));
    };
    for me in 0..PARTICIPANTS {
        change(Space::Fixed, format!("{me} f"), Some("0 delta"));
        change(Space::Fixed, format!("{me} d"), Some("0 delta").filter(|_| me % 2 == 0));
        if me % 3 == 0 {
            change(Space::Fixed, format!("{me} a"), Some("0 delta"));
        }
    }
    change(Space::Version(1), "shared".to_owned(), Some("0 delta"));
    change(Space::Version(1), "gone".to_owned(), Some("0 delta"));
    content
}

/// Another delta, which deletes more.
fn other_delta() -> Content {
    let mut content = Content::new();
    let mut change = |space, key: String, value: Option<&str>| {
        content.insert((space, key), value.map(|value| value.as_bytes().to_vec()));
    };
    change(Space::Fixed, "0 o".to_owned(), Some(&output(1)));
    change(Space::Fixed, "1 d".to_owned(), Some("0 other delta"));
    change(Space::Fixed, "shared".to_owned(), None);
    change(Space::Version(0), "gone".to_owned(), None);
    content
}

/// The stacks that schedules choose from.
#[expect(
    clippy::expect_used,
    reason = "a layer that cannot be sealed is a violation of every schedule"
)]
static STACKS: LazyLock<Vec<Stack>> = LazyLock::new(|| {
    let seal = |content, below| Layer::seal(content, below).expect("seal");
    let (first, second) = (seal(base("first", true), None), seal(base("second", false), None));
    let (newer, other) = (seal(delta(), Some(&first)), seal(other_delta(), Some(&first)));
    vec![
        Stack::new("first", &[Some(&first)]),
        Stack::new("second", &[Some(&second)]),
        Stack::new("newer, first", &[Some(&newer), Some(&first)]),
        Stack::new("other, first", &[Some(&other), Some(&first)]),
        Stack::new("missing, first", &[None, Some(&first)]),
        Stack::new("newer, missing", &[Some(&newer), None]),
    ]
});

impl fmt::Debug for Stack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(out)
    }
}

/// The layers of a schedule.
#[derive(Debug)]
pub(super) struct Layers {
    /// None = the schedule has no layers.
    stacks: Vec<&'static Stack>,
    /// One life in so many has none; 0 = all have some.
    lives_per_bare: usize,
    random: Mutex<Rng>,
}

impl Layers {
    /// The draws are apart from those of the schedule, which stays the same without layers.
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed ^ 0x1a7e5);
        let (mut stacks, kind) = (Vec::new(), random.u8(..8));
        if kind < 4 {
            stacks = STACKS.iter().collect();
            random.shuffle(&mut stacks);
            stacks.truncate(if kind < 3 { 1 } else { random.usize(2..=3) });
        }
        let lives_per_bare = match kind {
            0 | 1 => 0,
            2 => 2,
            _ => LIVES_PER_BARE,
        };
        Self { stacks, lives_per_bare, random: Mutex::new(random) }
    }

    pub(super) fn is_any(&self) -> bool {
        !self.stacks.is_empty()
    }

    /// The layers of a process that only looks.
    pub(super) fn first(&self) -> Option<&'static Stack> {
        self.stacks.first().copied()
    }

    /// The layers of a life.
    pub(super) fn draw(&self) -> Option<&'static Stack> {
        if self.stacks.is_empty() {
            return None;
        }
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if self.lives_per_bare > 0 && random.usize(..self.lives_per_bare) == 0 {
            return None;
        }
        self.stacks.get(random.usize(..self.stacks.len())).copied()
    }

    /// Whether a compaction keeps a delete of the key, whichever layers it has, once there was a commit over layers.
    pub(super) fn keep_deletes(&self, space: Space, key: &str) -> bool {
        self.stacks.iter().all(|stack| stack.is_partial || stack.value(space, key).is_some())
    }
}
