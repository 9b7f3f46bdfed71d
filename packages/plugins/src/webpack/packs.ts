/**
 * Values are stored in packs of a few hundred values of one kind, serialised together. Values of a kind share most of their data: a resolver's
 * entries name the same directories, modules the same options. The serialiser writes shared data once for each stream. Stored one by one, the
 * entries of a real build take eight times as many bytes. A pack is restored as a whole when webpack asks for the first of its values.
 *
 * A value that is stored again goes to a new pack. A pack is deleted once no pointer names it. If much of a pack is
 * unused, or if there are many small packs, the values that are still in use are rewritten to new packs.
 *
 * Pending values are divided into groups, one for each pack, as are those that are rewritten.
 */
import type { Namespace } from 'varve'
import { contentLengths, Contents, decodePack, type Encoded, encodePack, LARGE_BYTES } from './contents.ts'
import {
  decodePointer,
  encodePointer,
  type Entries,
  type Etag,
  idOf,
  isOf,
  type Pointer,
  unstorable,
} from './entries.ts'
import type { Parts } from './build-report.ts'
import { keyOf, ReadAhead } from './read-ahead.ts'
import type { SourceHashes } from './source-hashes.ts'
import { asBuffer, type ValueCodec } from './value.ts'

/** One value to be packed. */
export interface Item {
  readonly identifier: string
  readonly etag: string | null
  readonly data: unknown
}

/**
 * The values of a pack. Each value has its identifier and etag, so that it is returned for no other. A value is returned once
 * and then released, because webpack keeps it in memory from then on.
 */
interface Values {
  readonly identifiers: readonly unknown[]
  readonly etags: readonly unknown[]
  readonly values: unknown[]
  /** See `source-hashes.ts`. */
  readonly hashes: readonly unknown[]
}

const NO_VALUES: Values = { identifiers: [], etags: [], values: [], hashes: [] }

/** The packs of one compiler. */
export class Packs {
  readonly #pointers: Entries
  readonly #packs: Namespace<Uint8Array>
  readonly #codec: ValueCodec
  readonly #contents: Contents
  readonly #hashes: SourceHashes
  readonly #parts: Parts
  readonly #restored: Map<string, Values | Promise<Values>> = new Map()
  readonly #ahead: ReadAhead
  /** Packs with a value that was stored again, and their bytes: they may be unused now. */
  readonly #replaced: Map<string, number> = new Map()

  constructor(
    pointers: Entries,
    packs: Namespace<Uint8Array>,
    parts: Parts,
    codec: ValueCodec,
    hashes: SourceHashes,
    commit: () => Promise<unknown>,
  ) {
    this.#pointers = pointers
    this.#packs = packs
    this.#parts = parts
    this.#codec = codec
    this.#hashes = hashes
    this.#contents = new Contents(packs, commit)
    this.#ahead = new ReadAhead(packs, this.#contents)
  }

  /** Begins to read, on other threads, the packs that the last build read. */
  readAhead(): void {
    this.#ahead.begin()
  }

  /** Called when the build is done. Releases the packs that it did not use. */
  endReadAhead(): void {
    this.#ahead.end()
  }

