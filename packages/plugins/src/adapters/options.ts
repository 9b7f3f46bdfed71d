/**
 * The options that all adapters share: keyv, unstorage, metro, jest and parcel.
 */
import type { CacheOptions } from 'varve'
import { ANYTHING, BOOLEAN, type Fields, FUNCTION, oneOf, STRING, TEXT } from 'varve/internal'
import { SIZE } from '../build/options.ts'

/** Options of `openCache` that adapters have as they are. */
type SharedOptions = Pick<
  CacheOptions,
  'dir' | 'maxBytes' | 'durability' | 'readOnly' | 'inMemory' | 'engine' | 'secret' | 'requireSecret' | 'onWarning'
>

/**
 * Options of an adapter's cache. A directory that cannot be opened, and a secret that is required and missing, disable the cache with one
 * warning: every entry is a miss.
 */
export interface AdapterOptions extends SharedOptions {
  /**
   * Name of the cache. Adapters with different names never share entries, even if `VARVE_DIR` puts all caches into one directory.
   * A name consists of letters, digits and `. _ @ + -`.
   * @defaultValue the name of the tool, such as `'keyv'`
   */
  readonly name?: string | undefined
  /**
   * Invalidates all entries when it changes, and frees their space. Use it for inputs that the tool's keys do not cover.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
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
