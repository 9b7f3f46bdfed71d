// @ts-check
// The house rules, as constants. Who needs an exception changes this file, in the open.

/** Lines of a file, of a function, and characters of a line. */
export const LIMITS = {
  rust: { file: 500, function: 70, testFunction: 100 },
  typescript: { file: 300, function: 50 },
  line: 120,
}

/** Folders that hold no source of ours. */
export const SKIPPED_FOLDERS = new Set(['.git', '.demo', 'coverage', 'dist', 'generated', 'node_modules', 'target'])

/** `unsafe` may be written here only; a star stands for the rest of a name. */
export const UNSAFE_FILES = ['crates/disk/src/map.rs', 'crates/disk/src/guard.rs', 'crates/node/src/raw*']

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
])

/** Most dependencies of a crate. */
export const DEPENDENCIES_MAX = new Map([['varve-core', 4]])

/** Modules of core, from the top down: a module uses its own layer and those below. */
export const CORE_LAYERS = [
  ['store', 'handle'],
  ['commit', 'lookup', 'compact', 'batch', 'damage', 'memtable'],
  ['table', 'log', 'manifest', 'block_cache'],
  ['format', 'file_writer', 'key_map'],
  ['vfs', 'pool', 'error', 'report'],
]

/** Modules of the `varve` package that are an engine; only the loader imports them. */
export const ENGINE_LOADER = 'load.ts'
export const ENGINE_IMPLEMENTATIONS = ['packages/varve/src/engine/native', 'packages/varve/src/engine/wasm']
