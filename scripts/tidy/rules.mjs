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
  'crates/node/src/node_api/*', // Node-API callbacks by hand
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
  ['varve-archive', ['varve-core']],
  ['varve-disk', ['varve-core', 'varve-archive']],
  ['varve-bindings', ['varve-core', 'varve-archive']],
  ['varve-node', ['varve-core', 'varve-archive', 'varve-disk', 'varve-bindings']],
  ['varve-wasm', ['varve-core', 'varve-archive', 'varve-bindings']],
  ['varve-bindgen', []],
  ['varve-safety', ['varve-core', 'varve-archive']],
  ['varve-bench', ['varve-core', 'varve-archive', 'varve-disk', 'varve-bindings']],
  ['varve-bench-rivals', ['varve-bench']],
])

/** Most dependencies of a crate. */
export const DEPENDENCIES_MAX = new Map([['varve-core', 5]]) // one of them, the scheduler of a feature for tests, is never shipped

/**
 * Rooms of core by floor, from the top down: a room uses those on lower floors only, so no two use each other. At most
 * 12 floors and 21 rooms.
 */
export const CORE_FLOORS = [
  ['store'],
  ['maintain'],
  ['compact'],
  ['commit'],
  ['read', 'writer'],
  ['state'],
  ['log', 'testing'],
  ['manifest'],
  ['batch', 'table'],
  ['blobs', 'options', 'usage'],
  ['format'],
  ['error', 'platform', 'report'],
]
export const CORE_FLOORS_MAX = 12
export const CORE_ROOMS_MAX = 21

/** The engines: from outside this folder only the loader and the interfaces are imported; inside, only these files import an engine. */
export const ENGINE_FOLDER = 'packages/varve/src/engine/'
export const ENGINES = ['native.ts', 'wasm.ts']
export const ENGINE_LOADER = 'load.ts'
export const ENGINE_INTERFACES = ['engine.ts', 'files.ts'] // what an engine is; anything may import them
export const ENGINE_USERS = [ENGINE_LOADER, 'compact-worker.ts'] // the worker is that engine's other thread

/**
 * Most words of each family of `prose.mjs` per 1,000 words. The goals are 0, 0.1 and 0.4; a limit goes down with what is
 * rewritten, never up.
 *
 * @type {Readonly<Record<'comments' | 'pages', Readonly<Record<string, number>>>>}
 */
export const PROSE_MAX = {
  comments: { nobody: 2.4, says: 4.3, where: 2.6 },
  pages: { nobody: 0.8, says: 2.3, where: 1 },
}
