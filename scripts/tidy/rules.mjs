// @ts-check
// The house rules, as constants. An exception needs a change of this file, so that it is visible in review.

/** Directories without source code of this project. */
export const SKIPPED_FOLDERS = new Set(['.git', '.demo', 'coverage', 'dist', 'generated', 'node_modules', 'target'])

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

/** The most dependencies of a crate. */
export const DEPENDENCIES_MAX = new Map([['varve-core', 5]]) // one of them, the scheduler of a test feature, is never shipped

/**
 * Rooms of core by floor, from the top down: a room uses those on lower floors only, so no two use each other. At most
 * 12 floors and 21 rooms.
 */
export const CORE_FLOORS = [
  ['store'],
  ['maintain', 'seal'],
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

/** Rooms by floor of each crate, by its folder. @type {ReadonlyMap<string, readonly (readonly string[])[]>} */
export const FLOORS = new Map([
  ['crates/core/src/', CORE_FLOORS],
  ['crates/node/src/', [['inputs', 'open'], ['calls'], ['hot'], ['store'], ['answers', 'memory', 'progress']]],
  [
    'crates/disk/src/',
    [['registry'], ['vfs'], ['inputs', 'tree'], ['file'], ['direct'], ['platform'], ['map'], ['guard', 'pool']],
  ],
  [
    'crates/bindings/src/',
    [
      ['files', 'handle'],
      ['transfer'],
      ['export', 'import'],
      ['folders', 'objects'],
      ['commit', 'guard', 'reads', 'restored', 'top'],
      ['json', 'packed'],
      ['failure'],
    ],
  ],
])
/**
 * Rooms of `packages/varve/src` by floor, in the same way. A file that is named has a floor of its own: rooms above and below its folder
 * need it.
 */
export const LIBRARY_FLOORS = [
  ['cli', 'index'],
  ['api', 'cli-json'],
  ['files', 'internal', 'reads/index'],
  ['json', 'task'],
  ['session'],
  ['history', 'remote'],
  ['engine', 'health', 'reads'],
  ['inputs', 'options'],
  ['remote/remote', 'values'],
  ['checks', 'health/domain', 'host/installed'],
  ['errors', 'health/trust'],
  ['host', 'reports'],
]

export const CORE_FLOORS_MAX = 12
export const CORE_ROOMS_MAX = 21

/** The engines: from outside this folder only the loader and the interfaces are imported; inside, only these files import an engine. */
export const ENGINE_FOLDER = 'packages/varve/src/engine/'
export const ENGINES = ['native.ts', 'wasm.ts']
export const ENGINE_LOADER = 'load.ts'
export const ENGINE_INTERFACES = ['engine.ts'] // what an engine is; anything may import it
export const ENGINE_USERS = [ENGINE_LOADER, 'compact-worker.ts'] // the worker is that engine's other thread
