//! The layers below a cache: sealed directories (`seal.rs`) whose tables are read after those of the cache. They are
//! opened once, with the cache, and never change.
//!
//! ```text
//! level 0   the cache: memtable, then tables from the newest to the oldest
//! level 1   the first layer of the options      a put or delete of a level hides the key in all levels below;
//! level 2   the next one                        a name has one version: that of the first layer with this name
//! ```
//! A layer that is missing, damaged or not sealed is reported once, and its entries are misses.
//!
//! If nothing shows any more which keys of layers a namespace of the cache hid, it hides all of them (`hides_layers`).

use super::State;
use super::current_manifest::{NewestManifest, newest_manifest};
use crate::error::{Error, Result};
use crate::format::checksum::Checksum;
use crate::format::file_names::FileName;
use crate::format::hash::{key_hash, upper};
use crate::format::namespace_ids::NamespaceId;
use crate::manifest::Manifest;
use crate::options::LayerSource;
use crate::platform::vfs::Access;
use crate::report::{Damage, LayerReport};
use crate::state::Current;
use crate::state::context::Context;
use crate::table::{Found, Origin, Table};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The open layers of a cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    /// By number of the namespace.
    namespaces: BTreeMap<u32, LayerNamespace>,
    numbers: BTreeMap<String, u32>,
    /// Each with the count of its hits, which all states of a cache share.
    reports: Vec<(LayerReport, Arc<AtomicU64>)>,
    /// There may be layers that are not open.
    is_partial: bool,
}

/// A namespace at the version that the newest layer has of it.
#[derive(Clone, Debug)]
struct LayerNamespace {
    id: Arc<NamespaceId>,
    /// In the order of their levels.
    tables: Vec<Arc<Table>>,
}

impl Layers {
    /// Opens the layers of the options, and reports those that cannot be used. Fails only if a name or version is too
    /// long for the format.
    pub(crate) fn open(context: &Context, sources: &[LayerSource]) -> Result<Self> {
        let layers = Self::open_below(context, sources, 0)?;
        for (layer, what) in
            layers.reports.iter().filter_map(|(layer, _)| Some((&layer.path, layer.problem?)))
        {
            context.damage.add(Damage::new(layer.clone(), 0, what).in_layer(layer));
        }
        Ok(layers)
    }

    /// Opens layers below `levels` others.
    pub(crate) fn open_below(
        context: &Context,
        sources: &[LayerSource],
        levels: u32,
    ) -> Result<Self> {
        let mut layers = Self::default();
        for (level, source) in (levels + 1..).zip(sources) {
            let mut report =
                LayerReport { path: source.name.to_string(), ..LayerReport::default() };
            let hits = Arc::default();
            match manifest_of(context, source) {
                Ok(manifest) => {
                    report.id = manifest.layer_id();
                    let hits = Some(Arc::clone(&hits));
                    let origin = Origin {
                        level,
                        layer: Arc::clone(&source.name),
                        hits,
                        ..Origin::cache("")
                    };
                    layers.add(context, source, &origin, &manifest, &mut report)?;
                }
                Err(what) => report.problem = Some(what),
            }
            layers.is_partial |= report.problem.is_some();
            layers.reports.push((report, hits));
        }
        Ok(layers)
    }

    fn add(
        &mut self,
        context: &Context,
        source: &LayerSource,
        origin: &Origin,
        manifest: &Manifest,
        report: &mut LayerReport,
    ) -> Result<()> {
        let checksum = Checksum::new(context.options.mac_key.as_ref());
        for namespace in &manifest.namespaces {
            for meta in &namespace.tables {
                report.bytes += meta.bytes + meta.blob_bytes;
                report.entries += meta.entries - meta.deletes.min(meta.entries);
                report.deletes += meta.deletes;
            }
            let id = context.namespace_ids.id(&namespace.name, &namespace.version)?;
            let number = *self.numbers.entry(namespace.name.clone()).or_insert(id.number);
            if number != id.number {
                continue;
            }
            let origin = Origin { namespace: namespace.name.as_str().into(), ..origin.clone() };
            let open = |name: String| source.vfs.open(&name, Access::Random).ok();
            let tables = namespace.tables.iter().map(|meta| {
                let of_file = checksum.of_file(manifest.cache_id, FileName::Table(meta.name));
                let file = open(meta.name.to_string());
                Arc::new(Table::new(
                    *meta,
                    origin.clone(),
                    file,
                    of_file,
                    &context.damage,
                    &context.blocks,
                ))
            });
            let known = self
                .namespaces
                .entry(number)
                .or_insert_with(|| LayerNamespace { id, tables: Vec::new() });
            known.tables.extend(tables);
        }
        Ok(())
    }

    /// The tables of a namespace, in the order of their levels.
    #[inline]
    pub(crate) fn tables(&self, number: u32) -> &[Arc<Table>] {
        self.namespaces.get(&number).map_or(&[], |namespace| &namespace.tables)
    }

