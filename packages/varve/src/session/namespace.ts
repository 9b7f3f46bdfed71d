/**
 * A namespace: keys and values of one kind, with a version of its own. Lookups are synchronous and hot: the key is written
 * into the engine's scratch memory, the value is read from there, nothing else is allocated.
 */
import { type Codec, type CodecName, engineName } from '../values/codec.ts'
import { toVarveError, VarveError } from '../errors.ts'
import type { NamespaceTally } from '../history/tally.ts'
import { type Blob, blobsOf, type FileManifest, isManifest, packWithBlobs } from '../values/manifest.ts'
import { poolOf, poolStart, type Key, readKey, UNFIT, writeKey } from '../values/bytes.ts'
import type { PutOptions } from '../options.ts'
import { getMany, getManyAsync, type Lookup, pagesOf, placesOf, readLong, removeAll } from './lookups.ts'
import { MISS, type Session } from './session.ts'
import { checkOptions, describe, type Fields } from '../checks/options.ts'

const PUT_FIELDS: Fields<PutOptions> = {
  files: ['a manifest of files.store(), or an array of them', (value) => Array.isArray(value) || isManifest(value)],
}

export interface NamespaceParts<V> {
  readonly name: string
  readonly version: string
  /** Version of the cache, `version` and the codec as one string: the version that the engine knows. */
  readonly fullVersion: string
  readonly codec: Codec<V>
}

/** Runs `compute` for a key; if another call of this process runs it already, waits for that one. */
export type Once = <V>(namespace: NamespaceParts<V>, key: Key, compute: () => Promise<V>) => Promise<V>

/**
 * Keys and values of one kind. Made by `cache.namespace(name, options)`.
 *
 * @typeParam V - type of the values: Uint8Array for codec 'bytes', string for 'text', otherwise chosen by the caller
 */
export class Namespace<V> {
  readonly name: string
  /** The `version` that `cache.namespace` was given. */
  readonly version: string
  readonly codec: CodecName
  readonly #session: Session
  readonly #tally: NamespaceTally
  readonly #parts: NamespaceParts<V>
  readonly #codec: Codec<V>
  readonly #once: Once
  readonly #id: number
  readonly #mayBeManifest: boolean

  /** @internal */
  constructor(session: Session, parts: NamespaceParts<V>, once: Once) {
    this.name = parts.name
    this.version = parts.version
    this.codec = parts.codec.name
    this.#session = session
    this.#tally = session.tally.namespace(parts.name)
    this.#parts = parts
    this.#codec = parts.codec
    this.#once = once
    this.#mayBeManifest = this.codec === 'json' || this.codec === 'v8'
    this.#id = session.call((store) => store.namespace(engineName(parts.name), parts.fullVersion))
  }

  /** The version that the engine knows. @internal */
  get fullVersion(): string {
    return this.#parts.fullVersion
  }

