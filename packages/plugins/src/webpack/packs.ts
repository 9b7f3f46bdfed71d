/**
 * Values are stored in packs: some hundred of one kind, serialised together. They share most of what they hold (a
 * resolver's entries name the same folders, modules the same options), and webpack's serialiser writes what is shared
 * once for each stream: one by one, the entries of a real build take eight times the bytes. A pack is restored as a
 * whole when the first of its values is asked for; a warm build asks for nearly all.
 *
 * A value that is written again goes to a new pack. A pack that nothing points to any more is deleted; when much of one
 * is without use, or there are many small ones, what is still used of them is written anew.
 */
import type { Namespace } from 'varve'
import { Contents } from './beside.ts'
import { contentLengths, decodePack, type Encoded, encodePack } from './contents.ts'
import { kindOf, PACK_BYTES } from './groups.ts'
import { decodePointer, encodePointer, idOf, type Pointer } from './pointer.ts'
import { keyOf, ReadAhead } from './read-ahead.ts'
import { asBuffer, type ValueCodec } from './value.ts'

/** Packs of fewer bytes are small; more small ones than this are written anew as few. */
const SMALL_BYTES = 256 << 10
const SMALL_PACKS_MAX = 12

/** A pack in which a smaller part of the values than this is used is written anew, and its other values go. */
const USED_MIN = 0.85

/** One value to be packed. */
export interface Item {
  readonly identifier: string
  readonly etag: string | null
  readonly data: unknown
}

/**
 * What a pack holds. Each value stands beside its identifier and etag, so that it is handed out for no other; it is handed
 * out once and then forgotten, webpack keeps it in memory from there.
 */
interface Values {
  readonly identifiers: readonly unknown[]
  readonly etags: readonly unknown[]
  readonly values: unknown[]
}

const NO_VALUES: Values = { identifiers: [], etags: [], values: [] }

/** The packs of one compiler. */
export class Packs {
  readonly #pointers: Namespace<Uint8Array>
  readonly #packs: Namespace<Uint8Array>
  readonly #codec: ValueCodec
  readonly #contents: Contents
  readonly #restored: Map<string, Values | Promise<Values>> = new Map()
  readonly #ahead: ReadAhead
  /** Packs that had a value which was written again: perhaps nothing points to them any more. */
  readonly #replaced: Set<string> = new Set()

  constructor(pointers: Namespace<Uint8Array>, packs: Namespace<Uint8Array>, codec: ValueCodec, commit: () => Promise<unknown>) {
    this.#pointers = pointers
    this.#packs = packs
    this.#codec = codec
    this.#contents = new Contents(packs, commit)
    this.#ahead = new ReadAhead(packs)
  }

  /** Begins to read what the last build read, on other threads. */
  readAhead(): void {
    this.#ahead.begin()
  }

  /** The build is done: lets go of what it did not ask for. */
  endReadAhead(): void {
    this.#ahead.end()
  }

