/** Lookups of many keys, of which hundreds cross to the engine in one call; long values; and the entries of a namespace in pages. */
import type { EnginePage, EngineStore, EngineValues } from '../engine/engine.ts'
import type { NamespaceTally } from '../history/tally.ts'
import { occupy, poolOf, poolStart, roomFor, checkKeys, type Key, packKeys, writeKey } from '../values/bytes.ts'
import { MISS, PACK_BYTES, type Session } from './session.ts'

/** Keys in one call: a call is cheap, and the values of all its keys are in memory at once. */
const KEYS_PER_CALL = 512

/** From this length on, values of getManyAsync are views of the answer that they came in. */
const SHARED_BYTES_MIN = 32 * 1024

/** The namespace to look in. */
export interface Lookup<V> {
  readonly session: Session
  readonly tally: NamespaceTally
  readonly namespace: number
  /** Whether values are the bytes themselves. */
  readonly isRaw: boolean
  decode(source: Uint8Array, start: number, end: number, isOwned: boolean): V | undefined
  /** A value in memory of its own; undefined = it is gone. */
  decodeLong(value: Uint8Array | undefined): V | undefined
  get(key: Key): V | undefined
}

/** The values of keys, in their order. */
export function getMany<V>(lookup: Lookup<V>, keys: readonly Key[]): (V | undefined)[] {
  checkKeys('getMany', keys)
  const { session } = lookup
  session.checkOpen()
  const found: (V | undefined)[] = []
  const ends = new Uint32Array(Math.min(keys.length, KEYS_PER_CALL))
  while (found.length < keys.length) {
    const store = session.store
    const pack = session.pack
    const count = packKeys(pack, PACK_BYTES, ends, keys, found.length)
    addPart(lookup, store, pack.subarray(0, ends[count - 1]), ends.subarray(0, count), keys, found)
  }
  return found
}

/** The values of keys, which another thread reads. */
export async function getManyAsync<V>(lookup: Lookup<V>, keys: readonly Key[]): Promise<(V | undefined)[]> {
  checkKeys('getManyAsync', keys)
  const { session, namespace } = lookup
  session.checkOpen()
  const found: (V | undefined)[] = []
  const ends = new Uint32Array(Math.min(keys.length, KEYS_PER_CALL))
  while (found.length < keys.length) {
    const count = packKeys(session.pack, PACK_BYTES, ends, keys, found.length)
    const packed = session.pack.subarray(0, ends[count - 1])
    const packedEnds = ends.subarray(0, count)
    try {
      const values = await session.run((store) => store.getManyAsync(namespace, packed, packedEnds), 'none')
      if (values.lengths.includes(MISS)) session.lookForDamage()
      addValues(lookup, values, found)
    } catch (error) {
      session.miss(error)
      for (let i = 0; i < count; i++) found.push(undefined)
    }
  }
  return found
}

/**
 * Appends the values of the packed keys to `found`, all from one state of the cache. If the engine fails for all of them, looks up
 * each on its own.
 */
function addPart<V>(
  lookup: Lookup<V>,
  store: EngineStore,
  packed: Uint8Array,
  ends: Uint32Array,
  keys: readonly Key[],
  found: (V | undefined)[],
): void {
  const first = found.length
  try {
    let lengths = readInPlace(lookup, store, packed, ends, found)
    if (lengths === undefined) {
      found.length = first
      const values = store.getManyAtOnce(lookup.namespace, packed, ends)
      addValues(lookup, values, found)
      lengths = values.lengths
    } else countIn(lookup.tally, lengths)
    if (lengths.includes(MISS)) lookup.session.lookForDamage()
  } catch {
    found.length = first
    for (let i = first; i < first + ends.length; i++) found.push(lookup.get(keys[i] as Key))
  }
}

/**
 * Appends values that the engine writes where the caller keeps them, one piece of memory after another. Returns their lengths;
 * undefined if another thread has committed between two calls of the engine.
 */
function readInPlace<V>(
  lookup: Lookup<V>,
  store: EngineStore,
  packed: Uint8Array,
  ends: Uint32Array,
  found: (V | undefined)[],
): Int32Array | undefined {
  const lengths = new Int32Array(ends.length)
  const revision = store.revision()
  let next = addRoom(lookup, store, packed, ends, 0, lengths, found)
  if (next === ends.length) return lengths
  while (next < ends.length) {
    const value = readLong(store, lengths[next] ?? 0)
    lengths[next] = value?.length ?? MISS
    found.push(lookup.decodeLong(value))
    next = addRoom(lookup, store, packed, ends, next + 1, lengths, found)
  }
  return store.revision() === revision ? lengths : undefined
}

