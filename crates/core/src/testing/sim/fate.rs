//! What a crash does to unsynced operations. A [`Plan`] gives each of them a [`Fate`]. If the [`Model`] of the file
//! system promises no order:
//!
//! 1. nothing happened, everything happened, only names changed, only bytes were written;
//! 2. all but one happened, only one happened (an append also with the names of its file, since it is invisible
//!    otherwise);
//! 3. all happened but one append is torn: cut at a 512-byte boundary of the file, cut at any byte, or the file grew
//!    and some sectors are zeros. The newest append goes through many tears, older ones through a few: they were the
//!    newest in an earlier prefix;
//! 4. names changed, and of all bytes only a part of the newest append was written;
//! 5. random mixtures of these.
//!
//! With `Model::Ordered` and `Model::Journaled` each number of changes of names, in order, with none, all or some of
//! the bytes.

use super::journal::{InodeId, Operation};
use std::collections::BTreeMap;

/// What a file system promises about operations that were not synced themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// Only what POSIX promises: bytes are durable after a sync of their file, names after a sync of their directory.
    /// Other changes may be missing, reordered, torn or zeros.
    Posix,
    /// As `Posix`, but a sync of a file also makes its own new names durable.
    Weak,
    /// Like ext4 with `data=ordered`: names change in order, any sync makes every earlier change of a name durable, and
    /// a file never becomes longer than the bytes written to it.
    Ordered,
    /// Like NTFS: as `Ordered`, but lengths of files are in the same journal as names. So an append after a lost change
    /// of a name is lost, too. Directories have no sync.
    Journaled,
}

impl Model {
    /// Every model of systems with a sync of directories.
    pub const ALL: [Self; 3] = [Self::Posix, Self::Weak, Self::Ordered];

    /// Whether names change in order.
    pub(super) fn is_ordered(self) -> bool {
        matches!(self, Self::Ordered | Self::Journaled)
    }

    /// The plans for the pending operations.
    pub(super) fn plans(self, pending: &[Pending], seed: u64, random: usize) -> Vec<Plan> {
        if self.is_ordered() {
            ordered_plans(pending, seed, random)
        } else {
            plans(pending, seed, random)
        }
    }

    /// The fate of each pending operation.
    pub(super) fn fates(self, plan: Plan, pending: &[Pending]) -> Vec<Fate> {
        let fate = |(position, one): (usize, &Pending)| match self {
            Self::Weak if one.file_synced => Fate::Kept,
            _ => plan.fate(position, one),
        };
        let mut fates: Vec<Fate> = match plan {
            Plan::InOrder { names, bytes } => {
                ordered_fates(names, bytes, pending, self == Self::Journaled)
            }
            _ => pending.iter().enumerate().map(fate).collect(),
        };
        fates
            .iter_mut()
            .zip(pending)
            .filter(|(_, one)| one.is_durable)
            .for_each(|(fate, _)| *fate = Fate::Kept);
        fates
    }
}

/// Disks write a sector whole or not at all.
pub(super) const SECTOR_BYTES: u64 = 512;

/// The system's cache writes pages.
const PAGE_BYTES: u64 = 4096;

/// An unsynced operation.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) operation: Operation,
    /// It gives a name to a file that was synced since. Some file systems make such a name durable, others do not.
    pub(super) file_synced: bool,
    /// It is on the disk, unlike operations before it. A later sync of its file makes all of them durable, in order.
    pub(super) is_durable: bool,
}

/// The fate of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    Dropped,
    /// Only this many bytes of an append.
    Cut(usize),
    /// The length of an append, and the bytes outside of these sectors.
    Zeroed(Sectors),
}

/// Some of the sectors that an append touches, counted from its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sectors {
    All,
    Only(u64),
    AllBut(u64),
    Random(u64),
}

impl Sectors {
    pub(super) fn contains(self, sector: u64) -> bool {
        match self {
            Self::All => true,
            Self::Only(only) => sector == only,
            Self::AllBut(other) => sector != other,
            Self::Random(seed) => mix(seed, sector) & 1 == 0,
        }
    }
}