    pub(crate) fn all_tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.namespaces.values().flat_map(|namespace| &namespace.tables)
    }

    pub(super) fn all_tables_mut(&mut self) -> impl Iterator<Item = &mut Arc<Table>> {
        self.namespaces.values_mut().flat_map(|namespace| &mut namespace.tables)
    }

    /// What the layers have of a key; `Miss` = nothing.
    #[inline]
    pub(crate) fn get(&self, number: u32, hash: u64, key: &[u8]) -> Found<'_> {
        self.find(number, hash, key).map_or(Found::Miss, |(found, _)| found)
    }

    /// The same for a caller, whose hits are counted.
    #[inline]
    pub(crate) fn answer(&self, number: u32, hash: u64, key: &[u8]) -> Found<'_> {
        let Some((found, origin)) = self.find(number, hash, key) else { return Found::Miss };
        if matches!(found, Found::Value { .. }) {
            origin.count_hit();
        }
        found
    }

    #[inline]
    fn find(&self, number: u32, hash: u64, key: &[u8]) -> Option<(Found<'_>, &Origin)> {
        let spanning = self.tables(number).iter().filter(|table| table.meta.spans(upper(hash)));
        let found = spanning.map(|table| (table.get(hash, key), &table.origin));
        found.into_iter().find(|(found, _)| !matches!(found, Found::Miss))
    }

    /// The namespaces, by name.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &Arc<NamespaceId>> {
        self.numbers
            .values()
            .filter_map(|number| self.namespaces.get(number))
            .map(|namespace| &namespace.id)
    }

    /// The layers, with their hits so far.
    pub(crate) fn reports(&self) -> Vec<LayerReport> {
        let with_hits = |(report, hits): &(LayerReport, Arc<AtomicU64>)| LayerReport {
            hits: hits.load(Ordering::Relaxed),
            ..report.clone()
        };
        self.reports.iter().map(with_hits).collect()
    }

    /// The layers of a cache that was written over layers which this process does not know.
    pub(crate) fn unknown() -> Self {
        Self { is_partial: true, ..Self::default() }
    }

    /// Whether the cache has no layers.
    pub(crate) fn is_empty(&self) -> bool {
        self.reports.is_empty() && !self.is_partial
    }

    /// Whether the cache was written over layers that are not open.
    pub(crate) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Whether a layer has this key, or may have it.
    fn may_have(&self, number: u32, key: &[u8]) -> bool {
        let has =
            || !matches!(self.get(number, key_hash(key), key), Found::Miss | Found::Deleted { .. });
        self.is_partial || !self.tables(number).is_empty() && has()
    }
}

impl State {
    /// This state over these layers.
    pub(crate) fn over(self, layers: Layers) -> Self {
        Self { layers, ..self }
    }

    /// The tables of the layers that readers of a namespace see, in the order of their levels.
    pub(crate) fn tables_below(&self, number: u32) -> &[Arc<Table>] {
        if self.hides_layers(number) { &[] } else { self.layers.tables(number) }
    }

    /// Whether a layer shows this key unless the cache has an entry of it, or may show it. If so, a delete of the key
    /// stays in the cache.
    pub(crate) fn may_be_below(&self, number: u32, key: &[u8]) -> bool {
        !self.hides_layers(number) && self.layers.may_have(number, key)
    }

    fn hides_layers(&self, number: u32) -> bool {
        self.namespace(number).is_some_and(|namespace| namespace.hides_layers)
    }

    /// The namespaces that readers see, each at one version: that of the cache, or that of its layers. Reserved ones
    /// are left out, so that statistics, exports and seals have what callers put.
    pub(crate) fn visible_ids(&self) -> impl Iterator<Item = &Arc<NamespaceId>> {
        let below = self.layers.ids().filter(|id| !self.current.contains_key(&id.name));
        self.current
            .values()
            .map(|Current { id, .. }| id)
            .chain(below)
            .filter(|id| !id.is_reserved())
    }
}

/// The manifest of a layer, or why the layer cannot be used.
fn manifest_of(
    context: &Context,
    source: &LayerSource,
) -> std::result::Result<Manifest, &'static str> {
    let unreadable = "layer that cannot be read";
    let names = source.vfs.list().map_err(|_| unreadable)?;
    let names: Vec<FileName> = names.iter().filter_map(|name| FileName::parse(name)).collect();
    let is_written = names.iter().any(|name| name.log_writer().is_some());
    match newest_manifest(&*source.vfs, &Checksum::new(context.options.mac_key.as_ref()), &names) {
        Ok(NewestManifest::Found(manifest, _)) if manifest.is_layer() && !is_written => {
            Ok(manifest)
        }
        Ok(NewestManifest::Found(..)) => Err("directory that is not a sealed layer"),
        Ok(NewestManifest::None | NewestManifest::Vanished) => Err("missing layer"),
        Ok(NewestManifest::Damaged(_)) => Err("manifest of a layer"),
        Err(error) if matches!(*error, Error::NewerFormat { .. }) => Err("layer of a newer format"),
        Err(_) => Err(unreadable),
    }
}
