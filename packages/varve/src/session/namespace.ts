/**
 * A namespace: keys and values of one kind, with a version of their own. Lookups are synchronous and hot: the key is
 * written into the engine's scratch memory, the value is read from there, nothing else is allocated.
 */
import type { Codec, CodecName } from '../values/codec.ts'
import type { EnginePage, EngineStore, EngineValues } from '../engine/engine.ts'
import { toVarveError, VarveError } from '../errors.ts'
import { type FileManifest, isManifest, packFiled } from '../values/manifest.ts'
import { type Key, packKeys, readKey, writeKey } from '../values/key.ts'
import type { PutOptions } from '../options.ts'
import { PACK_BYTES, type Session } from './session.ts'
import { checkOptions, type Fields } from '../checks/validate.ts'

/** What the engine's `get` answers for a miss; below it there is news of damage. */
const MISS = -1

/** Keys per crossing of getMany: a crossing is cheap, all their values are in memory at once. */
const KEYS_PER_CALL = 512

/** Values of getManyAsync from here on are parts of one answer. */
const SHARED_BYTES_MIN = 32 * 1024

const PUT_FIELDS: Fields<PutOptions> = {
  files: { expected: 'a manifest of files.store(), or an array of them', accepts: (value) => Array.isArray(value) || isManifest(value) },
}

/** Bytes of keys and values per page of entries, about. */
const PAGE_BYTES = 1 << 20

/**
 * Keys and values of one kind. Made by `cache.namespace(name, options)`.
 *
 * @typeParam V - type of the values: Uint8Array for codec 'bytes', string for 'text', else what the caller says
 */
export class Namespace<V> {
  readonly name: string
  /** Version of the cache, version of the namespace and codec as one string, as in `stats()`. */
  readonly version: string
  readonly codec: CodecName
  readonly #session: Session
  readonly #codec: Codec<V>
  readonly #id: number
  readonly #mayBeManifest: boolean

  /** @internal */
  constructor(session: Session, name: string, version: string, codec: Codec<V>) {
    this.name = name
    this.version = version
    this.codec = codec.name
    this.#session = session
    this.#codec = codec
    this.#mayBeManifest = codec.name === 'json' || codec.name === 'v8'
    this.#id = session.call((store) => store.namespace(name, version))
  }

