/** Options of a cache and its namespaces, with their defaults and what each costs. */
import type { CodecName } from './values/codec.ts'
import type { VarveError } from './errors.ts'
import type { FileManifest } from './values/manifest.ts'
import type { CacheRemote } from './remote/remote.ts'
import type { Damage } from './reports.ts'

/** Which failures a commit survives; see `CacheOptions.durability`. */
export type Durability = 'relaxed' | 'durable'

/** Which builds leave a record; see `CacheOptions.history`. */
export type HistoryMode = 'auto' | 'always' | 'never'

/** Which engine to load; see `CacheOptions.engine`. */
export type EngineChoice = 'auto' | 'native' | 'wasm'

/** Options of `openCache`. */
export interface CacheOptions {
  /**
   * Name of the tool, and of its cache directory: letters, digits and `. _ @ + -`, at most 100, not beginning with a dot.
   * Tools with different names never share entries.
   */
  readonly name: string
  /**
   * The cache directory, relative to the working directory. `'git'` is `varve/<name>` in the directory that all worktrees of the Git
   * repository share, so that they share entries; outside a repository it is the default. Varve does not use a directory that
   * another user can replace (see `shared`): the cache is then kept in memory, and `CacheStatus.degraded` gives the reason.
   * @defaultValue `<VARVE_DIR>/<name>` or `<CACHE_DIR>/varve/<name>` if the environment sets one of these variables;
   * otherwise `node_modules/.cache/varve/<name>` beside the nearest package.json
   */
  readonly dir?: string | undefined
  /**
   * Keeps the cache in the memory of this thread, without a directory. Caches of the same name share their entries until
   * the thread ends. It uses WebAssembly, so `dir` and `engine: 'native'` are refused beside it.
   * @defaultValue `false`
   */
  readonly inMemory?: boolean | undefined
  /**
   * Version of the code that makes all values, usually the version of the tool. A change invalidates every namespace.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * Size limit of the cache directory: bytes, at least 65,536, or a text such as `'500MB'` (10^6) or `'2GiB'` (2^30). A
   * compaction evicts the least recently used entries until an eighth is free, those that this process wrote or read last;
   * between compactions the directory can be larger. A small limit costs misses. If several caches of one process use the
   * same directory, the native engine applies the limit of the first.
   * @defaultValue `'1GiB'`
   */
  readonly maxBytes?: number | string | undefined
  /**
   * `'relaxed'`: a commit survives a process crash; after a power failure the cache is in some earlier state. Varve syncs
   * the files about 5 s later. `'durable'`: a commit that has resolved also survives a power failure, at the cost of one
   * disk sync each, 0.1 to 10 ms. `CommitOptions.durability` overrides it for one commit.
   * @defaultValue `'relaxed'`
   */
  readonly durability?: Durability | undefined
  /**
   * Writes nothing to disk: `put`, `delete` and `clear` change what this cache object reads, `commit` and `compact` reject
   * with READ_ONLY.
   * @defaultValue `false`
   */
  readonly readOnly?: boolean | undefined
  /**
   * Uses the directory even if it, or a directory above it, belongs to another user, and even if others can write to it
   * and it is sticky. Users who can write to it can change your build output. New files belong to this user only.
   * @defaultValue `false`: Varve neither reads nor writes such a directory; SECURITY.md has the rules
   */
  readonly shared?: boolean | undefined
  /**
   * `'auto'` loads the native engine, or WebAssembly if that fails, which is about half as fast; `status().reason`
   * explains the choice. `'native'` rejects with ENGINE_UNAVAILABLE instead. A process that cannot start WebAssembly, as under `--jitless`,
   * has a cache in memory without files and layers, and one warning. `VARVE_ENGINE` in the environment has precedence.
   * @defaultValue `'auto'`
   */
  readonly engine?: EngineChoice | undefined
  /**
   * A secret of at least 32 random bytes; a string stands for its UTF-8. Only entries that were written with it count,
   * all others are misses: for a cache that others can write to, such as one that CI restores. It makes entries authentic,
   * not confidential: all users can read them, and can restore an older state that was written with the same secret. Each
   * secret has its own directory inside `dir`, named by a hash of the secret, so a passphrase can be guessed from it.
   * Files are never restored as hard links. The cost is CPU time: for 20 MB that do not compress, a commit takes 1.35
   * times as long, a full compaction 2.3 times, a first read of everything 1.9 times; small commits and repeated reads
   * take less than a tenth more.
   * @defaultValue `VARVE_SECRET` in the environment; without it the cache has no secret
   */
  readonly secret?: Uint8Array | string | undefined
  /**
   * Rejects with SECRET_MISSING if there is no `secret` and `VARVE_SECRET` is missing or empty, instead of opening the
   * cache without a secret. `false` declares that this build has no secret, so an empty `VARVE_SECRET` causes no warning.
   * `VARVE_REQUIRE_SECRET=1` requires a secret for every cache and has precedence.
   * @defaultValue `VARVE_REQUIRE_SECRET` in the environment; without it an empty `VARVE_SECRET` causes one warning
   */
  readonly requireSecret?: boolean | undefined
  /**
   * Directories of sealed layers below the cache, the newest first: lookups that the cache does not answer read them in this
   * order. A put or a delete hides what they have. They are never written, and may be on a read-only disk. Opening one reads
   * a small file. `maxBytes` does not count them. A layer that is missing or damaged is a miss, with one warning. With a `secret`,
   * only layers that were sealed with it count. docs/layers.md has recipes.
   * @defaultValue `<directory>/<name>` for each directory in `VARVE_LAYERS` in the environment that has it (separated as in
   * `PATH`); without it the cache has no layers
   */
  readonly layers?: readonly string[] | undefined
  /**
   * Which builds leave a record that `cache.history()` and `npx varve history` read. `'auto'`: those that commit entries,
   * and those with results of which none was stored. `'always'`: also those that only read, which then write one small entry on `close`. `'never'`: none. A record has at
   * most 200 bytes, and the oldest of more than 1,000 is removed. It belongs to the last commit of the build. `VARVE_HISTORY` in the environment has precedence.
   * @defaultValue `'auto'`
   */
  readonly history?: HistoryMode | undefined
  /**
   * A remote that machines share, made by `openRemote` of `@varve/remote`; its layers are below those of `layers`. `openCache` waits
   * for what this machine lacks, at most 10 s in a process, and 2 s for a remote that does not answer. It never fails for
   * a remote: one warning and `status().remote` have the reason. With a signing key and mode `'read-write'`, `close` publishes
   * what is new within 30 s. `false`: none. docs/remote.md has recipes.
   * @defaultValue the remote that `VARVE_REMOTE` in the environment names; without it the cache has none, and no connection is opened
   */
  readonly remote?: CacheRemote | false | undefined
  /**
   * Called with each problem that does not fail a call: damage, a value that cannot be decoded, background work that
   * failed. Each kind is reported once per cache.
   * @defaultValue `process.emitWarning`
   */
  readonly onWarning?: ((warning: VarveError) => void) | undefined
  /**
   * Called once for each damaged place, soon after the call that detected it: file, offset, what it is, and which entries
   * were there if that is known. Those entries are misses, never older values; the next commit or compaction quarantines
   * the file. It costs nothing until there is damage.
   * @defaultValue one warning to `onWarning`
   */
  readonly onDamage?: ((damage: Damage) => void) | undefined
  /**
   * Makes damage an error. Once Varve detects any, each call that the lost entries could affect (a miss, a commit, a
   * compaction; `openCache` for a damaged log or manifest) throws DAMAGED until the cache is repaired and opened again. It
   * is for tools that must not continue with part of their cache, and costs 25 ns for each miss.
   * @defaultValue `false`
   */
  readonly strict?: boolean | undefined
}