  /**
   * The value of `key`, or undefined for a miss. A damaged entry, or a value that cannot be decoded, is also a miss. Sees
   * what this cache object has put, what this process has committed, and what others committed before the last `refresh`.
   *
   * Throws CLOSED, INVALID_ARGUMENT or KEY_TOO_LONG.
   */
  get(key: Key): V | undefined {
    const session = this.#session
    const store = session.store
    try {
      const isRaw = this.#codec.isRaw
      const pool = isRaw ? poolOf() : undefined
      const start = isRaw ? poolStart() : 0
      let size = store.find === undefined || typeof key !== 'string' ? UNFIT : store.find(this.#id, key, pool, start)
      if (size === UNFIT)
        size = store.get(this.#id, writeKey(session.scratchOf(store), key), pool ?? session.scratchOf(store), start)
      if (size < 0) {
        this.#tally.missed++
        return size === MISS && !session.isStrict ? undefined : session.lookForDamage()
      }
      this.#tally.found++
      this.#tally.readBytes += size
      const source = pool ?? session.scratchOf(store)
      if (start + size <= source.length) return this.#decode(source, start, start + size, false)
      return this.#decodeLong(readLong(store, size))
    } catch (error) {
      return session.miss(error)
    }
  }

  /**
   * The values of many keys, in their order, undefined for each miss. One call of the engine serves hundreds of keys. With
   * codec `bytes`, values share ArrayBuffers of 64 KiB, as those of `get` do.
   *
   * @example
   * const [a, b] = namespace.getMany(['a', 'b'])
   */
  getMany(keys: readonly Key[]): (V | undefined)[] {
    return getMany(this.#lookup(), keys)
  }

  /**
   * Like `getMany`, but another thread reads the values: for large values that are needed soon. It sees what was put
   * before the call, and perhaps what is put meanwhile. The WebAssembly engine has one thread and reads at once. With codec
   * `bytes`, values of 32 KiB and more share one ArrayBuffer, which stays in memory as long as one of them.
   *
   * Rejects with the errors of `get`.
   *
   * @example
   * const [large, larger] = await namespace.getManyAsync(['large', 'larger'])
   */
  async getManyAsync(keys: readonly Key[]): Promise<(V | undefined)[]> {
    return getManyAsync(this.#lookup(), keys)
  }

  /**
   * The value of `key`; on a miss, the result of `compute`, which is then buffered like a `put`. A thread runs `compute`
   * once at a time for a key: further calls wait for it and share the value. Other threads and processes may compute the
   * same value meanwhile. If `compute` throws, the call rejects and nothing is buffered; a call
   * for its own key from inside `compute` rejects with TASK_CYCLE.
   *
   * For results that depend on files or other inputs, use `cache.task`, which checks them.
   *
   * @example
   * const code = await namespace.getOrPut(digest, () => compile(source))
   */
  async getOrPut(key: Key, compute: () => V | Promise<V>): Promise<V> {
    if (typeof compute !== 'function') {
      throw new VarveError(
        'INVALID_ARGUMENT',
        `getOrPut() takes a function that computes the value, not ${describe(compute)}`,
      )
    }
    const found = this.get(key)
    if (found !== undefined) return found
    return this.#once(this.#parts, key, async () => {
      const value = this.get(key) ?? (await compute())
      this.put(key, value)
      return value
    })
  }

  /** Whether `key` has an entry. Cheaper than `get`: the value is not read, so a damaged value may count. */
  has(key: Key): boolean {
    const session = this.#session
    const store = session.store
    const keyBytes = writeKey(session.scratchOf(store), key)
    try {
      const isThere = store.has(this.#id, keyBytes)
      if (!isThere) session.lookForDamage()
      return isThere
    } catch (error) {
      return session.miss(error) ?? false
    }
  }

  /**
   * Buffers an entry. This cache object reads it at once, other processes after `cache.commit()`. The value is copied, so
   * the caller may change it afterwards.
   *
   * Varve keeps files as long as an entry names them: the files of a value that is a manifest, and those of
   * `options.files`, for manifests inside the value.
   *
   * Throws CLOSED, INVALID_ARGUMENT, INVALID_OPTION, KEY_TOO_LONG or VALUE_TOO_LONG.
   */
  put(key: Key, value: V, options?: PutOptions): void {
    const blobs = this.blobsIn(value, options) // runs code of the caller, such as getters, which may encode another value
    this.putEncoded(key, this.#codec.encode(value), blobs)
  }

  /**
   * Buffers many entries, each as `put` does: a Map, an array of pairs, or the `entries()` of another namespace. If an
   * entry is refused, the entries before it stay buffered. One `cache.commit()` writes all of them atomically.
   *
   * @example
   * namespace.putMany([['a', 1], ['b', 2]])
   */
  putMany(entries: Iterable<readonly [key: Key, value: V]>): void {
    const given: unknown = entries
    const isIterable =
      typeof given === 'object' && given !== null && typeof Reflect.get(given, Symbol.iterator) === 'function'
    if (!isIterable)
      throw new VarveError('INVALID_ARGUMENT', `putMany() takes pairs of a key and a value, not ${describe(given)}`)
    for (const pair of entries) {
      if (!Array.isArray(pair))
        throw new VarveError('INVALID_ARGUMENT', `putMany() takes pairs of a key and a value, not ${describe(pair)}`)
      this.put(pair[0], pair[1])
    }
  }

  /** `put` of a value whose bytes the caller has from the codec, with what `blobsIn` returned before. @internal */
  putEncoded(key: Key, encoded: Uint8Array, blobs: readonly Blob[] | undefined): void {
    const session = this.#session
    const store = session.store
    const packed = blobs === undefined ? undefined : packWithBlobs(blobs, encoded)
    const keyBytes = writeKey(session.scratchOf(store), key)
    this.#tally.puts++
    try {
      if (packed === undefined) store.put(this.#id, keyBytes, encoded)
      else store.putWithBlobs(this.#id, keyBytes, packed)
    } catch (error) {
      throw toVarveError(error)
    }
  }

  /** Buffers the removal of an entry, whether or not there is one. */
  delete(key: Key): void {
    const session = this.#session
    const store = session.store
    const keyBytes = writeKey(session.scratchOf(store), key)
    try {
      store.delete(this.#id, keyBytes)
    } catch (error) {
      throw toVarveError(error)
    }
  }

  /**
   * Buffers the removal of every entry that this cache object sees, buffered ones included. The next `cache.commit()`
   * writes it together with other puts; entries that other processes commit meanwhile stay. It reads the namespace once,
   * like `entries()`, about 0.7 µs for each small entry, and buffers its key and 8 bytes.
   *
   * Throws CLOSED, or IO if the entries cannot be read.
   */
  clear(): void {
    removeAll(this.#session, this.#id)
  }

  /**
   * The number of entries that this cache object sees, buffered ones included. It reads the namespace once, like
   * `entries()`: about 0.2 µs for each entry of 100 bytes, twice that with WebAssembly. `cache.stats()` counts committed
   * entries and reads keys only.
   */
  count(): number {
    let count = 0
    for (const page of pagesOf(this.#session, this.#id)) count += page.keyEnds.length
    return count
  }

  /**
   * All entries, buffered ones included, in no useful order. Varve reads them in pages of about 1 MiB while the loop runs,
   * so entries that are put or deleted meanwhile may or may not be seen. A key is a string if its bytes are text, otherwise
   * a Uint8Array; both find the entry again.
   *
   * @example
   * for (const [key, value] of namespace.entries()) console.log(key, value)
   */
  *entries(): IterableIterator<[key: Key, value: V]> {
    for (const [page, index] of placesOf(this.#session, this.#id)) {
      const value = this.#decode(page.values, page.valueEnds[index - 1] ?? 0, page.valueEnds[index] ?? 0, false)
      if (value !== undefined) yield [readKey(page.keys, page.keyEnds[index - 1] ?? 0, page.keyEnds[index] ?? 0), value]
    }
  }

  /** The keys of `entries()`, at the same cost. */
  *keys(): IterableIterator<Key> {
    for (const [page, index] of placesOf(this.#session, this.#id)) {
      yield readKey(page.keys, page.keyEnds[index - 1] ?? 0, page.keyEnds[index] ?? 0)
    }
  }

  #lookup(): Lookup<V> {
    const decode: Lookup<V>['decode'] = (source, start, end, isOwned) => this.#decode(source, start, end, isOwned)
    const decodeLong: Lookup<V>['decodeLong'] = (value) => this.#decodeLong(value)
    const session = this.#session
    const tally = this.#tally
    const namespace = this.#id
    const { isRaw } = this.#codec
    return { session, tally, namespace, isRaw, decode, decodeLong, get: (key) => this.get(key) }
  }

  /** The files that an entry names; undefined if it names none. @internal */
  blobsIn(value: V, options?: PutOptions): readonly Blob[] | undefined {
    if (options === undefined) return this.#mayBeManifest && isManifest(value) ? blobsOf([value]) : undefined
    checkOptions('put()', options, PUT_FIELDS)
    const { files = [] } = options
    const named: readonly FileManifest[] = Array.isArray(files) ? files : [files]
    return blobsOf(isManifest(value) ? [value, ...named] : named)
  }

  /** The value in memory of its own; undefined = it is gone. */
  #decodeLong(value: Uint8Array | undefined): V | undefined {
    if (value === undefined) return this.#session.lookForDamage()
    return this.#decode(value, 0, value.length, true)
  }

  #decode(source: Uint8Array, start: number, end: number, isOwned: boolean): V | undefined {
    try {
      return this.#codec.decode(source, start, end, isOwned)
    } catch (error) {
      const message = `a value of namespace '${this.name}' cannot be decoded as '${this.codec}' and is a miss`
      const failure = new VarveError('DAMAGED', message, { cause: error })
      if (this.#session.isStrict) throw failure
      this.#session.warn(failure, `decode ${this.name}`)
      return undefined
    }
  }
}
