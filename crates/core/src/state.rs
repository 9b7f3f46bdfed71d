//! The state of a cache as one process has loaded it: the manifest, its tables, and memtables with the entries of all
//! open logs. Loading only reads.

pub(crate) mod context;
mod current_manifest;
pub(crate) mod failed_syncs;
mod known;
pub(crate) mod layers;
mod lineage;
mod load;
mod log_view;
mod memtable;
mod namespace;
mod namespace_tables;
pub(crate) mod record_usage;
mod revision;
mod table_index;
mod usage;

pub(crate) use current_manifest::{NewestManifest, newest_manifest};
pub(crate) use known::Known;
pub(crate) use layers::Layers;
pub(crate) use load::{catch_up, is_behind, list, load, outline, renew_copy};
pub(crate) use log_view::LogView;
pub(crate) use memtable::{MemtableEntry, Place, Segments};
pub(crate) use namespace::{Current, Namespace};
pub(crate) use table_index::TableIndex;

use crate::error::{Error, Result};
use crate::format::blob_refs::BlobRefs;
use crate::format::bytes::Reader;
use crate::format::checksum::Checksum;
use crate::format::digest::BlobRef;
use crate::format::entry::{Entry, Kind};
use crate::format::file_names::FileName;
use crate::format::namespace_ids::NamespaceId;
use crate::format::order;
use crate::log::{LogCommit, LogHead, LogWriter, Stop};
use crate::manifest::{KnownLog, Manifest, ManifestFile};
use crate::platform::vfs::Access;
use crate::state::context::Context;
use crate::table::block_cache::BlockCache;
use crate::table::{Directory, Origin, Table, TableMeta};
use revision::Revision;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use usage::CommitTimes;

/// An index over tables takes at most this fraction of the block cache's size, in addition to it.
const INDEX_SHARE: usize = 4;

/// A committed state of the cache.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) manifest: Manifest,
    pub(crate) last_sequence: u64,
    /// Another one with each change of what lookups find.
    pub(crate) revision: Revision,
    /// The current version of each namespace, by its number.
    namespaces: Vec<Option<Box<Namespace>>>,
    /// By name. A planted manifest may have millions, in any order, so no list is sorted by inserting into it.
    pub(crate) current: BTreeMap<String, Current>,
    /// Tables that logs attach to versions that are not current; needed as long as those logs exist.
    superseded: Vec<LiveTable>,
    pub(crate) logs: Vec<LogView>,
    pub(crate) segments: Segments,
    commit_times: CommitTimes,
    /// Writers whose entries in `logs` name blobs.
    pub(crate) writers_with_blobs: BTreeSet<u32>,
    /// The newest manifest that was read, whole or damaged. Higher ones were not whole then.
    pub(crate) manifest_file: ManifestFile,
    /// `highest_manifest`, and lowest unused number of a writer, by the names in the directory.
    pub(crate) manifest_seen: u64,
    pub(crate) next_writer_seen: u32,
    /// An older manifest was there. Its publisher removes it once the newest one survives a power failure.
    pub(crate) has_older_manifest: bool,
    /// A manifest or a log is damaged, and nothing shows which keys it had: every lookup is a miss until the next
    /// commit resets the cache.
    pub(crate) unrecoverable: bool,
    /// Only numbers and logs are loaded, neither tables nor entries.
    is_outline: bool,
    /// Attached tables that `open_attached` has not opened yet.
    attached: Vec<AttachedTable>,
    /// A table that a log attaches does not exist; it may have been merged meanwhile.
    vanished: bool,
    /// The layers below, which no load changes: `commit/reload.rs` hands them on.
    pub(crate) layers: Layers,
    /// A newer state with commits of other processes, kept until a handle asks for them (`commit/reload.rs`).
    pub(crate) newer: Option<Box<State>>,
}

/// Syncs logs and the directory, so that they survive a power failure. No lock is held meanwhile, because it takes as
/// long as the disk does.
pub(crate) fn sync_logs(context: &Context, logs: &[LogView]) -> Result<()> {
    for view in logs {
        view.file.sync().map_err(|source| {
            context.failed_syncs.add(view.writer);
            Error::io("sync", &view.name.to_string(), source)
        })?;
    }
    if logs.is_empty() {
        return Ok(());
    }
    context.vfs.sync_folder().map_err(|source| Error::io("sync", "the cache directory", source))
}

