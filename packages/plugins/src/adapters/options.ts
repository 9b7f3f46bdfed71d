/**
 * Options that all adapters share (keyv, unstorage, metro, jest, parcel): what each does, its default and its price.
 */
import type { EngineChoice, VarveError } from 'varve'
import { ANYTHING, BOOLEAN, type Fields, FUNCTION, oneOf, TEXT } from '../build/validate.ts'

/** Where the entries of an adapter live and how they are kept. */
export interface AdapterOptions {
  /**
   * Name of the cache: two adapters with different names never meet, also where `VARVE_DIR` puts all caches into one
   * folder. Letters, digits and `. _ @ + -`.
   * @defaultValue the name of the tool, such as `'keyv'`
   */
  readonly name?: string | undefined
  /**
   * Folder of the cache, relative to the working directory.
   * @defaultValue `<VARVE_DIR>/<name>` where that is set in the environment, else `node_modules/.cache/varve/<name>` beside the nearest package.json
   */
  readonly dir?: string | undefined
  /**
   * A change makes every entry a miss and frees its space. Put in what the tool's keys do not know of.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * Cap of the folder: bytes, or a text such as `'500MB'`. The least recently used entries go first, at compaction. A
   * small cap costs misses.
   * @defaultValue `'1GiB'`
   */
  readonly maxBytes?: number | string | undefined
  /**
   * `'durable'` makes every write survive a loss of power, for one disk sync each, 0.1 to 10 ms. `'relaxed'` survives
   * the death of the process.
   * @defaultValue `'relaxed'`
   */
  readonly durability?: 'relaxed' | 'durable' | undefined
  /**
   * Read, write nothing to disk; what is put is seen by this process only, and costs its memory.
   * @defaultValue `false`
   */
  readonly readOnly?: boolean | undefined
  /**
   * Keeps the entries in the memory of this thread, without a directory: for tests. `dir` is refused beside it.
   * @defaultValue `false`
   */
  readonly inMemory?: boolean | undefined
  /**
   * Which engine of Varve to use; both read and write the same folder. WebAssembly is about half as fast.
   * @defaultValue `'auto'`: native, WebAssembly where addons cannot be loaded
   */
  readonly engine?: EngineChoice | undefined
  /**
   * A secret of at least 32 random bytes: what was not written with it is a miss. For caches that come from where others may
   * write. Costs time for every byte that is read or written; see `secret` of `openCache`.
   * @defaultValue `VARVE_SECRET` in the environment, which keeps it out of config files; none where that is not set
   */
  readonly secret?: Uint8Array | string | undefined
  /**
   * Use no cache if there is no `secret` and `VARVE_SECRET` is missing or empty: one warning, and every entry is a miss. See
   * `requireSecret` of `openCache`.
   * @defaultValue `VARVE_REQUIRE_SECRET=1` in the environment requires one
   */
  readonly requireSecret?: boolean | undefined
  /**
   * Told what went wrong without failing a call: damage met, a full disk, a folder that cannot be opened. Each kind is
   * told once.
   * @defaultValue `process.emitWarning`
   */
  readonly onWarning?: ((warning: VarveError) => void) | undefined
}

/** Fields of AdapterOptions. */
export const ADAPTER_FIELDS: Fields<AdapterOptions> = {
  name: TEXT,
  dir: TEXT,
  version: ['a string', (value) => typeof value === 'string'],
  maxBytes: ["bytes or a text such as '500MB'", (value) => typeof value === 'string' || isAmount(value)],
  durability: oneOf('relaxed', 'durable'),
  readOnly: BOOLEAN,
  inMemory: BOOLEAN,
  engine: oneOf('auto', 'native', 'wasm'),
  // `openCache` checks it, so that no message contains its value.
  secret: ANYTHING,
  requireSecret: BOOLEAN,
  onWarning: FUNCTION,
}

/** Whether a value is a number above 0. */
export function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value > 0
}
