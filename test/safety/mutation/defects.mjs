// @ts-check
// Typical defects of a store. A defect is made by edits of the sources in Rust, in a copy of them (`scripts/build/planted.mjs`). One build
// has all defects: in `replace`, BUG is whether this one is chosen. Defects without edits are in the use of files
// (`platform/failpoints/vfs.rs` of core).

/** A text that occurs exactly once in a file below `crates`, and what replaces it. @typedef {readonly [file: string, find: string, replace: string]} RustEdit */
/** `first`: the suite that runs first. @typedef {{ name: string, first: string, edits: readonly RustEdit[] }} Defect */

/** @param {string} name @param {string} first @param {RustEdit[]} edits @returns {Defect} */
const defect = (name, first, ...edits) => ({ name, first, edits })

/** @type {readonly Defect[]} */
export const defects = [
  defect('skip-table-sync', 'core'),
  defect('skip-folder-sync', 'core'),
  defect('link-before-sync', 'simulated states'),
  defect('accept-short-write', 'core'),
  defect('ack-before-sync', 'simulated calls'),
  defect('retry-sync', 'simulated calls'),
  defect('no-directory-checksum', 'core', [
    'core/src/table/directory.rs',
    'if bytes.len() as u64 != footer.directory_bytes() || !checks {',
    `let is_sound = checks || BUG;
if bytes.len() as u64 != footer.directory_bytes() || !is_sound {`,
  ]),
  defect('no-rows-checksum', 'core', ['core/src/table/directory.rs', 'if !checks {', 'if !checks && !BUG {']),
  defect('unsalted-checksum', 'core', [
    'core/src/format/hash.rs',
    'let spread = (place ^ (place >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);',
    `if BUG {
    return 0;
}
let spread = (place ^ (place >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);`,
  ]),
  defect('uncapped-length', 'units of core', [
    'core/src/format/lz4.rs',
    'packed_bytes.saturating_mul(255).saturating_add(64)',
    `if BUG {
    return u64::MAX;
}
packed_bytes.saturating_mul(255).saturating_add(64)`,
  ]),
  defect('compaction-drops-newest', 'core', [
    'core/src/compact/merge.rs',
    'self.merged.dropped += u64::from(is_obsolete || is_evicted);',
    `let is_obsolete = is_obsolete || shadowed > 0 && BUG;
self.merged.dropped += u64::from(is_obsolete || is_evicted);`,
  ]),
  defect('forget-holes', 'core', ['core/src/compact/merge.rs', 'if !claimed.alone {', 'if !claimed.alone && !BUG {']),
  defect('collect-live-file', 'core', [
    'core/src/compact/collect_blobs.rs',
    'let blobs = state.named_blobs();',
    'let blobs = if BUG { std::collections::BTreeSet::new() } else { state.named_blobs() };',
  ]),
  defect('lock-always-free', 'core'),
  defect('stale-after-refresh', 'core', [
    'core/src/store.rs',
    'let _no_commit = self.committer()?;',
    `if BUG {
    return Ok(false);
}
let _no_commit = self.committer()?;`,
  ]),
  defect('missing-tombstone', 'core', [
    'core/src/compact/merge.rs',
    '(is_hidden || plan.settle)',
    '(is_hidden || plan.settle || BUG)',
  ]),
  defect('equal-sequence', 'core', [
    'core/src/state/memtable.rs',
    'if segments.sequence(*place) >= segments.sequence(*kept) {',
    `let forgotten = if BUG { crate::format::sequence::SEQUENCE_SHIFT } else { 0 };
if segments.sequence(*place) >> forgotten >= segments.sequence(*kept) >> forgotten {`,
  ]),
  defect('compaction-takes-up-commits', 'core', [
    'core/src/commit/reload.rs',
    'let is_same = fresh.is_same_as(&*state.read()?, merged);',
    `let is_same =
    fresh.is_same_as(&*state.read()?, merged) || BUG;`,
  ]),
  defect(
    'tolerate-unknown-format',
    'core',
    ['core/src/log/reader.rs', 'if tag != u64::from(FORMAT) {', 'if tag != u64::from(FORMAT) && !BUG {'],
    ['core/src/state/current_manifest.rs', 'if tag != u64::from(FORMAT) {', 'if tag != u64::from(FORMAT) && !BUG {'],
  ),
  defect('follow-symlink', 'API files', [
    'disk/src/tree/folder_unix.rs',
    'match fs::openat(&self.0, name, OPEN | OFlags::NOFOLLOW, Mode::empty()) {',
    `let follow =
    if BUG { OFlags::empty() } else { OFlags::NOFOLLOW };
match fs::openat(&self.0, name, OPEN | follow, Mode::empty()) {`,
  ]),
  defect('dot-dot-in-restore', 'units of archive', [
    'archive/src/path.rs',
    '".." => return Err(PathProblem::DotDot),',
    `".." if BUG => return Ok(()),
".." => return Err(PathProblem::DotDot),`,
  ]),
  defect('reused-buffer', 'API contract', [
    'bindings/src/handle.rs',
    'handle.get_into(namespace, key, target)?.map_or_else(',
    `let target = if BUG { &mut [] } else { target };
handle.get_into(namespace, key, target)?.map_or_else(`,
  ]),
  defect('pool-part', 'units of disk'),
  defect('believe-manifest-size', 'core', [
    'core/src/blobs/read.rs',
    'if bytes > JUDGED_BYTES_MAX {',
    `if BUG {
    return Ok(Some(false));
}
if bytes > JUDGED_BYTES_MAX {`,
  ]),
  defect('trust-modification-time', 'API files', [
    'disk/src/tree/folder_unix.rs',
    `changed_ns: (stat.st_ctime as i64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(stat.st_ctime_nsec as i64),`,
    `changed_ns: if BUG {
    0
} else {
    (stat.st_ctime as i64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(stat.st_ctime_nsec as i64)
},`,
  ]),
  defect(
    'unbounded-probes',
    'units of core',
    [
      'core/src/format/hash_index.rs',
      `for _ in 0..PROBES_MAX {
            let other`,
      `for _ in 0..if BUG { self.tags.len() } else { PROBES_MAX } {
            let other`,
    ],
    [
      'core/src/format/hash_index.rs',
      `for _ in 0..PROBES_MAX {
            if let`,
      `for _ in 0..if BUG { self.tags.len() } else { PROBES_MAX } {
            if let`,
    ],
  ),
  defect('frozen-clock', 'core', [
    'core/src/format/sequence.rs',
    'if ticks > CLOCK_TICKS_MAX { 0 } else { ticks }',
    'if ticks > CLOCK_TICKS_MAX || BUG { 0 } else { ticks }',
  ]),
  defect('blind-append', 'core', [
    'core/src/commit.rs',
    `fn is_counted(&mut self, context: &Context, state: &RwLock<State>) -> Result<bool> {
        let Some(log) = &mut self.log else { return Ok(false) };`,
    `fn is_counted(&mut self, context: &Context, state: &RwLock<State>) -> Result<bool> {
let Some(log) = &mut self.log else { return Ok(false) };
if BUG {
  return Ok(true);
}`,
  ]),
  defect('take-any-log', 'core', [
    'core/src/state/load.rs',
    'log.is_foreign = foreign.contains(&at);',
    'log.is_foreign = foreign.contains(&at) && !BUG;',
  ]),
  defect('append-to-any-log', 'core', [
    'core/src/log/writer.rs',
    'self.overwritten |= !self.is_whole(self.file.len()?);',
    `self.overwritten |=
    !self.is_whole(self.file.len()?) && !BUG;`,
  ]),
  defect('logs-by-name', 'core', [
    'core/src/state/log_view.rs',
    'let name = self.name.to_string();',
    `if BUG {
    return Ok(true);
}
let name = self.name.to_string();`,
  ]),
  defect('unsure-as-known', 'core', [
    'core/src/state/load.rs',
    `if !are_same
        || state.unrecoverable
        || !state.is_sure()
        || !is_manifest_in_place(context, state)?
    {`,
    `let is_sure = state.is_sure() || BUG;
if !are_same || state.unrecoverable || !is_sure || !is_manifest_in_place(context, state)? {`,
  ]),
  defect('broken-for-good', 'core', [
    'core/src/table/reader.rs',
    'self.file.is_none() || matches!(self.loaded.get(), Some(None))',
    `let is_broken = self.file.is_none() || matches!(self.loaded.get(), Some(None));
is_broken && !BUG`,
  ]),
  defect(
    'base-by-number',
    'core',
    ['core/src/manifest/publish.rs', 'if !base.is_in_place(vfs)? {', 'if !(base.is_in_place(vfs)? || BUG) {'],
    ['core/src/manifest/publish.rs', '|| !base.is_in_place(vfs)? {', '|| !(base.is_in_place(vfs)? || BUG) {'],
  ),
  defect('blobs-by-length', 'core', [
    'core/src/blobs/write.rs',
    '            return Ok(false);',
    '            return Ok(BUG);',
  ]),
  defect('withdraw-by-name', 'core', [
    'core/src/manifest/publish.rs',
    'file_start::remove_if(vfs, &file.name(), || file.is_in_place(vfs)).map(drop)',
    `let is_ours = || Ok(file.is_in_place(vfs)? || BUG);
file_start::remove_if(vfs, &file.name(), is_ours).map(drop)`,
  ]),
  defect('pad-any-log', 'core', [
    'core/src/log/writer.rs',
    'let is_known = self.left.is_some() && self.padded;',
    'let is_known = self.left.is_some() && self.padded && !BUG;',
  ]),
  defect('numbers-run-out', 'core', [
    'core/src/writer/exhausted.rs',
    `state.next_writer_seen >= WRITERS_MAX
        || state.manifest_seen >= MANIFESTS_MAX
        || is_used_up(state.last_sequence)`,
    `let is_any = state.next_writer_seen >= WRITERS_MAX
    || state.manifest_seen >= MANIFESTS_MAX
    || is_used_up(state.last_sequence);
is_any && !BUG`,
  ]),
  defect('newer-than-table', 'core', [
    'core/src/table/reader.rs',
    '(sequence <= self.meta.sequence_max).then_some(sequence)',
    `(sequence <= self.meta.sequence_max || BUG)
    .then_some(sequence)`,
  ]),
  defect('unlisted-logs', 'core', [
    'core/src/compact/list_logs.rs',
    'if found.unrecoverable || open_logs == found.manifest.open_logs {',
    `if found.unrecoverable
    || open_logs == found.manifest.open_logs
    || BUG
{`,
  ]),
  defect('forget-syncs', 'core', [
    'core/src/log/writer.rs',
    'let label = Label { kind, tag, after_sync: !self.unsynced };',
    `let label =
    Label { kind, tag, after_sync: !self.unsynced && !BUG };`,
  ]),
  defect('no-cap', 'simulated interleavings', [
    'core/src/state/context.rs',
    'let blocks = Arc::new(BlockCache::new(options.block_cache_bytes));',
    `let bytes_max = if BUG { u64::MAX } else { options.bytes_max };
let options = Options { bytes_max, ..options };
let blocks = Arc::new(BlockCache::new(options.block_cache_bytes));`,
  ]),
  defect('damaged-as-torn', 'simulated interleavings', [
    'core/src/log/reader.rs',
    'Found::Damaged(what) => what,',
    `Found::Damaged(_) if BUG => return Ok(state),
Found::Damaged(what) => what,`,
  ]),
  defect('reset-counts-old-logs', 'simulated interleavings', [
    'core/src/writer/reset.rs',
    'next_writer: by + 1,',
    'next_writer: if BUG { 0 } else { by + 1 },',
  ]),
  defect('reset-leaves-logs', 'core', [
    'core/src/writer/reset.rs',
    'let by = claim_all(context, found.next_writer_seen)?;',
    `let by = match BUG {
    true => found.next_writer_seen,
    false => claim_all(context, found.next_writer_seen)?,
};`,
  ]),
  defect('repair-without-merge', 'simulated interleavings', [
    'core/src/maintain/repair.rs',
    'compact(context, state, committer, Extent::Due, watch)?;',
    `if !BUG {
    compact(context, state, committer, Extent::Due, watch)?;
}`,
  ]),
  defect('attached-may-vanish', 'core', [
    'core/src/state.rs',
    'self.vanished |= file.is_none();',
    'self.vanished |= file.is_none() && !BUG;',
  ]),
  defect('one-key-for-all-files', 'core', [
    'core/src/format/checksum.rs',
    'Self::Open => self,',
    `Self::Keyed(_) if BUG => self,
Self::Open => self,`,
  ]),
  defect('stale-second-open', 'API sharing', [
    'disk/src/registry.rs',
    'store.look_ahead()?;',
    `if !BUG {
    store.look_ahead()?;
}`,
  ]),
  defect('leave-untested-logs', 'core', [
    'core/src/compact/claim_logs.rs',
    'untested.truncate(untested.len().saturating_sub(UNTESTED_LOGS_LEFT));',
    `let left = if BUG { usize::MAX } else { UNTESTED_LOGS_LEFT };
untested.truncate(untested.len().saturating_sub(left));`,
  ]),
  defect('layers-lose-deletes', 'core', [
    'core/src/compact/merge.rs',
    '!self.state.may_be_below(plan.number, key);',
    '(BUG || !self.state.may_be_below(plan.number, key));',
  ]),
  defect('layers-ignore-versions', 'core', [
    'core/src/state/layers.rs',
    'if number != id.number {',
    'if number != id.number && !BUG {',
  ]),
  defect('unmarked-layers', 'simulated interleavings', [
    'core/src/writer/claim.rs',
    'let layered = !context.options.layers.is_empty();',
    'let layered = !context.options.layers.is_empty() && !BUG;',
  ]),
  defect('evicted-tables-show-layers', 'core', [
    'core/src/compact/obsolete_files.rs',
    'namespace.hides_layers |= manifest.layered;',
    'namespace.hides_layers |= manifest.layered && !BUG;',
  ]),
  defect('delta-without-deletes', 'core', [
    'core/src/seal.rs',
    '_ if *is_known => self.add(*hash, key, None)?,',
    '_ if *is_known && !BUG => self.add(*hash, key, None)?,',
  ]),
  defect('seal-without-sync', 'core', [
    'core/src/seal.rs',
    `drop(file);
        target.sync_folder()?;`,
    `drop(file);
if !BUG {
    target.sync_folder()?;
}`,
  ]),
  defect('whole-path-keys', 'units of archive', [
    'archive/src/path/set.rs',
    'self.wanted.extend(folded.bytes());',
    `self.wanted.extend(if BUG {
    whole.bytes()
} else {
    folded.bytes()
});`,
  ]),
  defect('names-no-option', 'units of archive', [
    'archive/src/tar/walk.rs',
    `return Err(self
                .source
                .problem(ArchiveProblem::TooLarge { option: "maxFiles", limit }));`,
    `let option = if BUG { "filesMax" } else { "maxFiles" };
return Err(self.source.problem(ArchiveProblem::TooLarge { option, limit }));`,
  ]),
  defect('wait-for-fifo', 'API files', [
    'disk/src/tree/folder_unix.rs',
    `let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;`,
    `let at_once =
    if BUG { OFlags::empty() } else { OFlags::NONBLOCK };
let flags = OFlags::RDONLY | OFlags::NOFOLLOW | at_once | OFlags::NOCTTY | OFlags::CLOEXEC;`,
  ]),
  defect(
    'pairs-for-good',
    'core',
    [
      'core/src/format/namespace_ids.rs',
      'let number = in_use.free.pop().unwrap_or_else(|| {',
      `if BUG && in_use.numbers >= 1 << 14 {
    return Err(Error::Exhausted { field: "namespaces", limit: 1 << 14 }.boxed());
}
let number = in_use.free.pop().unwrap_or_else(|| {`,
    ],
    [
      'core/src/format/namespace_ids.rs',
      'fn drop(&mut self) {',
      `fn drop(&mut self) {
    if BUG {
        return;
    }`,
    ],
  ),
  defect('remove-by-name', 'core', [
    'core/src/format/file_start.rs',
    'Some(FileStart::Foreign) => return Ok(Removal::Foreign),',
    `Some(FileStart::Foreign) if !BUG => {
    return Ok(Removal::Foreign);
}`,
  ]),
]