/// A table, and the log whose commit attached it; `None` = the manifest names it.
#[derive(Clone, Debug)]
pub(crate) struct LiveTable {
    pub(crate) table: Arc<Table>,
    pub(crate) attached_by: Option<u32>,
}

/// A table that a commit attached to a namespace.
#[derive(Clone, Debug)]
struct AttachedTable {
    id: Arc<NamespaceId>,
    meta: TableMeta,
    attached_by: u32,
}

impl State {
    /// A copy of this state, for work that takes long while this state changes.
    pub(crate) fn snapshot(&self) -> Self {
        Self {
            manifest: self.manifest.clone(),
            namespaces: self
                .namespaces
                .iter()
                .map(|one| Some(Box::new(one.as_ref()?.snapshot())))
                .collect(),
            current: self.current.clone(),
            superseded: self.superseded.clone(),
            logs: self.logs.clone(),
            segments: self.segments.clone(),
            commit_times: self.commit_times.clone(),
            writers_with_blobs: self.writers_with_blobs.clone(),
            attached: Vec::new(),
            layers: self.layers.clone(),
            newer: None,
            ..*self
        }
    }

    /// The newest state that is loaded, visible or not.
    pub(crate) fn newest(&self) -> &Self {
        self.newer.as_deref().unwrap_or(self)
    }

    /// Applies one commit of a log; `open_attached` follows. The entries of `commit` were checked by the log's reader
    /// or written by this process.
    pub(crate) fn apply(
        &mut self,
        context: &Context,
        writer: u32,
        commit: &LogCommit<'_>,
    ) -> Result<()> {
        if self.is_outline {
            self.last_sequence = self.last_sequence.max(commit.sequence);
            return Ok(());
        }
        let place = self.segments.add(writer, commit);
        self.apply_at(context, writer, commit, place)
    }

    /// The same for a commit whose first entry has this place in the segments.
    fn apply_at(
        &mut self,
        context: &Context,
        writer: u32,
        commit: &LogCommit<'_>,
        mut place: Place,
    ) -> Result<()> {
        self.revision = Revision::default();
        let mut ids: Vec<(u16, Arc<NamespaceId>)> = Vec::with_capacity(commit.namespaces.len());
        for (log_id, name, version) in &commit.namespaces {
            let id = self.record_version(context, name, version, commit.sequence)?;
            if let Some(namespace) = self.namespace_mut(id.number) {
                namespace.record_times(commit.time_ms, commit.time_ms);
            }
            ids.push((*log_id, id));
        }
        if let [(_, id)] = &ids[..]
            && let Some(namespace) = self.namespace_mut(id.number)
        {
            // The entries of a commit are usually of one namespace: reserve room for all of them.
            namespace.memtable.reserve(commit.count);
        }
        // If an id occurs twice, its first name counts.
        order::sort_by(&mut ids, |left, right| left.0.cmp(&right.0));
        self.commit_times.record(commit.sequence, commit.time_ms);
        let mut with_blobs = false;
        let mut reader = Reader::new(commit.entries);
        while let Some(entry) = Entry::read(&mut reader) {
            let at = ids.partition_point(|(log_id, _)| *log_id < entry.namespace);
            if let Some((_, id)) = ids.get(at).filter(|(log_id, _)| *log_id == entry.namespace) {
                if entry.kind == Kind::Attach {
                    let meta = TableMeta::read(&mut Reader::new(entry.value));
                    let sequence_max = meta.map_or(0, |meta| meta.sequence_max);
                    self.last_sequence = self.last_sequence.max(sequence_max);
                    self.attached.extend(meta.map(|meta| AttachedTable {
                        id: Arc::clone(id),
                        meta,
                        attached_by: writer,
                    }));
                } else if let Some(namespace) = self.namespace_mut(id.number) {
                    namespace.memtable.add(entry.key, place);
                }
            }
            with_blobs |= entry.kind == Kind::PutWithBlobs;
            place = place.after(entry.bytes());
        }
        if with_blobs {
            self.writers_with_blobs.insert(writer);
        }
        self.last_sequence = self.last_sequence.max(commit.sequence);
        Ok(())
    }