/** Appends the values from number `first` on that fit into one piece of memory. Returns the number of the next one, which does not. */
function addRoom<V>(
  lookup: Lookup<V>,
  store: EngineStore,
  packed: Uint8Array,
  ends: Uint32Array,
  first: number,
  lengths: Int32Array,
  found: (V | undefined)[],
): number {
  if (first === ends.length) return first
  const { session, isRaw } = lookup
  const target = isRaw ? poolOf() : session.scratchOf(store)
  let start = isRaw ? poolStart() : 0
  const next = store.getMany(lookup.namespace, packed, ends, first, target, start, lengths)
  const source = isRaw ? target : session.scratchOf(store)
  for (let index = first; index < next; index++) {
    const length = lengths[index] ?? MISS
    if (length < 0) {
      found.push(undefined)
      continue
    }
    const end = start + length
    found.push(lookup.decode(source, start, end, false))
    start = (end + 7) & ~7
  }
  return next
}

function countIn(tally: NamespaceTally, lengths: Int32Array): void {
  for (const length of lengths) {
    if (length < 0) tally.missed++
    else tally.found++
    tally.readBytes += Math.max(length, 0)
  }
}

function addValues<V>(lookup: Lookup<V>, { values, lengths }: EngineValues, found: (V | undefined)[]): void {
  let start = 0
  for (const length of lengths) {
    const end = start + Math.max(length, 0)
    if (length < 0) found.push(undefined)
    else if (length < SHARED_BYTES_MIN) found.push(lookup.decode(values, start, end, false))
    else found.push(lookup.decode(values.subarray(start, end), 0, length, true))
    start = end
  }
  countIn(lookup.tally, lengths)
}

/** Copies the value of `size` bytes that the last `get` or `getMany` found into new memory. Undefined if it was deleted since then. */
export function readLong(store: EngineStore, size: number): Uint8Array | undefined {
  for (let expected = size; expected >= 0;) {
    const value = roomFor(expected)
    const found = store.read(value)
    if (found === expected) {
      occupy(expected)
      return value
    }
    expected = found // another thread has committed another value
  }
  return undefined
}

/** The bytes of a value, in memory of their own; undefined for a miss. */
export function readBytes(session: Session, store: EngineStore, namespace: number, key: Key): Uint8Array | undefined {
  const scratch = session.scratchOf(store)
  const size = store.get(namespace, writeKey(scratch, key), scratch, 0)
  if (size < 0) return undefined
  const found = session.scratchOf(store)
  return size <= found.length ? found.slice(0, size) : readLong(store, size)
}

/** Bytes of keys and values in a page, about. */
const PAGE_BYTES = 1 << 20

/** Reads one page after another. A page that cannot be read is a warning and ends the walk. */
export function* pagesOf(session: Session, namespace: number): IterableIterator<EnginePage> {
  for (let cursor: bigint | undefined = 0n; cursor !== undefined;) {
    const page: EnginePage | undefined = pageAt(session, namespace, cursor)
    if (page === undefined) return
    yield page
    cursor = page.next
  }
}

/** Each entry as its page and its index there. */
export function* placesOf(session: Session, namespace: number): IterableIterator<[page: EnginePage, index: number]> {
  for (const page of pagesOf(session, namespace))
    for (let index = 0; index < page.keyEnds.length; index++) yield [page, index]
}

function pageAt(session: Session, namespace: number, cursor: bigint): EnginePage | undefined {
  const store = session.store
  try {
    const page = store.scan(namespace, cursor, PAGE_BYTES)
    session.lookForDamage()
    return page
  } catch (error) {
    return session.miss(error)
  }
}

/** Buffers the removal of every entry. Throws if a page cannot be read: its entries would stay. */
export function removeAll(session: Session, namespace: number): void {
  for (let cursor: bigint | undefined = 0n; cursor !== undefined;) {
    const from: bigint = cursor
    cursor = session.call((store) => {
      const { keys, keyEnds, next } = store.scan(namespace, from, PAGE_BYTES)
      let start = 0
      for (const end of keyEnds) {
        session.scratchOf(store).set(keys.subarray(start, end))
        store.delete(namespace, end - start)
        start = end
      }
      return next
    })
  }
}
