//! Namespaces in a state: the current version of each name, with its memtable and tables.

use super::memtable::Memtable;
use super::namespace_tables::TableSelector;
use super::{LiveTable, Place, State};
use crate::error::Result;
use crate::format::namespace_ids::NamespaceId;
use crate::format::order;
use crate::state::context::Context;
use std::sync::Arc;

/// If more tables arrive at once, all are sorted instead of inserted one by one.
const INSERTED_MAX: usize = 64;

/// One namespace at its current version.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub(crate) id: Arc<NamespaceId>,
    pub(super) memtable: Memtable,
    /// Newest first.
    pub(crate) tables: Vec<LiveTable>,
    pub(crate) selector: TableSelector,
    pub(crate) hidden_below: u64,
    /// Whether lookups end with the cache, and see nothing of layers.
    pub(crate) hides_layers: bool,
    pub(crate) oldest_ms: u64,
    pub(crate) newest_ms: u64,
}

/// The current version of a name: that of its newest commit.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) id: Arc<NamespaceId>,
    pub(crate) latest: u64,
}

impl State {
    /// The namespace of that number; `None` if it is not current.
    #[inline]
    pub(crate) fn namespace(&self, number: u32) -> Option<&Namespace> {
        self.namespaces.get(number as usize)?.as_deref()
    }

    pub(crate) fn namespace_mut(&mut self, number: u32) -> Option<&mut Namespace> {
        self.namespaces.get_mut(number as usize)?.as_deref_mut()
    }

    /// All namespaces, each at its current version.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &Namespace> {
        self.namespaces.iter().flatten().map(|namespace| &**namespace)
    }

    /// Every table, including those of versions that are not current.
    pub(crate) fn live_tables(&self) -> impl Iterator<Item = &LiveTable> {
        self.namespaces().flat_map(|namespace| &namespace.tables).chain(&self.superseded)
    }

    /// Records a commit to a version of a name. The version of the newest commit is current, and of its entries only
    /// those count that are newer than every commit of other versions. The result does not depend on the order in which
    /// commits are read, and no entry of a replaced version can count again.
    pub(super) fn record_version(
        &mut self,
        context: &Context,
        name: &str,
        version: &str,
        sequence: u64,
    ) -> Result<Arc<NamespaceId>> {
        let current = self.current.get_mut(name);
        if let Some(current) = current.filter(|current| current.id.version == version) {
            current.latest = current.latest.max(sequence);
            return Ok(Arc::clone(&current.id));
        }
        let id = context.namespace_ids.id(name, version)?;
        match self.current.get(name).map(|current| (current.latest, current.id.number)) {
            Some((latest, number)) if sequence <= latest => {
                if let Some(namespace) = self.namespace_mut(number) {
                    namespace.hidden_below = namespace.hidden_below.max(sequence.saturating_add(1));
                }
            }
            _ => self.begin_version(Arc::clone(&id), sequence),
        }
        Ok(id)
    }

    /// Makes a version current.
    fn begin_version(&mut self, id: Arc<NamespaceId>, sequence: u64) {
        let before =
            self.current.insert(id.name.clone(), Current { id: Arc::clone(&id), latest: sequence });
        let replaced = before
            .as_ref()
            .and_then(|before| self.namespaces.get_mut(before.id.number as usize)?.take());
        self.superseded.extend(replaced.into_iter().flat_map(|namespace| namespace.tables));
        let index = id.number as usize;
        if self.namespaces.len() <= index {
            self.namespaces.resize_with(index + 1, || None);
        }
        let hidden_below = before.map_or(0, |before| before.latest.saturating_add(1));
        if let Some(place) = self.namespaces.get_mut(index) {
            *place = Some(Box::new(Namespace::new(id, hidden_below)));
        }
    }

    /// Adds tables to a version, whether or not it is current.
    pub(super) fn add_tables(&mut self, id: &NamespaceId, added: Vec<LiveTable>) {
        match self.namespace_mut(id.number) {
            Some(namespace) => namespace.add_tables(added),
            None => self.superseded.extend(added),
        }
    }
}

impl Namespace {
    fn new(id: Arc<NamespaceId>, hidden_below: u64) -> Self {
        let (memtable, tables, selector) =
            (Memtable::default(), Vec::new(), TableSelector::default());
        Self {
            id,
            memtable,
            tables,
            selector,
            hidden_below,
            hides_layers: false,
            oldest_ms: 0,
            newest_ms: 0,
        }
    }

    pub(super) fn snapshot(&self) -> Self {
        let (id, memtable, tables) =
            (Arc::clone(&self.id), self.memtable.snapshot(), self.tables.clone());
        Self { id, memtable, tables, selector: TableSelector::default(), ..*self }
    }

    /// Extends the range of commit times.
    pub(super) fn record_times(&mut self, oldest_ms: u64, newest_ms: u64) {
        self.newest_ms = self.newest_ms.max(newest_ms);
        self.oldest_ms =
            if self.oldest_ms == 0 { oldest_ms } else { self.oldest_ms.min(oldest_ms) };
    }

    /// Memtable entries with hashes from `from` up to but not including `end`, hidden ones included; after
    /// `sort_memtables`.
    pub(crate) fn memtable_window(&self, from: u64, end: u64) -> &[(u32, Place)] {
        self.memtable.window(from, end)
    }

    /// Inserts tables in their places: newest first; among tables of equal sequence number, the last one first.
    pub(crate) fn add_tables(&mut self, added: Vec<LiveTable>) {
        if added.len() <= INSERTED_MAX {
            return added.into_iter().for_each(|live| self.add_table(live));
        }
        let before = std::mem::take(&mut self.tables);
        self.tables = added.into_iter().rev().chain(before).collect();
        let sequence = |live: &LiveTable| live.table.meta.sequence_max;
        order::sort_by(&mut self.tables, |left, right| sequence(right).cmp(&sequence(left)));
        self.selector = TableSelector::default();
        self.selector.inserted(0, self.tables.iter().map(|live| live.table.meta.entries).sum());
    }

    fn add_table(&mut self, live: LiveTable) {
        let at = self
            .tables
            .partition_point(|other| other.table.meta.sequence_max > live.table.meta.sequence_max);
        self.selector.inserted(at, live.table.meta.entries);
        self.tables.insert(at, live);
    }
}