    /// Applies a commit that this process has just appended to its own log, to the newer state as well.
    pub(crate) fn apply_own(
        &mut self,
        context: &Context,
        log: &LogWriter,
        commit: &LogCommit<'_>,
    ) -> Result<()> {
        self.apply(context, log.writer, commit)?;
        self.open_attached(context, false);
        self.record_own(log);
        let Some(mut newer) = self.newer.take() else { return Ok(()) };
        newer.apply(context, log.writer, commit)?;
        for AttachedTable { id, meta, .. } in std::mem::take(&mut newer.attached) {
            let opened = self.live_tables().find(|live| live.table.meta == meta).cloned();
            newer.add_tables(&id, opened.into_iter().collect());
        }
        newer.record_own(log);
        self.newer = Some(newer);
        Ok(())
    }

    fn record_own(&mut self, log: &LogWriter) {
        let view = match self.logs.iter_mut().position(|view| view.writer == log.writer) {
            Some(index) => self.logs.get_mut(index),
            None => {
                let view =
                    LogView::new(log.writer, FileName::Log(log.writer), log.file(), log.file_id());
                let head =
                    LogHead { start: Some(log.start), seen: log.seen.clone(), is_used: true };
                self.logs.push(LogView { head, ..view });
                self.next_writer_seen = self.next_writer_seen.max(log.writer + 1);
                self.logs.last_mut()
            }
        };
        if let Some(view) = view {
            (view.end, view.last) = (log.bytes(), log.last());
            view.commits += 1;
        }
    }

    /// Opens all tables that commits attached at once and inserts each in its place. If `ends_at_missing`, a missing
    /// table ends this, because the caller loads the state again.
    pub(crate) fn open_attached(&mut self, context: &Context, ends_at_missing: bool) {
        let mut attached = std::mem::take(&mut self.attached);
        order::sort_by(&mut attached, |left, right| left.id.number.cmp(&right.id.number));
        for same in attached.chunk_by(|left, right| left.id.number == right.id.number) {
            let Some(id) = same.first().map(|one| &one.id) else { continue };
            let origin = Origin::cache(&id.name);
            let live =
                self.namespace(id.number).map_or(&self.superseded, |namespace| &namespace.tables);
            let mut known: HashSet<TableMeta> = live.iter().map(|live| live.table.meta).collect();
            let mut added = Vec::new();
            for AttachedTable { meta, attached_by, .. } in
                same.iter().filter(|one| known.insert(one.meta))
            {
                let file = context.vfs.open(&meta.name.to_string(), Access::Random).ok();
                self.vanished |= file.is_none();
                if ends_at_missing && self.vanished {
                    return;
                }
                let (origin, damage, blocks) = (origin.clone(), &context.damage, &context.blocks);
                let table = Arc::new(Table::new(
                    *meta,
                    origin,
                    file,
                    self.checksum_of(context, FileName::Table(meta.name)),
                    damage,
                    blocks,
                ));
                added.push(LiveTable { table, attached_by: Some(*attached_by) });
            }
            self.add_tables(id, added);
        }
    }

    /// Whether a table that a log attaches is missing.
    pub(crate) fn has_vanished(&self) -> bool {
        self.vanished
    }

