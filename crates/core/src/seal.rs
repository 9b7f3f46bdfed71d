//! Seals what a cache and its layers hold as a new layer: a directory in the format of a cache that is never written
//! again (FORMAT.md, "Layers").
//!
//! 1. The target has neither a manifest nor a log, and no files that Varve did not write. What an interrupted seal left
//!    there is removed.
//!    The temporary file of the manifest is created first: its start shows later seals whose blobs these are.
//! 2. For each namespace, one pass over all keys writes a table; threads copy the blobs that its entries name. A delta has
//!    what differs from its base: entries that the base lacks or has with another value, and a delete for each key of
//!    the base that the cache does not have.
//! 3. Tables, blobs and names are synced.
//! 4. The manifest is written again under its temporary name, synced, renamed and synced. A directory without a manifest is no
//!    layer, so a crash never leaves a part of one.
//!
//! Nothing in a layer depends on when or by whom it was written: there are no sequence numbers, times or random ids.

use crate::blobs::{Blobs, Content, each_in_parallel};
use crate::error::{Error, Result};
use crate::format::blob_refs::BlobRefs;
use crate::format::checksum::Checksum;
use crate::format::digest::BlobRef;
use crate::format::file_names::{FileName, TableName};
use crate::format::file_start::{self, FileStart, Removal, start_of_name};
use crate::format::hash::key_hash;
use crate::format::namespace_ids::NamespaceId;
use crate::format::order;
use crate::manifest::{Manifest, ManifestNamespace, encode};
use crate::options::{LayerSource, Watch};
use crate::platform::vfs::Vfs;
use crate::read::entries::{Entries, Ranges, Source, Visit};
use crate::read::stats::sources_of;
use crate::report::SealReport;
use crate::state::context::Context;
use crate::state::{Layers, State};
use crate::table::{Found, TableFile, TableMeta, TableWriter, ValueBytes};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The number under which all files of a layer are written.
const WRITER: u32 = 1;

/// Entries that wait until threads have copied the blobs that they name.
const WAITING_PER_THREAD: usize = 16;
const WAITING_BYTES_MAX: usize = 1 << 20;

/// Seals `state` into `target`, without what the layers `since` have.
pub(crate) fn seal(
    context: &Context,
    state: &State,
    target: &Arc<dyn Vfs>,
    since: &[LayerSource],
    watch: Watch<'_>,
) -> Result<SealReport> {
    if state.unrecoverable {
        return Err(Error::Damaged {
            name: "the cache".to_owned(),
            offset: 0,
            what: "manifest or log",
        }
        .boxed());
    }
    let levels = state.layers.reports().len() as u32;
    let base = Layers::open_below(context, since, levels)?;
    if let Some(layer) = base.reports().iter().find(|layer| layer.problem.is_some()) {
        return Err(Error::NoLayer { name: layer.path.clone() }.boxed());
    }
    let blobs = Blobs::new(Arc::clone(target), Arc::clone(&context.damage), true);
    clear_target(&**target, &blobs)?;
    let checksum = Checksum::new(context.options.mac_key.as_ref());
    mark_target(&**target, &checksum)?;
    let total = state.visible_ids().map(|id| bytes_of(state, id)).sum();
    let mut sealing = Sealing {
        context,
        target,
        checksum,
        blobs,
        levels,
        base,
        watch,
        done: 0,
        total,
        index: 0,
        open: None,
        tables: Vec::new(),
        waiting: Vec::new(),
        waiting_bytes: 0,
    };
    let mut namespaces = Vec::new();
    for id in sealing.ids_of(state) {
        let name = id.name.clone();
        sealing.namespace(state, &id)?;
        let tables = std::mem::take(&mut sealing.tables);
        let before = sealing.base.ids().find(|base| base.name == name);
        let has_new_version = before.is_some_and(|before| before.number != id.number);
        if !tables.is_empty() || has_new_version {
            let version = id.version.clone();
            namespaces.push(ManifestNamespace {
                name,
                version,
                latest: 0,
                tables,
                ..ManifestNamespace::default()
            });
        }
    }
    let parent =
        sealing.base.reports().first().and_then(|layer| u64::from_str_radix(&layer.id, 16).ok());
    let parent = parent.unwrap_or(0);
    let manifest =
        Manifest { number: 1, parent, next_writer: WRITER + 1, namespaces, ..Manifest::default() };
    sealing.blobs.sync(&*context.pool)?;
    publish(&**target, &checksum, &manifest)?;
    report_of(&manifest, &sealing.blobs)
}

fn bytes_of(state: &State, id: &NamespaceId) -> u64 {
    let live = state.namespace(id.number).into_iter().flat_map(|namespace| &namespace.tables);
    let tables = live.map(|live| &live.table).chain(state.tables_below(id.number));
    tables.map(|table| table.meta.key_bytes + table.meta.value_bytes).sum()
}

