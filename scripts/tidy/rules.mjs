// @ts-check
// The house rules, as constants. Who needs an exception changes this file, in the open.

/** Lines of a file, of a function, and characters of a line. */
export const LIMITS = {
  rust: { file: 500, function: 70, testFunction: 100, line: 120 },
  typescript: { file: 300, function: 50, line: 150 },
}

/** Folders that hold no source of ours. */
export const SKIPPED_FOLDERS = new Set(['.git', '.demo', 'coverage', 'dist', 'generated', 'node_modules', 'target'])

/** `unsafe` may be written here only; a star stands for the rest of a path. */
export const UNSAFE_FILES = [
  'crates/disk/src/map.rs', // maps of immutable files
  'crates/disk/src/guard.rs', // the handler that turns a fault in a map into a miss
  'crates/disk/src/guard/table.rs', // what that handler looks up, without a lock
  'crates/disk/src/platform/*', // calls of an operating system that std lacks
  'crates/disk/tests/contract/truncated.rs', // a foreign map, to prove that the guard leaves it alone
  'crates/node/src/raw*', // Node-API callbacks of the hot calls
  'bench/engine/src/measure.rs', // the CPU time of the process
  'bench/engine/src/workloads/open.rs', // files dropped from the system's cache
  'bench/rivals/rust/src/subjects/lmdb.rs', // a rival whose interface asks for it
  'bench/engine/tests/guard/allocator.rs', // an allocator that counts: GlobalAlloc has no safe form
]

/** Words that say where a machine or a tool was, not what the project is. Put together so as not to find themselves. */
export const FOREIGN_WORDS = [['', 'work', ''].join('/'), ['', 'farm', ''].join('/'), ['sub', 'agent'].join('')]

/** Which crates a crate may use. */
export const CRATE_ARROWS = new Map([
  ['varve-core', []],
  ['varve-disk', ['varve-core']],
  ['varve-door', ['varve-core']],
  ['varve-node', ['varve-core', 'varve-disk', 'varve-door']],
  ['varve-wasm', ['varve-core', 'varve-door']],
  ['varve-bindgen', []],
  ['varve-safety', ['varve-core']],
  ['varve-bench', ['varve-core', 'varve-disk', 'varve-door']],
  ['varve-bench-rivals', ['varve-bench']],
])

/** Most dependencies of a crate. */
export const DEPENDENCIES_MAX = new Map([['varve-core', 10]]) // one of them, the scheduler of a feature for tests, is never shipped

/** Modules of core, from the top down: a module uses its own layer and those below. */
export const CORE_LAYERS = [
  ['forge', 'store', 'handle', 'intake', 'reader', 'reads'],
  ['commit', 'compact', 'list_logs', 'record_uses', 'renew', 'repair', 'reset', 'stats', 'top', 'verify', 'walk'],
  ['aside', 'batch', 'begin', 'claim', 'entries', 'lookup', 'missing'],
  ['context', 'state'],
  ['files', 'log', 'manifest', 'table', 'used'],
  ['block_cache', 'damage', 'doubts', 'file_writer', 'format', 'key_map', 'names', 'radix'],
  ['clock', 'error', 'key', 'options', 'planted', 'pool', 'report', 'sync', 'vfs'],
]

/** The engines: from outside this folder only the loader is imported; inside, only these files import an engine. */
export const ENGINE_FOLDER = 'packages/varve/src/engine/'
export const ENGINES = ['native.ts', 'wasm.ts']
export const ENGINE_LOADER = 'load.ts'
export const ENGINE_USERS = [ENGINE_LOADER, 'compact-worker.ts'] // the worker is that engine's other thread
