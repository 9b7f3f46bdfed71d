/** Options of a cache and its namespaces, with their defaults and what each costs. */
import type { CodecName } from './values/codec.ts'
import type { VarveError } from './errors.ts'
import type { FileManifest } from './values/manifest.ts'
import type { Damage } from './reports.ts'

/** What an acknowledged commit survives; see `CacheOptions.durability`. */
export type Durability = 'relaxed' | 'durable'

/** Which engine to load; see `CacheOptions.engine`. */
export type EngineChoice = 'auto' | 'native' | 'wasm' | 'memory'

/** Options of `openCache`. */
export interface CacheOptions {
  /**
   * Name of the tool, also the name of the folder: letters, digits and `. _ @ + -`, at most 100, not beginning with a
   * dot. Tools with different names never meet.
   */
  readonly name: string
  /**
   * Folder of this cache, relative to the working directory. No other user may be able to replace it, or a directory on
   * the way to it (see `shared`); where it cannot be used the cache is kept in memory, see `CacheStatus.degraded`.
   * @defaultValue `<VARVE_DIR>/<name>` or `<CACHE_DIR>/varve/<name>` where these are set in the environment, else
   * `node_modules/.cache/varve/<name>` beside the nearest package.json
   */
  readonly dir?: string | undefined
  /**
   * Version of whatever makes all values: usually the tool's own. A change drops every namespace.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * Cap of the folder: bytes, at least 65,536, or a text such as `'500MB'` (10^6) or `'2GiB'` (2^30). The least
   * recently used entries go first, at compaction, until an eighth is free; until then the folder may be larger. What
   * this process wrote or read goes last. A small cap costs misses. Where caches of one process share a folder the native
   * engine keeps to the cap of the first.
   * @defaultValue `'1GiB'`
   */
  readonly maxBytes?: number | string | undefined
  /**
   * `'relaxed'`: a commit survives the death of the process; after a loss of power the cache is some earlier state.
   * Disks are synced about 5 s later. `'durable'`: an acknowledged commit survives a loss of power, for one disk sync
   * each, 0.1 to 10 ms. Each commit can override it.
   * @defaultValue `'relaxed'`
   */
  readonly durability?: Durability | undefined
  /**
   * Write nothing at all: `put` and `delete` stay in memory, `commit` and `compact` reject with READ_ONLY.
   * @defaultValue `false`
   */
  readonly readOnly?: boolean | undefined
  /**
   * Trust the folder although it, or a directory on the way, is another user's, and although others may write to it if it
   * is sticky. Users who can write to it decide what your builds emit. Files are made for their owner only in any case.
   * @defaultValue `false`: such a folder is neither read nor written, the cache is kept in memory; SECURITY.md has the rules
   */
  readonly shared?: boolean | undefined
  /**
   * `'auto'` takes the native engine and falls back to WebAssembly, which is about half as fast; `status()` says why.
   * `'native'` and `'wasm'` fail rather than fall back. `'memory'` is WebAssembly on files that exist in this process
   * only. `VARVE_ENGINE` in the environment beats all but `'memory'`.
   * @defaultValue `'auto'`
   */
  readonly engine?: EngineChoice | undefined
  /**
   * A secret of at least 32 random bytes, a string counting as UTF-8: only what was written with it counts, everything
   * else in the folder is a miss. For a cache that others may write to, such as one that CI restores. Authentic, not
   * secret: everybody can read the entries, and put back what was written with the key before. Each key has a folder
   * of its own in that of the cache, whose name is a hash of the key: a passphrase can be guessed from it. Files are never
   * restored as hard links into the cache. Costs CPU time where bytes are read or written: of 20 MB that do not compress, a commit
   * takes 1.35 times as much, a full compaction 2.3 times, reading all once 1.9 times; small commits and what is read again
   * less than a tenth more.
   * @defaultValue `VARVE_KEY` in the environment; none where that is not set
   */
  readonly key?: Uint8Array | string | undefined
  /**
   * Reject with SECRET_MISSING if there is no `key` and `VARVE_KEY` is missing or empty, instead of using the cache
   * without a secret. `false` says that this build is meant to have no secret: an empty `VARVE_KEY` is not warned of.
   * `VARVE_REQUIRE_SECRET=1` requires a secret for every cache, whatever this option is.
   * @defaultValue `VARVE_REQUIRE_SECRET` in the environment; if that is not set, an empty `VARVE_KEY` is warned of once
   */
  readonly requireSecret?: boolean | undefined
  /**
   * Told what went wrong without failing a call: damage met, a value that could not be decoded, background work that
   * failed. Each kind is told once per cache.
   * @defaultValue `process.emitWarning`
   */
  readonly onWarning?: ((warning: VarveError) => void) | undefined
  /**
   * Told of each damaged place once, soon after the call that met it: file, byte, what it is, and whose entries were
   * there as far as that is known. They are misses, never older values; the next commit or compaction sets the file
   * aside. Costs nothing until there is damage.
   * @defaultValue one warning to `onWarning`
   */
  readonly onDamage?: ((damage: Damage) => void) | undefined
  /**
   * Damage is an error: once any is met, every call that might have needed what is lost (a miss, a commit, a
   * compaction; `openCache` itself for a damaged log or manifest) throws DAMAGED, until it is repaired and opened again. For tools that must
   * not go on with part of their cache. Costs 25 ns for each miss.
   * @defaultValue `false`
   */
  readonly strict?: boolean | undefined
}

