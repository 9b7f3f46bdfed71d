/**
 * The options that all adapters share: keyv, unstorage, metro, jest and parcel.
 */
import type { EngineChoice, VarveError } from 'varve'
import { ANYTHING, BOOLEAN, type Fields, FUNCTION, oneOf, STRING, TEXT } from 'varve/internal'
import { SIZE } from '../build/options.ts'

/** Options of an adapter's cache. */
export interface AdapterOptions {
  /**
   * Name of the cache. Adapters with different names never share entries, even if `VARVE_DIR` puts all caches into one directory.
   * A name consists of letters, digits and `. _ @ + -`.
   * @defaultValue the name of the tool, such as `'keyv'`
   */
  readonly name?: string | undefined
  /**
   * Cache directory, relative to the working directory. With `'git'`, all worktrees of the Git repository share one.
   * @defaultValue `<VARVE_DIR>/<name>` if the environment has `VARVE_DIR`, otherwise `node_modules/.cache/varve/<name>` next to
   * the nearest package.json
   */
  readonly dir?: string | undefined
  /**
   * Invalidates all entries when it changes, and frees their space. Use it for inputs that the tool's keys do not cover.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * Maximum size of the cache directory, in bytes or as a text such as `'500MB'`. Compaction evicts the least recently used
   * entries first. A small limit costs misses.
   * @defaultValue `'1GiB'`
   */
  readonly maxBytes?: number | string | undefined
  /**
   * `'relaxed'` writes survive a process crash. `'durable'` writes also survive a power failure, and cost one disk sync each,
   * 0.1 to 10 ms.
   * @defaultValue `'relaxed'`
   */
  readonly durability?: 'relaxed' | 'durable' | undefined
  /**
   * Reads the cache and writes nothing to disk. New entries are visible to this process only, and take its memory.
   * @defaultValue `false`
   */
  readonly readOnly?: boolean | undefined
  /**
   * Keeps the entries in the memory of this thread, without a directory, for tests. Cannot be combined with `dir`.
   * @defaultValue `false`
   */
  readonly inMemory?: boolean | undefined
  /**
   * The engine of Varve. Both engines read and write the same directory; WebAssembly is about half as fast.
   * @defaultValue `'auto'`: the native engine, or WebAssembly if the addon cannot be loaded
   */
  readonly engine?: EngineChoice | undefined
  /**
   * A secret of at least 32 random bytes. An entry that was not written with the same secret is a miss. For caches that travel
   * through a place to which others can write. Costs time for every byte read or written; see `secret` of `openCache`.
   * @defaultValue the environment variable `VARVE_SECRET`, which keeps the secret out of config files; none if it is not set
   */
  readonly secret?: Uint8Array | string | undefined
  /**
   * Disables the cache if there is no secret: one warning, and every entry is a miss. See `requireSecret` of `openCache`.
   * @defaultValue `true` if the environment has `VARVE_REQUIRE_SECRET=1`, otherwise `false`
   */
  readonly requireSecret?: boolean | undefined
  /**
   * Called for a problem that does not fail a call, such as damage, a full disk, or a directory that cannot be opened. Each kind
   * is reported once.
   * @defaultValue `process.emitWarning`
   */
  readonly onWarning?: ((warning: VarveError) => void) | undefined
}

export const ADAPTER_FIELDS: Fields<AdapterOptions> = {
  name: TEXT,
  dir: TEXT,
  version: STRING,
  maxBytes: SIZE,
  durability: oneOf('relaxed', 'durable'),
  readOnly: BOOLEAN,
  inMemory: BOOLEAN,
  engine: oneOf('auto', 'native', 'wasm'),
  // `openCache` checks it, and does not print its value.
  secret: ANYTHING,
  requireSecret: BOOLEAN,
  onWarning: FUNCTION,
}