fn report_of(manifest: &Manifest, blobs: &Blobs) -> Result<SealReport> {
    let deletes = manifest.tables().map(|table| table.deletes).sum();
    let entries = manifest.tables().map(|table| table.entries).sum::<u64>() - deletes;
    let stored = blobs.list()?;
    let bytes = manifest.table_bytes() + stored.iter().map(|blob| blob.bytes).sum::<u64>();
    Ok(SealReport { id: manifest.layer_id(), entries, deletes, bytes, blobs: stored.len() as u64 })
}

/// Removes what an interrupted seal left, which has a file with a start of Varve. Fails if the directory has a cache, a
/// layer, or files that Varve did not write.
fn clear_target(target: &dyn Vfs, blobs: &Blobs) -> Result<()> {
    let names =
        target.list().map_err(|source| Error::io("list", "the directory of the layer", source))?;
    let names: Vec<FileName> = names.iter().filter_map(|name| FileName::parse(name)).collect();
    let is_ours = |name: &FileName| matches!(name, FileName::Table(_) | FileName::Temporary(_));
    if let Some(name) = names.iter().find(|name| !is_ours(name)) {
        return Err(Error::Occupied { name: name.to_string() }.boxed());
    }
    let mut is_ours = false;
    for name in names {
        let name = name.to_string();
        let wrap = |source| Error::io("remove", &name, source);
        let start = start_of_name(target, &name).map_err(wrap)?;
        if file_start::remove(target, &name).map_err(wrap)? == Removal::Foreign {
            return Err(Error::Occupied { name }.boxed());
        }
        is_ours |= start == Some(FileStart::Varve);
    }
    if !is_ours && let Some(name) = blobs.foreign()? {
        return Err(Error::Occupied { name }.boxed());
    }
    for (shard, name) in blobs.names()? {
        blobs.remove(shard, name)?;
    }
    Ok(())
}

/// Writes the temporary file of the manifest, whose start shows that blobs beside it are of an interrupted seal.
fn mark_target(target: &dyn Vfs, checksum: &Checksum) -> Result<()> {
    let name = FileName::Temporary(WRITER).to_string();
    let mark = || {
        let file = target.create_new(&name)?;
        file.append(&[&encode(checksum, &Manifest::default())])?;
        file.sync()?;
        target.sync_folder()
    };
    mark().map_err(|source| Error::io("write", &name, source))
}

/// Makes the directory a layer.
fn publish(target: &dyn Vfs, checksum: &Checksum, manifest: &Manifest) -> Result<()> {
    let (temporary, name) =
        (FileName::Temporary(WRITER).to_string(), FileName::Manifest(1).to_string());
    let write = || -> io::Result<()> {
        // The names of the tables are durable before that of the mark is gone.
        target.sync_folder()?;
        file_start::remove(target, &temporary)?;
        let file = target.create_new(&temporary)?;
        file.append(&[&encode(checksum, manifest)])?;
        file.sync()?;
        drop(file);
        target.sync_folder()?;
        target.rename(&temporary, &name)?;
        target.sync_folder()
    };
    write().map_err(|source| Error::io("write", &name, source))
}

/// A seal that runs.
struct Sealing<'a> {
    context: &'a Context,
    target: &'a Arc<dyn Vfs>,
    checksum: Checksum,
    blobs: Blobs,
    /// The number of layers of the cache; those of the base have higher levels.
    levels: u32,
    base: Layers,
    watch: Watch<'a>,
    done: u64,
    total: u64,
    /// The number of the last table.
    index: u32,
    open: Option<(TableName, TableWriter<'static>)>,
    /// The finished tables of the current namespace.
    tables: Vec<TableMeta>,
    /// Entries whose blobs are to be copied, and those after them.
    waiting: Vec<Waiting>,
    waiting_bytes: usize,
}

/// An entry that is to be written.
struct Waiting {
    hash: u32,
    key: Vec<u8>,
    change: Change,
    /// Whether the base has the key.
    is_known: bool,
}

/// What a layer does to a key.
enum Change {
    Put(Vec<u8>),
    PutWithBlobs(Vec<u8>, Vec<BlobRef>),
    /// Only of a key that the base has.
    Delete,
}

