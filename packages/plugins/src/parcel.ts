/**
 * A cache for Parcel. It replaces Parcel's LMDBCache, needs no other database, and checksums every byte.
 *
 * @example
 * import { Parcel } from '@parcel/core'
 * import { VarveParcelCache } from '@varve/plugins/parcel'
 * const bundler = new Parcel({ entries: 'index.html', defaultConfig: '@parcel/config-default', cache: new VarveParcelCache() })
 */
import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import { VarveError } from 'varve'
import { LazyNamespace, type OpenNamespace, ADAPTER_FIELDS, type AdapterOptions } from './adapters/namespace.ts'
import type { Fields } from 'varve/internal'
import { checkOptions } from './build/options.ts'
import { deleteContents, getContents, piecesOf, putContents } from './parcel/contents.ts'

/** Options of `new VarveParcelCache(options)`. Parcel passes them to its workers, so a secret can only be in `VARVE_SECRET`. */
export interface VarveParcelOptions extends Omit<AdapterOptions, 'secret' | 'maxBytes' | 'readOnly' | 'inMemory'> {
  /**
   * Cache directory, relative to the working directory. It has to be below Parcel's `cacheDir`: Parcel stores a snapshot of the
   * file system there, and builds wrong bundles if the cache and the snapshot are of different ages.
   * @defaultValue `.parcel-cache/varve`
   */
  readonly dir?: string | undefined
  /**
   * Size of the cache directory in bytes above which `ensure` empties the cache. Parcel fails if one entry of its graph is
   * missing, so all entries are removed together, and never while Parcel runs.
   * @defaultValue `4 GiB`
   */
  readonly maxBytes?: number | undefined
}

const MAX_BYTES = 4 * 1024 ** 3

const { secret: _secret, readOnly: _readOnly, inMemory: _inMemory, ...ADAPTER } = ADAPTER_FIELDS
const FIELDS: Fields<VarveParcelOptions> = {
  ...ADAPTER,
  maxBytes: ['a number of bytes', (value) => typeof value === 'number' && value > 0],
}

/** Keys of values of `set`, and of blobs. */
const dataKey = (key: string): string => `data ${key}`
const blobKey = (key: string): string => `blob ${key}`
const largeKey = (key: string): string => `large ${key}`

/**
 * The `Cache` of Parcel. Blobs may have any size. Once a method that writes has resolved, its change is committed, so that other
 * workers see it. It rejects with IO if the directory cannot be written, as Parcel's own caches do, because an outdated graph
 * would produce wrong bundles.
 *
 * Parcel's workers open the cache again, so the class has to be registered there as well:
 *
 * @example
 * // cache.cjs, loaded everywhere by NODE_OPTIONS='--require ./cache.cjs'
 * require('@parcel/core').registerSerializableClass('VarveParcelCache', require('@varve/plugins/parcel').VarveParcelCache)
 */
export class VarveParcelCache {
  readonly #options: VarveParcelOptions
  readonly #space: LazyNamespace

  /** Throws INVALID_OPTION if an option is unknown or of the wrong kind. The first call of a method opens the cache. */
  constructor(options: VarveParcelOptions = {}) {
    checkOptions('new VarveParcelCache()', options, FIELDS)
    this.#options = options
    // The engine must not evict single entries, because Parcel needs all of them.
    const all = { dir: '.parcel-cache/varve', ...options, maxBytes: Number.MAX_SAFE_INTEGER }
    this.#space = new LazyNamespace('parcel', all, 'clone')
  }

