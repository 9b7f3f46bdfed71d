/**
 * Values are stored in packs: some hundred of one kind, serialised together. They share most of what they hold (a
 * resolver's entries name the same folders, modules the same options), and webpack's serialiser writes what is shared
 * once for each stream: one by one, the entries of a real build take eight times the bytes. A pack is restored as a
 * whole when the first of its values is asked for; a warm build asks for nearly all.
 *
 * A value that is written again goes to a new pack. A pack that nothing points to any more is deleted; when there are
 * many, the small ones are written anew as one.
 */
import { createHash } from 'node:crypto'
import type { Namespace } from 'varve'
import { decodePointer, encodePointer, ID_BYTES } from './pointer.ts'
import { asBuffer, decodeValue, encodeValue, type Serializer } from './value.ts'

/** More packs than this are tidied up. */
const PACKS_MAX = 12

/** One value to be packed. */
export interface Item {
  readonly identifier: string
  readonly etag: string | null
  readonly data: object
}

/** Values of a restored pack; each is handed out once and then forgotten, webpack keeps it in memory from there. */
type Values = (object | undefined)[]

/** The packs of one compiler. */
export class Packs {
  readonly #pointers: Namespace<Uint8Array>
  readonly #packs: Namespace<Uint8Array>
  readonly #serializer: Serializer
  readonly #restored: Map<string, Values | Promise<Values>> = new Map()
  /** Packs that had a value which was written again: perhaps nothing points to them any more. */
  readonly #replaced: Set<string> = new Set()

  constructor(pointers: Namespace<Uint8Array>, packs: Namespace<Uint8Array>, serializer: Serializer) {
    this.#pointers = pointers
    this.#packs = packs
    this.#serializer = serializer
  }

  /** The value in a place of a pack, or a promise of it; undefined where there is none. Throws where it is no pack. */
  read(pack: string, place: number): unknown {
    const values = this.#restored.get(pack) ?? this.#restore(pack)
    if (values instanceof Promise) return values.then((ready) => this.#hand(pack, ready, place))
    return this.#hand(pack, values, place)
  }

  /** Packs these items. Returns the bytes; undefined where one of them cannot be serialised. */
  async write(environment: string, items: readonly Item[]): Promise<number | undefined> {
    const bytes = await encodeOrNothing(this.#serializer, items)
    if (bytes === undefined) return undefined
    const pack = createHash('sha256').update(bytes).digest().toString('latin1', 0, ID_BYTES)
    this.#packs.put(keyOf(pack), bytes)
    items.forEach(({ identifier, etag }, place) => {
      const before = this.#pointers.get(identifier)
      const old = before === undefined ? undefined : decodePointer(asBuffer(before))
      if (old !== undefined && old.pack !== pack) this.#replaced.add(old.pack)
      this.#pointers.put(identifier, encodePointer({ environment, pack, place, etag }))
    })
    return bytes.length
  }

  /** Deletes packs without use and joins small ones, if there are many. `isValid` says which environments still hold. */
  async tidy(isValid: (environment: string) => boolean | Promise<boolean>): Promise<void> {
    if (this.#replaced.size === 0) return
    const used = await this.#itemsByPack(isValid)
    for (const pack of this.#replaced) if (!used.has(pack)) this.#packs.delete(keyOf(pack))
    this.#replaced.clear()
    if (used.size <= PACKS_MAX) return
    const smallFirst = [...used].sort(([, left], [, right]) => left.length - right.length)
    const small = smallFirst.slice(0, used.size - PACKS_MAX / 2)
    const byEnvironment = groupBy(small)
    for (const [environment, packs] of byEnvironment) {
      const items = await Promise.all(packs.flatMap(([pack, uses]) => uses.map((use) => this.#again(pack, use))))
      const written = await this.write(environment, items.filter((item) => item !== undefined))
      if (written !== undefined) for (const [pack] of packs) this.#packs.delete(keyOf(pack))
    }
    this.#restored.clear()
  }

  async #itemsByPack(isValid: (environment: string) => boolean | Promise<boolean>): Promise<Map<string, Use[]>> {
    const used = new Map<string, Use[]>()
    const pointers = [...this.#pointers.entries()] // all of them first: some are deleted on the way
    for (const [identifier, bytes] of pointers) {
      const pointer = decodePointer(asBuffer(bytes))
      if (pointer !== undefined && (await isValid(pointer.environment))) {
        const { pack, place, etag, environment } = pointer
        used.set(pack, [...(used.get(pack) ?? []), { identifier: String(identifier), place, etag, environment }])
      } else {
        this.#pointers.delete(identifier)
      }
    }
    return used
  }

  async #again(pack: string, { identifier, place, etag }: Use): Promise<Item | undefined> {
    const data: unknown = await this.read(pack, place)
    return typeof data === 'object' && data !== null ? { identifier, etag, data } : undefined
  }

  #hand(pack: string, values: Values, place: number): unknown {
    const value = values[place]
    if (value !== undefined) {
      values[place] = undefined
      return value
    }
    // Asked for again: webpack's memory has let go of it.
    this.#restored.delete(pack)
    const again = this.#restore(pack)
    return again instanceof Promise ? again.then((ready) => ready[place]) : again[place]
  }

  #restore(pack: string): Values | Promise<Values> {
    const bytes = this.#packs.get(keyOf(pack))
    const value = bytes === undefined ? [] : decodeValue(this.#serializer, asBuffer(bytes))
    const values = value instanceof Promise ? value.then(valuesOf) : valuesOf(value)
    this.#restored.set(pack, values)
    return values
  }
}

/** A pointer's part in a pack. */
interface Use {
  readonly identifier: string
  readonly place: number
  readonly etag: string | null
  readonly environment: string
}

function groupBy(packs: readonly [string, Use[]][]): Map<string, [string, Use[]][]> {
  const groups = new Map<string, [string, Use[]][]>()
  for (const [pack, uses] of packs) {
    const environment = uses[0]?.environment ?? ''
    groups.set(environment, [...(groups.get(environment) ?? []), [pack, uses]])
  }
  return groups
}

async function encodeOrNothing(serializer: Serializer, items: readonly Item[]): Promise<Buffer | undefined> {
  try {
    return await encodeValue(serializer, items.map(({ data }) => data))
  } catch {
    return undefined
  }
}

function valuesOf(value: unknown): Values {
  return Array.isArray(value) ? value : []
}

function keyOf(pack: string): string {
  return Buffer.from(pack, 'latin1').toString('hex')
}
