/**
 * Reads packs ahead on another thread while webpack starts, in the order in which the last build that wrote anything used
 * them. A pack that webpack asks for earlier is read at once.
 *
 * The order is an entry in the namespace of the packs. It has for each pack: u8[8] pack | u32 bytes
 */
import type { Namespace } from 'varve'
import { type Contents, contentLengths } from './contents.ts'
import { ID_BYTES } from './entries.ts'
import { asBuffer } from './value.ts'

const ORDER_KEY = 'order'
const STEP_BYTES = ID_BYTES + 4

/**
 * Bytes per batch. The first batch is small because webpack wants it at once. Later batches are large, because each waits
 * for a free moment of the main thread before the next one begins.
 */
const FIRST_BYTES = 4 << 20
const BATCH_BYTES = 32 << 20

/** Limit of the packs per batch, however small they are according to the order. */
const BATCH_PACKS = 32

/** Limit of the bytes read ahead. A pack that the build does not use takes memory until the build ends. */
const BYTES_MAX = 256 << 20

/** A pack that is being read, or has been read. */
interface Reading {
  readonly promise: Promise<Uint8Array | undefined>
  /** The bytes, once they have been read. */
  bytes: Uint8Array | undefined
}

interface Step {
  readonly pack: string
  readonly bytes: number
}

/** Reads the packs of one namespace. */
export class ReadAhead {
  readonly #packs: Namespace<Uint8Array>
  readonly #contents: Contents
  /** Packs that were read and not taken yet. */
  readonly #reading: Map<string, Reading> = new Map()
  /** Contents of large packs that were read and not taken yet. */
  readonly #readingContents: Map<string, ReturnType<Contents['get']>> = new Map()
  /** Sizes of the packs that this build used or wrote, in this order. */
  readonly #used: Map<string, number> = new Map()

  #isEnded = false

  constructor(packs: Namespace<Uint8Array>, contents: Contents) {
    this.#packs = packs
    this.#contents = contents
  }

  /** Begins to read. */
  begin(): void {
    const steps = decodeOrder(this.#packs.get(ORDER_KEY) ?? new Uint8Array())
    // Closing the cache meanwhile ends it. Packs that were not read ahead are read on demand.
    this.#readAll(steps).catch(() => this.#release())
  }

  /** Stops, and releases packs that were not taken. */
  end(): void {
    this.#isEnded = true
    this.#release()
  }

  #release(): void {
    this.#reading.clear()
    this.#readingContents.clear()
  }

  /** The bytes of a pack, or a promise of them if they are being read. */
  take(pack: string): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const reading = this.#reading.get(pack)
    this.#reading.delete(pack)
    const bytes = reading === undefined ? this.#packs.get(keyOf(pack)) : (reading.bytes ?? reading.promise)
    if (bytes instanceof Promise) return bytes.then((read) => this.#note(pack, read))
    return this.#note(pack, bytes)
  }

  /** Reads the contents of a pack, which have these lengths; undefined if one is missing. */
  takeContents(pack: string, lengths: readonly number[]): ReturnType<Contents['get']> {
    const reading = this.#readingContents.get(pack)
    this.#readingContents.delete(pack)
    return reading ?? this.#contents.get(keyOf(pack), lengths)
  }

  /** Adds a written pack. */
  note(pack: string, bytes: number): void {
    this.#used.set(pack, bytes)
  }

  /** Removes a deleted pack. */
  remove(pack: string): void {
    this.#used.delete(pack)
  }

  /** Puts the order for the next build. */
  write(): void {
    const record = Buffer.alloc(this.#used.size * STEP_BYTES)
    let at = 0
    for (const [pack, bytes] of this.#used) {
      record.write(pack, at, 'latin1')
      record.writeUInt32LE(bytes, at + ID_BYTES)
      at += STEP_BYTES
    }
    this.#packs.put(ORDER_KEY, record)
  }

  #note(pack: string, bytes: Uint8Array | undefined): Uint8Array | undefined {
    if (bytes !== undefined && !this.#used.has(pack)) this.#used.set(pack, bytes.length)
    return bytes
  }

  async #readAll(steps: readonly Step[]): Promise<void> {
    let total = 0
    for (let start = 0, end = 0; start < steps.length && total < BYTES_MAX && !this.#isEnded; start = end) {
      const bytesMax = start === 0 ? FIRST_BYTES : BATCH_BYTES
      let bytes = 0
      while (end < steps.length && bytes < bytesMax && end < start + BATCH_PACKS) bytes += steps[end++]?.bytes ?? 0
      const packs = steps.slice(start, end).map(({ pack }) => pack)
      total += await this.#read(packs.filter((pack) => !this.#used.has(pack)))
    }
  }

  /** Returns the bytes read. */
  async #read(packs: readonly string[]): Promise<number> {
    const all = this.#packs.getManyAsync(packs.map(keyOf))
    const reading = packs.map((pack, index): Reading => {
      const one = { promise: all.then((values) => values[index]), bytes: undefined }
      this.#reading.set(pack, one)
      return one
    })
    const values = await all
    reading.forEach((one, index) => (one.bytes = values[index]))
    let total = 0
    for (const [index, pack] of packs.entries()) {
      const bytes = values[index]
      if (bytes !== undefined) total += bytes.length + this.#beginContents(pack, bytes)
    }
    return total
  }

  /** Begins to read the contents of a pack, unless it was taken while its bytes were read. Returns their number of bytes. */
  #beginContents(pack: string, bytes: Uint8Array): number {
    if (this.#isEnded || !this.#reading.has(pack)) return 0
    const lengths = contentLengths(asBuffer(bytes))
    if (lengths.length === 0) return 0
    const contents = this.#contents.get(keyOf(pack), lengths)
    // Whoever takes them sees the error.
    contents.catch(() => undefined)
    this.#readingContents.set(pack, contents)
    return lengths.reduce((sum, length) => sum + length, 0)
  }
}

/** The key of a pack. */
export function keyOf(pack: string): string {
  return Buffer.from(pack, 'latin1').toString('hex')
}

function decodeOrder(bytes: Uint8Array): Step[] {
  const record = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const steps = new Map<string, Step>()
  for (let at = 0; at + STEP_BYTES <= record.length; at += STEP_BYTES) {
    const pack = record.toString('latin1', at, at + ID_BYTES)
    steps.set(pack, { pack, bytes: record.readUInt32LE(at + ID_BYTES) })
  }
  return [...steps.values()]
}