/** Options of `cache.namespace`. */
export interface NamespaceOptions {
  /**
   * Version of the code that makes the values of this namespace. A change invalidates this namespace, not the cache.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * How values become bytes. `'bytes'`: Uint8Array as it is. `'text'`: strings. `'json'`: what JSON can represent, at most
   * 4,194,304 elements. `'v8'`: what structured clone supports (Map, Set, Date, cycles); a Node.js release with another
   * version of V8 invalidates the namespace. `'json'` and `'v8'` refuse a value that would change on the way, such as an
   * instance of a class, or NaN in `'json'`; this check visits each object and array of the value. Decoding costs about
   * 60 ns for bytes and text, 3 ns a byte for json, 10 ns a byte for v8.
   * @defaultValue `'bytes'`
   */
  readonly codec?: CodecName | undefined
}

/** Options of `namespace.put`. */
export interface PutOptions {
  /**
   * Manifests inside the value; their files are kept as long as the entry. A value that is itself a manifest needs no
   * option.
   * @defaultValue none
   */
  readonly files?: FileManifest | readonly FileManifest[] | undefined
}

/** Options of `cache.commit`. */
export interface CommitOptions {
  /**
   * Overrides the durability of the cache for this commit.
   * @defaultValue `CacheOptions.durability`
   */
  readonly durability?: Durability | undefined
}

/** Options of `cache.close`. */
export interface CloseOptions {
  /**
   * Commits the buffered entries with durability `'relaxed'`. `false` discards them.
   * @defaultValue `true`; a cache with `readOnly: true` never commits
   */
  readonly commit?: boolean | undefined
}

/** Reports the progress of a long call, and stops it. */
export interface WatchOptions {
  /** Stops the call, which then rejects with CANCELLED. Committed entries are kept. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called at most every 50 ms with the bytes done and the bytes in total (0 = not known yet). An exception stops the call,
   * which rejects with it. With WebAssembly, most calls of the same cache in it are refused with BUSY, and lookups are misses.
   */
  readonly onProgress?: ((done: number, total: number) => void) | undefined
}

/** Options of `cache.seal`. */
export interface SealOptions extends WatchOptions {
  /**
   * A layer, or several with the newest first. The new layer has only what differs from them, and deletes for what they have
   * and the cache does not. Open it before them.
   * @defaultValue none: the layer has all entries
   */
  readonly since?: string | readonly string[] | undefined
}

/** Options of `cache.repair`. */
export interface RepairOptions extends WatchOptions {
  /**
   * Writes nothing and reports what a repair would find and quarantine.
   * @defaultValue `false`
   */
  readonly dryRun?: boolean | undefined
}

/** Options of `cache.compact`. */
export interface CompactOptions extends WatchOptions {
  /**
   * Checkpoints and merges everything, not only what is due. This gives the smallest directory and the fastest lookups,
   * and reads and writes the whole cache once.
   * @defaultValue `false`
   */
  readonly full?: boolean | undefined
}