/** Options of `cache.namespace`. */
export interface NamespaceOptions {
  /**
   * Version of whatever makes this namespace's values. A change drops this namespace, not the cache.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * How values become bytes. `'bytes'`: Uint8Array as they are. `'text'`: strings. `'json'`: what JSON can hold, at most 4,194,304 elements.
   * `'v8'`: what structured clone can hold (Map, Set, Date, cycles); an update of Node.js that brings another V8 drops
   * the namespace. Both refuse a value that would come back as something else, such as an instance of a class, or a Date or
   * NaN in `'json'`; that costs a walk over the objects and arrays of the value, however long its strings are. Decoding costs:
   * bytes and text about 60 ns, json 3 ns a byte, v8 10 ns a byte.
   * @defaultValue `'bytes'`
   */
  readonly codec?: CodecName | undefined
}

/** Options of `namespace.put`. */
export interface PutOptions {
  /**
   * Manifests somewhere in the value: their files stay as long as the entry does. For a value that is a manifest itself
   * there is nothing to say.
   * @defaultValue none
   */
  readonly files?: FileManifest | readonly FileManifest[] | undefined
}

/** Options of `cache.commit`. */
export interface CommitOptions {
  /** @defaultValue the cache's `durability` */
  readonly durability?: Durability | undefined
}

/** Options of `cache.close`. */
export interface CloseOptions {
  /**
   * Commit what is buffered, with durability `'relaxed'`. `false` discards it.
   * @defaultValue `true`; a cache with `readOnly: true` never commits
   */
  readonly commit?: boolean | undefined
}

/** Watches and stops a long call. */
export interface WatchOptions {
  /** Stops the call, which then rejects with CANCELLED; nothing committed is lost. */
  readonly signal?: AbortSignal | undefined
  /** Told how far the call is, at most every 50 ms: bytes done and in all (0 = not counted yet). Throwing stops the call. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined
}

/** Options of `cache.repair`. */
export interface RepairOptions extends WatchOptions {
  /**
   * Write nothing, only say what a repair would find and set aside.
   * @defaultValue `false`
   */
  readonly dryRun?: boolean | undefined
}

/** Options of `cache.exportJson`. */
export interface ExportOptions extends WatchOptions {
  /**
   * `'json'`: one array, an entry a line. `'ndjson'`: the same lines without the array around them.
   * @defaultValue `'json'`
   */
  readonly format?: 'json' | 'ndjson' | undefined
  /**
   * Only the entries of the namespace of that name.
   * @defaultValue all namespaces
   */
  readonly namespace?: string | undefined
  /**
   * Keys and lengths of values, no values: none is read. Such an export cannot be imported.
   * @defaultValue `false`
   */
  readonly keysOnly?: boolean | undefined
}

/** Options of `cache.importJson`. */
export interface ImportOptions extends WatchOptions {
  /**
   * Take entries of a namespace that has another version in this cache. As with any other commit of another version,
   * what the namespace holds is dropped. Without it such entries are refused.
   * @defaultValue `false`
   */
  readonly overwrite?: boolean | undefined
}

/** Options of `cache.compact`. */
export interface CompactOptions extends WatchOptions {
  /**
   * Fold and merge everything, not only what is due: the smallest folder and the fastest lookups, for reading and
   * writing the whole cache once.
   * @defaultValue `false`
   */
  readonly full?: boolean | undefined
}