/// A fate for every pending operation; a number is a position among them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    Nothing,
    Everything,
    OnlyNames,
    OnlyBytes,
    AllBut(usize),
    Only(usize),
    /// One append, and every name of its file.
    OnlySeen(usize, InodeId),
    Torn(usize, Fate),
    /// One append torn, and every name, and no other bytes.
    OnlyTorn(usize, Fate),
    Random(u64),
    /// This many changes of names, and the first bytes of each file.
    InOrder {
        names: usize,
        bytes: Arrived,
    },
}

/// How much of the bytes appended to each file is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    Nothing,
    Everything,
    Some(u64),
}

impl Plan {
    fn fate(self, position: usize, pending: &Pending) -> Fate {
        let operation = &pending.operation;
        let happens = match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::OnlyNames => operation.changes_names(),
            Self::OnlyBytes => !operation.changes_names(),
            Self::AllBut(one) => position != one,
            Self::Only(one) => position == one,
            Self::OnlySeen(one, inode) => position == one || operation.names() == Some(inode),
            Self::Torn(one, fate) | Self::OnlyTorn(one, fate) if position == one => return fate,
            Self::Torn(..) => true,
            Self::OnlyTorn(..) => operation.changes_names(),
            Self::Random(seed) => return random_fate(seed, position, operation),
            Self::InOrder { .. } => false,
        };
        if happens { Fate::Kept } else { Fate::Dropped }
    }
}

fn ordered_plans(pending: &[Pending], seed: u64, random: usize) -> Vec<Plan> {
    let renamings = pending.iter().filter(|one| one.operation.changes_names()).count();
    let mut plans = Vec::new();
    for names in 0..=renamings {
        plans.extend(
            [Arrived::Nothing, Arrived::Everything].map(|bytes| Plan::InOrder { names, bytes }),
        );
    }
    plans.extend((0..random as u64).map(|index| {
        let dice = mix(seed, index);
        Plan::InOrder { names: (dice >> 32) as usize % (renamings + 1), bytes: Arrived::Some(dice) }
    }));
    plans
}

fn ordered_fates(
    names: usize,
    arrived: Arrived,
    pending: &[Pending],
    is_journaled: bool,
) -> Vec<Fate> {
    let mut spans: BTreeMap<InodeId, (u64, u64)> = BTreeMap::new();
    for one in pending {
        if let Operation::Append { inode, offset, bytes, .. } = &one.operation {
            let end = offset + bytes.len() as u64;
            spans
                .entry(*inode)
                .and_modify(|span| span.1 = span.1.max(end))
                .or_insert((*offset, end));
        }
    }
    let end_of = |inode: InodeId| match (arrived, spans.get(&inode)) {
        (Arrived::Everything, _) => u64::MAX,
        (Arrived::Some(seed), Some((start, end))) => {
            // A file grows by pages, or by the bytes of one append.
            let place = start + mix(seed, inode as u64) % (end - start + 1);
            if mix(seed, !(inode as u64)) & 1 == 0 {
                place
            } else {
                place / PAGE_BYTES * PAGE_BYTES
            }
        }
        _ => 0,
    };
    let mut changed = 0;
    let fate = |one: &Pending| {
        if one.operation.changes_names() {
            changed += 1;
            return if changed <= names { Fate::Kept } else { Fate::Dropped };
        }
        let Operation::Append { inode, offset, bytes, .. } = &one.operation else {
            return Fate::Kept;
        };
        match end_of(*inode).checked_sub(*offset) {
            _ if is_journaled && changed > names => Fate::Dropped,
            None | Some(0) => Fate::Dropped,
            Some(length) if length < bytes.len() as u64 => Fate::Cut(length as usize),
            Some(_) => Fate::Kept,
        }
    };
    pending.iter().map(fate).collect()
}

/// The plans for file systems without an order.
fn plans(pending: &[Pending], seed: u64, random: usize) -> Vec<Plan> {
    let mut plans = vec![Plan::Nothing];
    if pending.is_empty() {
        return plans;
    }
    plans.extend([Plan::Everything, Plan::OnlyNames, Plan::OnlyBytes]);
    if pending.len() > 1 {
        for (position, one) in pending.iter().enumerate() {
            plans.extend([Plan::AllBut(position), Plan::Only(position)]);
            plans.extend(one.operation.appends_to().map(|inode| Plan::OnlySeen(position, inode)));
        }
    }
    let mut newest = true;
    for (position, one) in pending.iter().enumerate().rev().filter(|(_, one)| !one.is_durable) {
        let Operation::Append { offset, bytes, .. } = &one.operation else { continue };
        let seed = mix(seed, position as u64);
        let tears = if newest {
            many_tears(*offset, bytes.len(), seed)
        } else {
            few_tears(*offset, bytes.len(), seed)
        };
        if newest {
            plans.extend(
                few_tears(*offset, bytes.len(), mix(seed, 1))
                    .into_iter()
                    .map(|f| Plan::OnlyTorn(position, f)),
            );
        }
        plans.extend(tears.into_iter().map(|fate| Plan::Torn(position, fate)));
        newest = false;
    }
    plans.extend((0..random as u64).map(|index| Plan::Random(mix(seed, index))));
    plans
}