  /** The value that was packed for this identifier, or a promise of it; undefined if there is none. Throws if it is no pack. */
  read(identifier: string, pointer: Pointer): unknown {
    const found = this.#restored.get(pointer.pack) ?? this.#restore(pointer.pack)
    if (found instanceof Promise) return found.then((ready) => this.#hand(identifier, pointer, ready))
    return this.#hand(identifier, pointer, found)
  }

  /** Packs these items. Returns the bytes; undefined if one cannot be serialised or they are too many bytes. */
  async write(environment: string, items: readonly Item[]): Promise<number | undefined> {
    return (await this.#put(environment, items))?.bytes
  }

  /** The same without waiting for anything; undefined also if that is not possible, or the pack has more than `bytesMax`. */
  writeNow(environment: string, items: readonly Item[], bytesMax: number): number | undefined {
    const encoded = encodePack(this.#codec, valuesIn(items))
    if (encoded === undefined || encoded instanceof Promise || encoded.contents.length > 0) return undefined
    if (encoded.bytes.length > bytesMax) return undefined
    return this.#putPack(idOf(encoded.bytes), environment, items, encoded).bytes
  }

  /** Deletes packs without use, writes anew what is scattered. `isValid` says which environments still hold. */
  async tidy(isValid: (environment: string) => boolean | Promise<boolean>): Promise<void> {
    if (this.#replaced.size === 0) return
    const used = await this.#usesByPack(isValid)
    for (const pack of this.#replaced) if (!used.has(pack)) this.#delete(pack)
    const packs = scattered([...used.values()])
    const written = new Set<string | undefined>()
    for (const group of groupsOf(packs.flat())) {
      const items = await this.#again(group)
      if (items.length > 0) written.add((await this.#put(group[0]?.environment ?? '', items))?.pack)
    }
    // Where one was not written, its values are still where they were. One may have been written just as it was.
    const isComplete = !written.has(undefined)
    for (const [use] of packs) if (use !== undefined && isComplete && !written.has(use.pack)) this.#delete(use.pack)
    this.#replaced.clear()
    this.#restored.clear()
  }

  /** What was read and written since the cache was opened is what the next build will read: writes that down. */
  noteOrder(): void {
    this.#ahead.write()
  }

  #delete(pack: string): void {
    const key = keyOf(pack)
    const bytes = this.#packs.get(key)
    if (bytes !== undefined) this.#contents.delete(key, contentLengths(asBuffer(bytes)))
    this.#packs.delete(key)
    this.#ahead.forget(pack)
  }

  async #put(environment: string, items: readonly Item[]): Promise<{ pack: string; bytes: number } | undefined> {
    const encoded = await encodeOrNothing(this.#codec, items)
    if (encoded === undefined) return undefined
    const pack = idOf(encoded.bytes)
    await this.#contents.put(keyOf(pack), encoded.contents)
    return this.#putPack(pack, environment, items, encoded)
  }

  #putPack(pack: string, environment: string, items: readonly Item[], { bytes, contents }: Encoded): { pack: string; bytes: number } {
    this.#packs.put(keyOf(pack), bytes)
    this.#ahead.note(pack, bytes.length)
    const packBytes = contents.reduce((sum, { length }) => sum + length, bytes.length)
    items.forEach(({ identifier, etag }, place) => {
      const before = this.#pointers.get(identifier)
      const old = before === undefined ? undefined : decodePointer(asBuffer(before))
      if (old !== undefined && old.pack !== pack) this.#replaced.add(old.pack)
      this.#pointers.put(identifier, encodePointer({ environment, pack, packBytes, packItems: items.length, place, etag }))
    })
    return { pack, bytes: packBytes }
  }

  async #usesByPack(isValid: (environment: string) => boolean | Promise<boolean>): Promise<Map<string, Use[]>> {
    const used = new Map<string, Use[]>()
    const pointers = [...this.#pointers.entries()] // all of them first: some are deleted on the way
    for (const [identifier, bytes] of pointers) {
      const pointer = decodePointer(asBuffer(bytes))
      const verdict = pointer !== undefined && isValid(pointer.environment)
      if (pointer === undefined || !(verdict instanceof Promise ? await verdict : verdict)) {
        this.#pointers.delete(identifier)
        continue
      }
      const use = { ...pointer, identifier: String(identifier) }
      const uses = used.get(pointer.pack)
      if (uses === undefined) used.set(pointer.pack, [use])
      else uses.push(use)
    }
    return used
  }

  async #again(uses: readonly Use[]): Promise<Item[]> {
    const items: Item[] = []
    for (const use of uses) {
      const { identifier, etag } = use
      const data: unknown = await this.read(identifier, use)
      if (data !== undefined) items.push({ identifier, etag, data })
    }
    return items
  }

  #hand(identifier: string, pointer: Pointer, found: Values): unknown {
    const { pack, place } = pointer
    if (!isIn(found, identifier, pointer)) return undefined
    const value = found.values[place]
    if (value !== undefined) {
      found.values[place] = undefined
      return value
    }
    // Asked for again: webpack's memory has let go of it.
    this.#restored.delete(pack)
    const again = this.#restore(pack)
    return again instanceof Promise ? again.then((ready) => ready.values[place]) : again.values[place]
  }

  #restore(pack: string): Values | Promise<Values> {
    const bytes = this.#ahead.take(pack)
    const values = bytes instanceof Promise ? bytes.then((read) => this.#decode(pack, read)) : this.#decode(pack, bytes)
    this.#restored.set(pack, values)
    if (!(values instanceof Promise)) return values
    return values.then((ready) => {
      if (this.#restored.get(pack) === values) this.#restored.set(pack, ready)
      return ready
    })
  }

  #decode(pack: string, bytes: Uint8Array | undefined): Values | Promise<Values> {
    if (bytes === undefined) return NO_VALUES
    if (idOf(bytes) !== pack) throw new Error('a pack is not what was written under its name')
    const value = decodePack(this.#codec, asBuffer(bytes), (index, length) => this.#contents.get(keyOf(pack), index, length))
    return value instanceof Promise ? value.then(valuesOf) : valuesOf(value)
  }
}

/** A value in use. */
interface Use extends Pointer {
  readonly identifier: string
}

/** Packs to be written anew. */
function scattered(packs: readonly Use[][]): Use[][] {
  const sizeOf = (uses: readonly Use[]): number => uses[0]?.packBytes ?? 0
  const isFull = (uses: readonly Use[]): boolean => uses.length >= (uses[0]?.packItems ?? 0) * USED_MIN
  const small = packs.filter((uses) => isFull(uses) && sizeOf(uses) < SMALL_BYTES)
  return packs.filter((uses) => !isFull(uses)).concat(small.length > SMALL_PACKS_MAX ? small : [])
}

/**
 * Values for one pack each: of one environment, of one kind, and not too many bytes. Kinds differ in size and in how long
 * their values are used; a pack of several would be kept for its small values when the large ones are without use.
 */
function groupsOf(uses: readonly Use[]): Use[][] {
  const groups: Use[][] = []
  const open = new Map<string, { group: Use[]; bytes: number }>()
  for (const use of uses) {
    const name = `${use.environment} ${kindOf(use.identifier)}`
    const bytes = use.packBytes / use.packItems
    let last = open.get(name)
    if (last === undefined || last.bytes + bytes > PACK_BYTES) {
      last = { group: [], bytes: 0 }
      open.set(name, last)
      groups.push(last.group)
    }
    last.group.push(use)
    last.bytes += bytes
  }
  return groups
}

async function encodeOrNothing(codec: ValueCodec, items: readonly Item[]): Promise<Encoded | undefined> {
  try {
    return await encodePack(codec, valuesIn(items))
  } catch {
    return undefined
  }
}

function valuesIn(items: readonly Item[]): Values {
  return {
    identifiers: items.map(({ identifier }) => identifier),
    etags: items.map(({ etag }) => etag),
    values: items.map(({ data }) => data),
  }
}

function valuesOf(found: unknown): Values {
  if (typeof found !== 'object' || found === null || !('values' in found && 'identifiers' in found && 'etags' in found)) return NO_VALUES
  const { identifiers, etags, values } = found
  return Array.isArray(identifiers) && Array.isArray(etags) && Array.isArray(values) ? { identifiers, etags, values } : NO_VALUES
}

/** Whether a pack has in the place that a pointer names what was packed for this identifier and etag. */
function isIn({ identifiers, etags }: Values, identifier: string, { place, etag }: Pointer): boolean {
  return identifiers[place] === identifier && etags[place] === etag
}
