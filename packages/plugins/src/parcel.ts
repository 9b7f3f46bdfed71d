/**
 * Varve as the cache of Parcel, in the place of its LMDBCache: no addon of another database, every byte checksummed.
 *
 * @example
 * import { Parcel } from '@parcel/core'
 * import { VarveParcelCache } from '@varve/plugins/parcel'
 * const bundler = new Parcel({ entries: 'index.html', defaultConfig: '@parcel/config-default', cache: new VarveParcelCache() })
 */
import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import { VarveError } from 'varve'
import { LazyNamespace } from './adapters/lazy-namespace.ts'
import type { OpenNamespace } from './adapters/open-namespace.ts'
import { ADAPTER_FIELDS, type AdapterOptions, isAmount } from './adapters/options.ts'
import { checkOptions, type Fields } from './build/validate.ts'
import { deleteContents, getContents, piecesOf, putContents } from './parcel/contents.ts'

/** Options of `new VarveParcelCache(options)`. Parcel hands them around, so a secret is in `VARVE_SECRET` only. */
export interface VarveParcelOptions extends Omit<AdapterOptions, 'secret' | 'maxBytes' | 'readOnly' | 'inMemory'> {
  /**
   * Folder of the cache, relative to the working directory; below Parcel's `cacheDir`. Parcel keeps a snapshot of the
   * file system there, and is wrong where one of the two is older than the other.
   * @defaultValue `.parcel-cache/varve`
   */
  readonly dir?: string | undefined
  /**
   * Bytes of the folder from which `ensure` begins with an empty cache. Parcel fails where one entry of its graph is
   * missing, so its entries go all at once, and never while it runs.
   * @defaultValue `4 GiB`
   */
  readonly maxBytes?: number | undefined
}

const MAX_BYTES = 4 * 1024 ** 3

const { secret: _secret, readOnly: _readOnly, inMemory: _inMemory, ...ADAPTER } = ADAPTER_FIELDS
const FIELDS: Fields<VarveParcelOptions> = {
  ...ADAPTER,
  maxBytes: ['a number of bytes', isAmount],
}

/** Data, that is, what `set` was given, apart from blobs. */
const dataKey = (key: string): string => `data ${key}`
const blobKey = (key: string): string => `blob ${key}`
const largeKey = (key: string): string => `large ${key}`

/**
 * The `Cache` of Parcel. Blobs may be of any size. What a method has resolved is committed, so that other workers,
 * threads or processes, see it. Methods that write reject with IO where the folder cannot be written, as Parcel's own
 * caches do: a graph that is older than Parcel believes would make wrong bundles.
 *
 * Parcel's workers open the cache again, so the class has to be known there, too:
 *
 * @example
 * // cache.cjs, loaded everywhere by NODE_OPTIONS='--require ./cache.cjs'
 * require('@parcel/core').registerSerializableClass('VarveParcelCache', require('@varve/plugins/parcel').VarveParcelCache)
 */
export class VarveParcelCache {
  readonly #options: VarveParcelOptions
  readonly #space: LazyNamespace

  /** Opens the cache at the first call. Throws INVALID_OPTION where an option is unknown or of the wrong kind. */
  constructor(options: VarveParcelOptions = {}) {
    checkOptions('new VarveParcelCache()', options, FIELDS)
    this.#options = options
    // The engine drops what is oldest, entry by entry; that must not happen to Parcel.
    const all = { dir: '.parcel-cache/varve', ...options, maxBytes: Number.MAX_SAFE_INTEGER }
    this.#space = new LazyNamespace('parcel', all, 'clone')
  }

  /**
   * Makes sure that the cache is there and whole: reads and checks every byte of it, and empties it where one is
   * damaged or the folder is above `maxBytes`, because Parcel fails where one entry is missing. Costs 0.15 s of CPU per
   * GiB (WebAssembly 0.35) and what the disk takes for it.
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

  /** What `set` was given, as structured clone has it; null for a miss. */
  async get<T>(key: string): Promise<T | null> {
    const entry = (await this.#space.open()).get(dataKey(key))
    return entry === undefined ? null : (entry.value as T)
  }

  async set(key: string, value: unknown): Promise<void> {
    const space = await this.#space.open()
    space.put(dataKey(key), value)
    await committed(space)
  }

  /** The contents of `setStream` or `setLargeBlob`; the stream fails with ENOENT where there are none. */
  getStream(key: string): Readable {
    return Readable.from(this.#pieces(key), { objectMode: false })
  }

  async setStream(key: string, stream: Readable): Promise<void> {
    await this.#put(largeKey(key), stream.map((chunk: Buffer | string) => Buffer.from(chunk)))
  }

  /** Rejects with ENOENT where there is no such blob, as Parcel expects it. */
  async getBlob(key: string): Promise<Buffer> {
    return (await this.getBuffer(key)) ?? missing(key)
  }

  async setBlob(key: string, contents: Buffer | string): Promise<void> {
    await this.#put(blobKey(key), [Buffer.from(contents)])
  }

  /** As `getBlob`, but null where there is none. */
  async getBuffer(key: string): Promise<Buffer | null> {
    return getContents(await this.#space.open(), blobKey(key)) ?? null
  }

  async hasLargeBlob(key: string): Promise<boolean> {
    return (await this.#space.open()).has(largeKey(key))
  }

  /** Rejects with ENOENT where there is no such blob. */
  async getLargeBlob(key: string): Promise<Buffer> {
    return getContents(await this.#space.open(), largeKey(key)) ?? missing(key)
  }

  /** Rejects with the reason of `signal` where that was aborted before. */
  async setLargeBlob(key: string, contents: Buffer | string, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    options.signal?.throwIfAborted()
    await this.#put(largeKey(key), [Buffer.from(contents)])
  }

  async deleteLargeBlob(key: string): Promise<void> {
    const space = await this.#space.open()
    deleteContents(space, largeKey(key))
    await committed(space)
  }

  /** Does nothing: every read sees what others have committed. */
  refresh(): void {}

  /** Lets go of the folder, which Parcel does not ask for: the end of its process does the same. */
  async close(): Promise<void> {
    await this.#space.close()
  }

  /** What a worker needs to open the same cache; `onWarning` stays behind. */
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
  throw new VarveError('IO', 'the cache of Parcel cannot be written; see the warning before this, or build without a cache')
}

function missing(key: string): never {
  throw Object.assign(new Error(`ENOENT: no entry '${key}' in the cache`), { code: 'ENOENT' })
}