/// Most tears of one kind; if more are possible, some are chosen at random.
const TEARS_MAX: u64 = 8;

fn many_tears(offset: u64, length: usize, seed: u64) -> Vec<Fate> {
    let sectors = sector_count(offset, length);
    let mut tears: Vec<Fate> =
        some_of(sectors, seed).filter_map(|sector| cut_before(offset, length, sector)).collect();
    tears.extend(
        some_of(length as u64, mix(seed, 2))
            .filter(|&cut| cut > 0)
            .map(|cut| Fate::Cut(cut as usize)),
    );
    tears.push(Fate::Zeroed(Sectors::All));
    if sectors > 1 {
        for sector in some_of(sectors, mix(seed, 3)) {
            tears.extend([
                Fate::Zeroed(Sectors::Only(sector)),
                Fate::Zeroed(Sectors::AllBut(sector)),
            ]);
        }
    }
    if sectors > 3 {
        tears.extend((4..8).map(|salt| Fate::Zeroed(Sectors::Random(mix(seed, salt)))));
    }
    tears
}

fn few_tears(offset: u64, length: usize, seed: u64) -> Vec<Fate> {
    let sectors = sector_count(offset, length);
    let mut tears = vec![Fate::Zeroed(Sectors::All)];
    tears.extend(cut_before(offset, length, mix(seed, 1) % sectors.max(1)));
    tears.extend(cut_at(mix(seed, 2), length));
    if sectors > 1 {
        tears.push(Fate::Zeroed(Sectors::Random(mix(seed, 3))));
    }
    tears
}

fn random_fate(seed: u64, position: usize, operation: &Operation) -> Fate {
    let dice = mix(seed, position as u64);
    // Some mixtures keep almost all operations, some almost none.
    let kept_of_eight = 1 + mix(seed, u64::MAX) % 7;
    let happens = dice % 8 < kept_of_eight;
    match operation {
        Operation::Append { offset, bytes, .. } if (dice >> 8).is_multiple_of(4) => {
            let tears = few_tears(*offset, bytes.len(), dice);
            let chosen = (dice >> 16) as usize % tears.len();
            tears.get(chosen).copied().unwrap_or(Fate::Dropped)
        }
        _ if happens => Fate::Kept,
        _ => Fate::Dropped,
    }
}

/// All numbers below `count`, or the first, the last and some between.
fn some_of(count: u64, seed: u64) -> impl Iterator<Item = u64> {
    let number = move |index| match index {
        _ if count <= 2 * TEARS_MAX => index,
        0 => 0,
        1 => 1,
        2 => count - 1,
        _ => mix(seed, index) % count,
    };
    (0..if count <= 2 * TEARS_MAX { count } else { TEARS_MAX }).map(number)
}

fn sector_count(offset: u64, length: usize) -> u64 {
    (offset + length as u64).div_ceil(SECTOR_BYTES) - offset / SECTOR_BYTES
}

/// Cuts an append before the given sector.
fn cut_before(offset: u64, length: usize, sector: u64) -> Option<Fate> {
    let cut = ((offset / SECTOR_BYTES + sector) * SECTOR_BYTES).checked_sub(offset)?;
    (0 < cut && cut < length as u64).then_some(Fate::Cut(cut as usize))
}

fn cut_at(dice: u64, length: usize) -> Option<Fate> {
    (length > 1).then(|| Fate::Cut(1 + dice as usize % (length - 1)))
}

/// One step of splitmix64: the same numbers on every machine.
pub(super) fn mix(seed: u64, salt: u64) -> u64 {
    let mut value = seed.wrapping_add(salt.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