impl Sealing<'_> {
    /// The namespaces of the cache, and those that only the base has.
    fn ids_of(&self, state: &State) -> Vec<Arc<NamespaceId>> {
        let mut ids: Vec<_> = state.visible_ids().chain(self.base.ids()).cloned().collect();
        order::sort_by(&mut ids, |left, right| left.name.cmp(&right.name));
        ids.dedup_by(|base, id| base.name == id.name);
        ids
    }

    fn namespace(&mut self, state: &State, id: &NamespaceId) -> Result<()> {
        let (mut sources, hidden_below) = sources_of(state, id.number);
        sources.extend(self.base.tables(id.number).iter().cloned().map(Source::Table));
        let mut entries = Entries::new(hidden_below);
        for range in Ranges::new(sources, 0) {
            let mut taken = Ok(());
            let _all = entries.visit(&range, &mut |entry| {
                taken = self.take(id, entry);
                if taken.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            taken?;
            if (self.watch)(self.done.min(self.total), self.total).is_break() {
                return Err(Error::Cancelled.boxed());
            }
        }
        self.write_waiting()?;
        self.close()
    }

    /// Writes an entry if it differs from that of the base.
    fn take(&mut self, id: &NamespaceId, entry: Visit<'_>) -> Result<()> {
        let Visit { hash, key, is_hidden, .. } = entry;
        let names_blobs = entry.names_blobs();
        let is_in_cache = !is_hidden && entry.level() <= self.levels;
        let value = if is_in_cache { entry.value() } else { None };
        self.done += (key.len() + value.map_or(0, <[u8]>::len)) as u64;
        let before = self.base.get(id.number, key_hash(key), key);
        let is_same = match (&before, value) {
            (Found::Value { value: before, names_blobs: names, .. }, Some(value)) => {
                *names == names_blobs && before.read(|before| before == value).unwrap_or(false)
            }
            (Found::Miss | Found::Deleted { .. }, None) => true,
            _ => false,
        };
        let is_known = matches!(before, Found::Value { .. } | Found::Damaged);
        if is_same {
            return Ok(());
        }
        let change = match value {
            Some(value) if names_blobs => match BlobRefs::parse(value) {
                Some(refs) => Change::PutWithBlobs(value.to_vec(), refs.blobs().collect()),
                None => Change::Delete,
            },
            Some(value) if self.waiting.is_empty() => return self.add(hash, key, Some(value)),
            Some(value) => Change::Put(value.to_vec()),
            None => Change::Delete,
        };
        self.waiting_bytes += key.len() + value.map_or(0, <[u8]>::len);
        self.waiting.push(Waiting { hash, key: key.to_vec(), change, is_known });
        let is_full = self.waiting.len() >= WAITING_PER_THREAD * self.context.pool.threads();
        if is_full || self.waiting_bytes >= WAITING_BYTES_MAX {
            self.write_waiting()
        } else {
            Ok(())
        }
    }

    /// Copies the blobs that the waiting entries name, on all threads, and writes the entries.
    fn write_waiting(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let named = waiting.iter().flat_map(|entry| match &entry.change {
            Change::PutWithBlobs(_, blobs) => blobs.as_slice(),
            _ => &[],
        });
        let mut named: Vec<BlobRef> = named.copied().collect();
        order::sort_by(&mut named, Ord::cmp);
        named.dedup();
        let from = &self.context.blobs;
        let to = &self.blobs;
        let copied = each_in_parallel(&*self.context.pool, &named, |blob| {
            let Content::Whole(content) = from.read(blob)? else { return Ok(false) };
            to.put(WRITER, &content, false)?;
            Ok(true)
        })?;
        let is_copied = |blob: &BlobRef| {
            named.binary_search(blob).is_ok_and(|at| copied.get(at).copied().unwrap_or_default())
        };
        for Waiting { hash, key, change, is_known } in &waiting {
            match change {
                Change::Put(value) => self.add(*hash, key, Some(value))?,
                Change::PutWithBlobs(value, blobs) if blobs.iter().all(is_copied) => {
                    let (name, writer) = self.writer()?;
                    let added = writer.add(|fill| fill.add_with_blobs(*hash, key, 0, value));
                    added.map_err(|source| Error::io("write", &name.to_string(), source))?;
                }
                // A value whose blobs are lost is a miss, which hides that of the base.
                _ if *is_known => self.add(*hash, key, None)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, hash: u32, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let (name, writer) = self.writer()?;
        let added = writer.add(|fill| fill.add(hash, key, 0, value.map(ValueBytes::Passing)));
        added.map_err(|source| Error::io("write", &name.to_string(), source))
    }

    /// The open table, or a new one if that is full.
    fn writer(&mut self) -> Result<&mut (TableName, TableWriter<'static>)> {
        if self.open.as_ref().is_some_and(|(_, writer)| writer.is_full()) {
            self.close()?;
        }
        if self.open.is_none() {
            self.index += 1;
            let name = TableName { writer: WRITER, index: self.index };
            let file = self.target.create_new(&name.to_string());
            let file = file.map_err(|source| Error::io("create", &name.to_string(), source))?;
            let checksum = self.checksum.of_file(0, FileName::Table(name));
            self.open = Some((name, TableWriter::new(TableFile::new(name, file, checksum))));
        }
        match &mut self.open {
            Some(open) => Ok(open),
            None => unreachable!("it was opened just now"),
        }
    }

    fn close(&mut self) -> Result<()> {
        if let Some((name, writer)) = self.open.take() {
            let meta = writer
                .finish(0, (0, 0))
                .map_err(|source| Error::io("write", &name.to_string(), source))?;
            self.tables.push(meta);
        }
        Ok(())
    }
}