  /**
   * The value of `key`, undefined for a miss. A damaged file or a value that cannot be decoded is a miss, too. Sees
   * what this handle has put and what was committed by this process, or by others before the last `refresh`.
   *
   * Throws CLOSED, INVALID_ARGUMENT or KEY_TOO_LONG.
   */
  get(key: Key): V | undefined {
    const session = this.#session
    const store = session.store
    const keyBytes = writeKey(session.scratchOf(store), key)
    try {
      const size = store.get(this.#id, keyBytes)
      if (size < 0) return size === MISS && !session.isStrict ? undefined : session.lookForDamage()
      const scratch = session.scratchOf(store)
      return size <= scratch.length ? this.#decode(scratch, 0, size, false) : this.#take(store, size)
    } catch (error) {
      return session.miss(error)
    }
  }

  /**
   * The values of many keys, in their order, undefined for each miss. One crossing to the engine serves hundreds of
   * keys.
   *
   * @example
   * const [a, b] = namespace.getMany(['a', 'b'])
   */
  getMany(keys: readonly Key[]): (V | undefined)[] {
    const session = this.#session
    const found: (V | undefined)[] = []
    const ends = new Uint32Array(Math.min(keys.length, KEYS_PER_CALL))
    while (found.length < keys.length) {
      const store = session.store
      const pack = session.pack
      const count = packKeys(pack, PACK_BYTES, ends, keys, found.length)
      this.#getPart(store, pack.subarray(0, ends[count - 1]), ends.subarray(0, count), keys, found)
    }
    return found
  }

  /**
   * As `getMany`, with the values read on another thread: for large ones that will be needed soon. What was put before
   * the call is seen, what is put meanwhile may be or not. The WebAssembly engine has one thread and reads at once.
   * Values of 32 KiB and more with codec `bytes` are not copied once more: they share one ArrayBuffer, which stays in
   * memory as long as one of them.
   *
   * Rejects as `get` throws.
   *
   * @example
   * const [large, larger] = await namespace.getManyAsync(['large', 'larger'])
   */
  async getManyAsync(keys: readonly Key[]): Promise<(V | undefined)[]> {
    const session = this.#session
    const found: (V | undefined)[] = []
    const ends = new Uint32Array(Math.min(keys.length, KEYS_PER_CALL))
    while (found.length < keys.length) {
      const count = packKeys(session.pack, PACK_BYTES, ends, keys, found.length)
      const [packed, packedEnds] = [session.pack.subarray(0, ends[count - 1]), ends.subarray(0, count)]
      try {
        const values = await session.run((store) => store.getManyAsync(this.#id, packed, packedEnds), 'none')
        if (values.lengths.includes(MISS)) session.lookForDamage()
        this.#addValues(values, found, SHARED_BYTES_MIN)
      } catch (error) {
        session.miss(error)
        for (let i = 0; i < count; i++) found.push(undefined)
      }
    }
    return found
  }

  /** Whether `key` has a value. Cheaper than `get`; the value is not read, so a damaged one may count as there. */
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
   * Buffers an entry. This handle reads it at once, everybody else after `cache.commit()`. The value is copied: the
   * caller may change it afterwards.
   *
   * Files stay as long as an entry names them: those of a value that is a manifest, by itself, and those of
   * `options.files`, which is for manifests deeper in the value. A manifest that nobody tells of here keeps nothing.
   *
   * Throws CLOSED, INVALID_ARGUMENT, INVALID_OPTION, KEY_TOO_LONG or VALUE_TOO_LONG.
   */
  put(key: Key, value: V, options?: PutOptions): void {
    this.putEncoded(key, value, this.#codec.encode(value), options)
  }

  /** `put` of a value whose bytes the caller has from the codec. @internal */
  putEncoded(key: Key, value: V, encoded: Uint8Array, options?: PutOptions): void {
    const session = this.#session
    const store = session.store
    const filed = this.#filed(value, encoded, options)
    const keyBytes = writeKey(session.scratchOf(store), key)
    try {
      if (filed === undefined) store.put(this.#id, keyBytes, encoded)
      else store.putFiled(this.#id, keyBytes, filed)
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
   * All entries, in no useful order, buffered ones included; read in pages of about 1 MiB as the loop goes on. Entries
   * that are put or deleted meanwhile may or may not be seen. A key is a string where its bytes are one, else a
   * Uint8Array; either finds its entry again.
   *
   * @example
   * for (const [key, value] of namespace.entries()) console.log(key, value)
   */
  *entries(): IterableIterator<[key: Key, value: V]> {
    for (const [page, index] of this.#pages()) {
      const value = this.#decode(page.values, page.valueEnds[index - 1] ?? 0, page.valueEnds[index] ?? 0, false)
      if (value !== undefined) yield [readKey(page.keys, page.keyEnds[index - 1] ?? 0, page.keyEnds[index] ?? 0), value]
    }
  }

  /** The keys of `entries()`; reading them costs as much. */
  *keys(): IterableIterator<Key> {
    for (const [page, index] of this.#pages()) {
      yield readKey(page.keys, page.keyEnds[index - 1] ?? 0, page.keyEnds[index] ?? 0)
    }
  }

  /** The entry with the files it needs; undefined where it needs none. */
  #filed(value: V, encoded: Uint8Array, options: PutOptions | undefined): Uint8Array | undefined {
    if (options === undefined) return this.#mayBeManifest && isManifest(value) ? packFiled([value], encoded) : undefined
    checkOptions('put()', options, PUT_FIELDS)
    const { files = [] } = options
    const named: readonly FileManifest[] = Array.isArray(files) ? files : [files]
    return packFiled(isManifest(value) ? [value, ...named] : named, encoded)
  }

  /** Appends the values of the packed keys to `found`; should the engine fail for all at once, asks for each alone. */
  #getPart(store: EngineStore, packed: Uint8Array, ends: Uint32Array, keys: readonly Key[], found: (V | undefined)[]): void {
    const first = found.length
    try {
      const values = store.getMany(this.#id, packed, ends)
      if (values.lengths.includes(MISS)) this.#session.lookForDamage()
      this.#addValues(values, found, Number.POSITIVE_INFINITY)
    } catch {
      for (let i = found.length; i < first + ends.length; i++) found.push(this.get(keys[i] as Key))
    }
  }

  #addValues({ values, lengths }: EngineValues, found: (V | undefined)[], sharedMin: number): void {
    let start = 0
    for (const length of lengths) {
      const end = start + Math.max(length, 0)
      if (length < 0) found.push(undefined)
      else if (length < sharedMin) found.push(this.#decode(values, start, end, false))
      else found.push(this.#decode(values.subarray(start, end), 0, length, true))
      start = end
    }
  }

  /** Fetches a value that is longer than the scratch memory. */
  #take(store: EngineStore, size: number): V | undefined {
    const value = new Uint8Array(size)
    store.take(value)
    return this.#decode(value, 0, size, true)
  }

  #decode(source: Uint8Array, start: number, end: number, isOwned: boolean): V | undefined {
    try {
      return this.#codec.decode(source, start, end, isOwned)
    } catch (error) {
      const message = `a value of namespace '${this.name}' is no '${this.codec}' and counts as a miss`
      const failure = new VarveError('DAMAGED', message, { cause: error })
      if (this.#session.isStrict) throw failure
      this.#session.warn(failure, `decode ${this.name}`)
      return undefined
    }
  }

  /** Each entry as its page and its index there. */
  *#pages(): IterableIterator<[page: EnginePage, index: number]> {
    for (let cursor: bigint | undefined = 0n; cursor !== undefined; ) {
      const page: EnginePage | undefined = this.#page(cursor)
      for (let index = 0; index < (page?.keyEnds.length ?? 0); index++) if (page !== undefined) yield [page, index]
      cursor = page?.next
    }
  }

  #page(cursor: bigint): EnginePage | undefined {
    const store = this.#session.store
    try {
      const page = store.scan(this.#id, cursor, PAGE_BYTES)
      this.#session.lookForDamage()
      return page
    } catch (error) {
      return this.#session.miss(error)
    }
  }
}