  /**
   * Makes sure that the cache is complete. Reads and checks every byte, and empties the cache if one is damaged or if the
   * directory exceeds `maxBytes`, because Parcel fails if one entry is missing. Costs 0.15 s of CPU per GiB (WebAssembly 0.35), and
   * the time to read it from the disk.
   */
  async ensure(): Promise<void> {
    const space = await this.#space.open()
    const { bytes, isSound } = await space.examine()
    if (isSound && bytes <= (this.#options.maxBytes ?? MAX_BYTES)) return
    space.clear('')
    await committed(space)
  }

  async has(key: string): Promise<boolean> {
    const space = await this.#space.open()
    return space.has(dataKey(key)) || space.has(blobKey(key))
  }

  /** A structured clone of the value that was set; null for a miss. */
  async get<T>(key: string): Promise<T | null> {
    const entry = (await this.#space.open()).get(dataKey(key))
    return entry === undefined ? null : (entry.value as T)
  }

  async set(key: string, value: unknown): Promise<void> {
    const space = await this.#space.open()
    space.put(dataKey(key), value)
    await committed(space)
  }

  /** The contents of `setStream` or `setLargeBlob`. The stream fails with ENOENT if there are none. */
  getStream(key: string): Readable {
    return Readable.from(this.#pieces(key), { objectMode: false })
  }

  async setStream(key: string, stream: Readable): Promise<void> {
    await this.#put(
      largeKey(key),
      stream.map((chunk: Buffer | string) => Buffer.from(chunk)),
    )
  }

  /** Rejects with ENOENT if there is no such blob, as Parcel expects. */
  async getBlob(key: string): Promise<Buffer> {
    return (await this.getBuffer(key)) ?? missing(key)
  }

  async setBlob(key: string, contents: Buffer | string): Promise<void> {
    await this.#put(blobKey(key), [Buffer.from(contents)])
  }

  /** As `getBlob`, but resolves to null if there is no such blob. */
  async getBuffer(key: string): Promise<Buffer | null> {
    return getContents(await this.#space.open(), blobKey(key)) ?? null
  }

  async hasLargeBlob(key: string): Promise<boolean> {
    return (await this.#space.open()).has(largeKey(key))
  }

  /** Rejects with ENOENT if there is no such blob. */
  async getLargeBlob(key: string): Promise<Buffer> {
    return getContents(await this.#space.open(), largeKey(key)) ?? missing(key)
  }

  /** Rejects with the reason of `signal` if it was aborted before the call. */
  async setLargeBlob(
    key: string,
    contents: Buffer | string,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    options.signal?.throwIfAborted()
    await this.#put(largeKey(key), [Buffer.from(contents)])
  }

  async deleteLargeBlob(key: string): Promise<void> {
    const space = await this.#space.open()
    deleteContents(space, largeKey(key))
    await committed(space)
  }

  /** Does nothing, because every read sees the commits of other processes. */
  refresh(): void {}

  /** Closes the cache. Parcel does not call this; the exit of its process has the same effect. */
  async close(): Promise<void> {
    await this.#space.close()
  }

  /** The options that a worker needs to open the same cache, without `onWarning`. */
  serialize(): { readonly options: VarveParcelOptions } {
    const { onWarning: _, ...options } = this.#options
    return { options }
  }

  static deserialize({ options }: { readonly options: VarveParcelOptions }): VarveParcelCache {
    return new VarveParcelCache(options)
  }

  async #put(key: string, contents: Parameters<typeof putContents>[2]): Promise<void> {
    const space = await this.#space.open()
    if (!(await putContents(space, key, contents))) notCommitted()
  }

  async *#pieces(key: string): AsyncGenerator<Buffer, void> {
    const space = await this.#space.open()
    for (const piece of piecesOf(space, largeKey(key))) yield piece ?? missing(key)
  }
}

async function committed(space: OpenNamespace): Promise<void> {
  if (!(await space.committed())) notCommitted()
}

function notCommitted(): never {
  throw new VarveError(
    'IO',
    "Parcel's cache cannot be written. The warning before this error has the reason; fix it, or build without a cache",
  )
}

function missing(key: string): never {
  throw Object.assign(new Error(`ENOENT: no entry '${key}' in the cache`), { code: 'ENOENT' })
}