  /** The place of this identifier's value. */
  find(identifier: string): Pointer | undefined {
    const pointer = decodePointer(this.#pointers.get(identifier))
    return pointer?.packItems === 0 ? undefined : pointer
  }

  /** Whether an earlier build noted that this value cannot be stored, so that it is not serialised again to find that out. */
  isUnstorable(environment: string, { identifier, etag }: Item): boolean {
    const pointer = decodePointer(this.#pointers.get(identifier))
    return pointer?.packItems === 0 && pointer.environment === environment && pointer.etag === etag
  }

  /** Notes that this value cannot be stored. Without an etag, the next value of this identifier may be another one. */
  noteUnstorable(environment: string, { identifier, etag }: Item): void {
    if (etag !== null) this.#putPointer(identifier, unstorable(environment, etag), false)
  }

  #putPointer(identifier: string, pointer: Pointer, isBound: boolean): void {
    const old = decodePointer(this.#pointers.put(identifier, encodePointer(pointer), isBound))
    if (old !== undefined && old.packItems > 0 && old.pack !== pointer.pack) this.#replaced.set(old.pack, old.packBytes)
  }

  /** The value of this identifier, or a promise of it; undefined if there is none. Throws if the pack is damaged. */
  read(identifier: string, pointer: Pointer): unknown {
    const found = this.#restored.get(pointer.pack) ?? this.#restore(pointer.pack)
    if (found instanceof Promise) return found.then((ready) => this.#take(identifier, pointer, ready))
    return this.#take(identifier, pointer, found)
  }

  /** Packs these items. Returns the bytes; undefined if an item cannot be serialised, or if they are too large. */
  async write(environment: string, items: readonly Item[]): Promise<number | undefined> {
    const written = await this.#put(environment, items)
    return written.length === 0 ? undefined : written.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** As `write`, but synchronous; undefined also if the codec needs a promise, or if the pack has more than `bytesMax`. */
  writeNow(environment: string, items: readonly Item[], bytesMax: number): number | undefined {
    const encoded = encodePack(this.#codec, this.#valuesIn(items))
    if (encoded === undefined || encoded instanceof Promise || encoded.contents.length > 0) return undefined
    if (encoded.bytes.length > bytesMax) return undefined
    return this.#putPack(idOf(encoded.bytes), environment, items, encoded).bytes
  }

  /** Deletes unused packs and rewrites sparse and small ones. `isValid` decides which environments are still valid. */
  async tidy(isValid: (environment: string) => boolean | Promise<boolean>): Promise<void> {
    if (this.#replaced.size === 0) return
    const used = await this.#usesByPack(isValid)
    for (const [pack, bytes] of this.#replaced) if (!used.has(pack)) this.#delete(pack, bytes)
    const packs = packsToRewrite([...used.values()])
    const written = new Set<string>()
    let isComplete = true
    for (const group of rewriteGroupsOf(packs.flat())) {
      const items = await this.#itemsOf(group)
      if (items.length === 0) continue
      const made = await this.#put(group[0]?.environment ?? '', items)
      isComplete &&= made.length > 0
      for (const { pack } of made) written.add(pack)
    }
    // If one pack was not written, its values are still in the old packs. A pack may also be rewritten to the same bytes.
    for (const [use] of packs)
      if (use !== undefined && isComplete && !written.has(use.pack)) this.#delete(use.pack, use.packBytes)
    this.#replaced.clear()
    this.#restored.clear()
  }

  /** Puts the order in which packs were read and written since the cache was opened: the next build reads them ahead. */
  noteOrder(): void {
    this.#ahead.write()
  }

  /** Reads a pack only if its bytes are so many that it may have contents outside. */
  #delete(pack: string, packBytes: number): void {
    const key = keyOf(pack)
    const bytes = packBytes > LARGE_BYTES ? this.#packs.get(key) : undefined
    if (bytes !== undefined) this.#contents.delete(key, contentLengths(asBuffer(bytes)))
    this.#packs.delete(key)
    this.#parts.delete(key)
    this.#ahead.remove(pack)
  }

  /**
   * Puts items as a pack, or as two if only some are bound to this checkout. Returns no pack if the items cannot be stored. A pack that
   * has to be divided gets no bytes before: they cost as much as everything else.
   */
  async #put(environment: string, items: readonly Item[]): Promise<Written[]> {
    const isDivisible = items.length > 1 && !this.#codec.isAlwaysBound
    const encoded = await this.#tryEncode(items, isDivisible)
    if (encoded !== undefined || !isDivisible) return this.#putEncoded(environment, items, encoded)
    const bound = await this.#boundOf(items)
    const written: Written[][] = []
    for (const part of [items.filter((item) => !bound.has(item)), [...bound]]) {
      if (part.length > 0) written.push(await this.#putEncoded(environment, part, await this.#tryEncode(part, false)))
    }
    return written.every(({ length }) => length > 0) ? written.flat() : []
  }

  async #putEncoded(environment: string, items: readonly Item[], encoded: Encoded | undefined): Promise<Written[]> {
    if (encoded === undefined) return []
    const pack = idOf(encoded.bytes)
    await this.#contents.put(keyOf(pack), encoded.contents)
    return [this.#putPack(pack, environment, items, encoded)]
  }

  /** Those of the items that only this checkout can use. */
  async #boundOf(items: readonly Item[]): Promise<Set<Item>> {
    const isBound = await Promise.all(
      items.map((item) => this.#codec.isBound(this.#valuesIn([item])).catch(() => true)),
    )
    return new Set(items.filter((_, index) => isBound[index]))
  }

  async #tryEncode(items: readonly Item[], isStopping: boolean): Promise<Encoded | undefined> {
    try {
      return await encodePack(this.#codec, this.#valuesIn(items), isStopping)
    } catch {
      return undefined
    }
  }

  #valuesIn(items: readonly Item[]): Values {
    return {
      identifiers: items.map(({ identifier }) => identifier),
      etags: items.map(({ etag }) => etag),
      values: items.map(({ data }) => data),
      hashes: items.map(({ data }) => this.#hashes.of(data)),
    }
  }

  #putPack(pack: string, environment: string, items: readonly Item[], { bytes, contents, isBound }: Encoded): Written {
    this.#packs.put(keyOf(pack), bytes)
    this.#parts.put(keyOf(pack), items)
    this.#ahead.note(pack, bytes.length)
    const packBytes = contents.reduce((sum, { length }) => sum + length, bytes.length)
    items.forEach(({ identifier, etag }, place) => {
      const pointer = { environment, pack, packBytes, packItems: items.length, place, etag }
      this.#putPointer(identifier, pointer, isBound)
    })
    return { pack, bytes: packBytes }
  }

  async #usesByPack(isValid: (environment: string) => boolean | Promise<boolean>): Promise<Map<string, Use[]>> {
    const used = new Map<string, Use[]>()
    for (const [identifier, bytes] of this.#pointers.all()) {
      const pointer = decodePointer(bytes)
      const verdict = pointer !== undefined && (identifier === undefined || isValid(pointer.environment))
      if (pointer === undefined || !(verdict instanceof Promise ? await verdict : verdict)) {
        if (identifier !== undefined) this.#pointers.delete(identifier)
        continue
      }
      if (pointer.packItems === 0) continue
      const use = { ...pointer, identifier }
      const uses = used.get(pointer.pack)
      if (uses === undefined) used.set(pointer.pack, [use])
      else uses.push(use)
    }
    return used
  }

  async #itemsOf(uses: readonly Use[]): Promise<Item[]> {
    const items: Item[] = []
    for (const use of uses) {
      const { identifier, etag } = use
      const data: unknown = identifier === undefined ? undefined : await this.read(identifier, use)
      if (identifier !== undefined && data !== undefined) items.push({ identifier, etag, data })
    }
    return items
  }

  #take(identifier: string, pointer: Pointer, found: Values): unknown {
    const { pack, place } = pointer
    if (!isIn(found, identifier, pointer)) return undefined
    const value = found.values[place]
    if (value !== undefined) return this.#release(found, place)
    // webpack's memory cache has dropped the value and asks for it again.
    this.#restored.delete(pack)
    const again = this.#restore(pack)
    return again instanceof Promise ? again.then((ready) => this.#release(ready, place)) : this.#release(again, place)
  }

  #release({ values, hashes }: Values, place: number): unknown {
    const value = values[place]
    values[place] = undefined
    this.#hashes.restore(value, hashes[place])
    return value
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
    if (!isOf(pack, bytes)) throw new Error('a pack is not what was written under its name')
    const value = decodePack(this.#codec, asBuffer(bytes), (lengths) => this.#ahead.takeContents(pack, lengths))
    return value instanceof Promise ? value.then(valuesOf) : valuesOf(value)
  }
}

/** A pack that was put, and its bytes. */
interface Written {
  readonly pack: string
  readonly bytes: number
}

function valuesOf(found: unknown): Values {
  if (typeof found !== 'object' || found === null || !('values' in found && 'identifiers' in found && 'etags' in found))
    return NO_VALUES
  const { identifiers, etags, values } = found
  const hashes: unknown = Reflect.get(found, 'hashes')
  return Array.isArray(identifiers) && Array.isArray(etags) && Array.isArray(values) && Array.isArray(hashes)
    ? { identifiers, etags, values, hashes }
    : NO_VALUES
}

/** Whether the place that a pointer names has the value of this identifier and etag. */
function isIn({ identifiers, etags }: Values, identifier: string, { place, etag }: Pointer): boolean {
  return identifiers[place] === identifier && etags[place] === etag
}

/** A value that webpack has stored and that is not written yet. */
export interface Pending {
  readonly etag: Etag | null
  readonly data: unknown
}

/** Target size of a pack in bytes. Values in a larger pack share more; a smaller one is restored sooner. */
export const PACK_BYTES: number = 2 << 20

/** Values in one pack: the limit, the number in the first pack of a kind, and the most growth from one pack to the next. */
const ITEMS_MAX = 1000
const ITEMS_FIRST = 128
const GROWTH_MAX = 8

/** How many values of a kind fill a pack, estimated from the packs written before. */
export class GroupSizes {
  readonly #next: Map<string, number> = new Map()

  of(kind: string): number {
    return this.#next.get(kind) ?? ITEMS_FIRST
  }

  /** Notes a written pack. The next has at most `GROWTH_MAX` times as many values, because the first may be untypical. */
  note(kind: string, items: number, bytes: number): void {
    const fitting = Math.floor((items * PACK_BYTES) / bytes)
    this.#next.set(kind, Math.min(Math.max(fitting, 1), items * GROWTH_MAX, ITEMS_MAX))
  }
}

/** The kind of an identifier: its text before the first `|`. */
export function kindOf(identifier: string): string {
  return identifier.split('|', 1)[0] ?? ''
}

/** Yields pending values in groups of one kind. Calls `size` before each group. */
export function* groupsOf(
  pending: ReadonlyMap<string, Pending>,
  size: (kind: string) => number,
): Generator<[string, Pending][]> {
  const kinds = new Map<string, [string, Pending][]>()
  for (const one of pending) {
    const kind = kindOf(one[0])
    const found = kinds.get(kind)
    if (found === undefined) kinds.set(kind, [one])
    else found.push(one)
  }
  for (const [kind, all] of kinds) {
    for (let start = 0, end = 0; start < all.length; start = end) {
      end = start + size(kind)
      yield all.slice(start, end)
    }
  }
}

/** Packs of fewer bytes are small. If there are more small packs than the limit, they are merged. */
const SMALL_BYTES = 256 << 10
const SMALL_PACKS_MAX = 12

/** A pack with a smaller share of used values than this is rewritten without its unused values. */
const USED_MIN = 0.85

/** A value in use. */
export interface Use extends Pointer {
  /** Undefined if the value is bound to another checkout. */
  readonly identifier: string | undefined
}

/** The packs with too many unused values, and the small packs if there are too many of them. Those of other checkouts stay. */
export function packsToRewrite(all: readonly Use[][]): Use[][] {
  const packs = all.filter((uses) => uses.every(({ identifier }) => identifier !== undefined))
  const sizeOf = (uses: readonly Use[]): number => uses[0]?.packBytes ?? 0
  const isFull = (uses: readonly Use[]): boolean => uses.length >= (uses[0]?.packItems ?? 0) * USED_MIN
  const small = packs.filter((uses) => isFull(uses) && sizeOf(uses) < SMALL_BYTES)
  return packs.filter((uses) => !isFull(uses)).concat(small.length > SMALL_PACKS_MAX ? small : [])
}

/**
 * Groups of values, one for each new pack: of one environment, of one kind, and of limited size. Kinds differ in size and in how
 * long their values are used. The small values of a mixed pack would keep its large values alive after their last use.
 */
function rewriteGroupsOf(uses: readonly Use[]): Use[][] {
  const groups: Use[][] = []
  const open = new Map<string, { group: Use[]; bytes: number }>()
  for (const use of uses) {
    const name = `${use.environment} ${kindOf(use.identifier ?? '')}`
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