    /// The newest entry of a key in the memtable, hidden or not.
    #[inline]
    pub(crate) fn memtable_get(
        &self,
        namespace: &Namespace,
        hash: u64,
        key: &[u8],
    ) -> Option<MemtableEntry<'_>> {
        namespace.memtable.get(&self.segments, hash, key)
    }

    /// Entries in the memtable of one namespace in the order of their arrival, without hidden ones. Overwritten entries
    /// are among them.
    pub(crate) fn memtable_entries<'a>(
        &'a self,
        namespace: &'a Namespace,
    ) -> impl Iterator<Item = (u32, MemtableEntry<'a>)> {
        namespace
            .memtable
            .iter(&self.segments)
            .filter(|(_, found)| found.sequence >= namespace.hidden_below)
    }

    /// The manifest's number and the newest commit, which are equal for states with the same content.
    pub(crate) fn moment(&self) -> (u64, u64) {
        (self.manifest.number, self.last_sequence)
    }

    /// Every blob that an entry of a table or a log names, once, without those of tables that cannot be read.
    pub(crate) fn named_blobs(&self) -> BTreeSet<BlobRef> {
        let directories = self.live_tables().filter_map(|live| live.table.directory());
        let mut named: BTreeSet<BlobRef> = directories.flat_map(Directory::blobs).collect();
        if self.writers_with_blobs.is_empty() {
            return named;
        }
        let entries = self.namespaces().flat_map(|namespace| self.memtable_entries(namespace));
        let refs = entries.filter_map(|(_, found)| {
            found.entry().filter(|entry| entry.kind == Kind::PutWithBlobs)
        });
        let refs = refs.filter_map(|entry| BlobRefs::parse(entry.value));
        named.extend(refs.flat_map(|refs| refs.blobs()));
        named
    }

    /// Sorts the entries of the memtables by hash, for `memtable_window`. Only for a snapshot: lookups and later
    /// commits rely on the order of arrival.
    pub(crate) fn sort_memtables(&mut self) {
        for namespace in self.namespaces.iter_mut().flatten() {
            namespace.memtable.sort();
        }
    }

    /// Syncs the logs of other writers: commits of this process may rest on them and must not outlive them.
    pub(crate) fn sync_others(&mut self, context: &Context, own: Option<u32>) -> Result<()> {
        let unsynced = self.unsynced_others(own);
        sync_logs(context, &unsynced)?;
        self.record_synced(&unsynced);
        Ok(())
    }

    /// The logs of other writers with unsynced bytes, as far as they were read. A sealed log was synced by its writer.
    pub(crate) fn unsynced_others(&self, own: Option<u32>) -> Vec<LogView> {
        let is_unsynced = |view: &&LogView| {
            view.commits > 0 && view.synced < view.end && view.stop != Stop::Sealed
        };
        self.logs
            .iter()
            .filter(is_unsynced)
            .filter(|view| Some(view.writer) != own)
            .cloned()
            .collect()
    }

    /// Records that these logs were synced, as far as they had been read then.
    pub(crate) fn record_synced(&mut self, logs: &[LogView]) {
        for view in &mut self.logs {
            let synced =
                logs.iter().find(|log| log.writer == view.writer && log.start() == view.start());
            view.synced = synced.map_or(view.synced, |log| log.end.max(view.synced));
        }
    }

    /// The logs of other writers that commits may rest on, and how many bytes of each are durable, after `sync_others`.
    pub(crate) fn seen(&self, context: &Context, own: u32) -> Vec<KnownLog> {
        let others = self.logs.iter().filter(|view| view.writer != own && !self.is_ghost(view));
        others.filter_map(|view| self.known_log(context, view)).collect()
    }

    /// Whether a slow writer may have created the log under the name that a claimed log had had (`load.rs`). No commit
    /// rests on it, and the next manifest may not know it.
    fn is_ghost(&self, view: &LogView) -> bool {
        let is_other = |other: &LogView| other.writer == view.writer && other.name != view.name;
        view.commits == 0 && self.logs.iter().any(is_other)
    }

    /// The reference by which other files name a log, after `sync_others`; `None` = its start is not whole. A claimed
    /// log has no certain end: its writer may have appended since, and will commit that again in another log.
    pub(crate) fn known_log(&self, context: &Context, view: &LogView) -> Option<KnownLog> {
        let is_certain =
            matches!(view.name, FileName::Log(_)) && !context.failed_syncs.has(view.writer);
        let end = if view.commits > 0 && is_certain { view.end } else { 0 };
        view.start().map(|start| KnownLog { writer: view.writer, id: start.id, end })
    }

    /// The writer of a log that does not fit the manifest and the other logs, and what is wrong. The cause may be a
    /// race.
    fn misfit(&self) -> Option<(u32, &'static str)> {
        // A foreign log without commits is harmless.
        let foreign = self.logs.iter().find(|view| view.is_foreign && view.head.is_used);
        let foreign = foreign.map(|view| (view.writer, "log of another lineage"));
        foreign.or_else(|| self.short_log().map(|writer| (writer, "missing end of a log")))
    }

    /// The writer of a log that counts but has fewer bytes than another file recorded for it.
    fn short_log(&self) -> Option<u32> {
        let end_of =
            |view: &LogView| (view.writer, view.start().map_or(0, |start| start.id), view.end);
        let mut ends: Vec<(u32, u64, u64)> = self.logs.iter().map(end_of).collect();
        order::sort_by(&mut ends, Ord::cmp);
        let is_reached = |log: &KnownLog| {
            let longest =
                ends.get(ends.partition_point(|end| *end < (log.writer, log.id, log.end)));
            longest.is_some_and(|(writer, id, _)| (*writer, *id) == (log.writer, log.id))
        };
        let seen = self
            .logs
            .iter()
            .flat_map(|view| &view.head.seen)
            .filter(|log| self.manifest.is_open(log.writer));
        let is_short = |log: &&KnownLog| log.end > 0 && !is_reached(log);
        self.manifest.open_logs.iter().chain(seen).find(is_short).map(|log| log.writer)
    }

    /// Whether the manifest is sure: a list made after it was read has no higher one, so its publisher will not
    /// withdraw it (`publish.rs`). Also true if there is none.
    pub(crate) fn is_sure(&self) -> bool {
        self.manifest.number == self.manifest_seen
    }

    /// Whether the manifest may not survive a power failure yet.
    pub(crate) fn may_lose_manifest(&self) -> bool {
        self.has_older_manifest || self.manifest.is_first() && self.logs.is_empty()
    }

    /// The checksum of a file of this cache.
    pub(crate) fn checksum_of(&self, context: &Context, name: FileName) -> Checksum {
        context.checksum.of_file(self.manifest.cache_id, name)
    }

    /// Whether a log that was just begun belongs to the manifest, and will belong to its successors.
    pub(crate) fn has_claimed(&self, log: &LogWriter) -> bool {
        lineage::is_claimed(&self.manifest, log.writer, log.start)
    }

    /// Whether each commit in the logs of this state is also in one of the others.
    fn is_known_to(&self, others: &[&Self]) -> bool {
        let id = |view: &LogView| view.start().map(|start| (view.writer, start.id));
        let knows = |view: &LogView, known: &LogView| {
            id(known) == id(view) && known.commits >= view.commits
        };
        let logs = || others.iter().flat_map(|other| &other.logs);
        self.logs
            .iter()
            .filter(|view| view.commits > 0)
            .all(|view| logs().any(|known| knows(view, known)))
    }

    /// Whether lookups give the same results in this state and in `visible`. If nothing was evicted, `merged` is the
    /// state from which a compaction made the manifest of this one, and the number of that manifest.
    pub(crate) fn is_same_as(&self, visible: &Self, merged: Option<(&Self, u64)>) -> bool {
        let is_merged = |(merged, number): (&Self, u64)| {
            // The process that created the cache has not read its first manifest.
            let is_first = visible.manifest.number == 0 && merged.manifest.is_first();
            (self.manifest.number, self.manifest.parent) == (number, merged.manifest.id)
                && (visible.manifest.id == merged.manifest.id || is_first)
                && merged.is_known_to(&[visible])
                // A log may have received a last commit after the compactor read it; its writer commits that again.
                && visible.is_known_to(&[self, merged])
        };
        let is_manifest_same =
            self.manifest.id == visible.manifest.id && visible.is_known_to(&[self]);
        (is_manifest_same || merged.is_some_and(is_merged))
            && self.is_known_to(&[visible])
            && self.unrecoverable == visible.unrecoverable
    }

    /// Whether lookups in a namespace read so many tables in vain that an index over them pays.
    #[inline]
    pub(crate) fn is_index_due(&self, id: u32, blocks: &BlockCache) -> bool {
        let due = |namespace: &Namespace| {
            namespace.selector.is_due(&namespace.tables, blocks.bytes_max() / INDEX_SHARE)
        };
        self.namespace(id).is_some_and(due)
    }

    /// Drops cached blocks, of the tables with the most of them first, until the cache is down to half its limit.
    pub(crate) fn trim_blocks(&mut self, blocks: &BlockCache) {
        let mut live: Vec<_> = self
            .namespaces
            .iter_mut()
            .flatten()
            .flat_map(|namespace| &mut namespace.tables)
            .collect();
        order::sort_by(&mut live, |left, right| {
            right.table.cached_bytes().cmp(&left.table.cached_bytes())
        });
        let mut fresh: HashMap<TableMeta, Arc<Table>> = HashMap::new();
        for live in live {
            if blocks.surplus() == 0 {
                break;
            }
            live.table = Arc::new(live.table.without_blocks());
            fresh.insert(live.table.meta, Arc::clone(&live.table));
        }
        for table in self.layers.all_tables_mut() {
            if blocks.surplus() > 0 {
                *table = Arc::new(table.without_blocks());
            }
        }
        let newer = self.newer.iter_mut().flat_map(|state| &mut state.namespaces).flatten();
        for live in newer.flat_map(|namespace| &mut namespace.tables) {
            if let Some(table) = fresh.get(&live.table.meta) {
                live.table = Arc::clone(table);
            }
        }
    }

    /// Number of tables that the logs of these writers attach and that no manifest names yet.
    pub(crate) fn attached_tables(&self, is_one_of: impl Fn(u32) -> bool) -> usize {
        self.live_tables().filter(|live| live.attached_by.is_some_and(&is_one_of)).count()
    }
}
