/**
 * Packs are read before they are asked for, on another thread and in the order in which the last build that wrote
 * anything used them: meanwhile webpack starts. What is asked for sooner is read at once.
 *
 * The order is a record beside the packs: for each `u8[8] pack | u32 bytes`.
 */
import type { Namespace } from 'varve'
import { ID_BYTES } from './pointer.ts'

const ORDER_KEY = 'order'
const STEP_BYTES = ID_BYTES + 4

/**
 * Bytes read at a time: little first, since it is wanted at once; then much, since each answer waits for the main thread
 * to have a moment before the next is asked for.
 */
const FIRST_BYTES = 4 << 20
const BATCH_BYTES = 32 << 20

/** Packs read at a time, however small the order says they are. */
const BATCH_PACKS = 32

/** Not more than this: what a build does not use is read in vain and takes memory until the end. */
const BYTES_MAX = 256 << 20

/** A pack that is read. */
interface Reading {
  readonly promise: Promise<Uint8Array | undefined>
  /** Once it is there. */
  bytes: Uint8Array | undefined
}

interface Step {
  readonly pack: string
  readonly bytes: number
}

/** Reads the packs of one namespace. */
export class ReadAhead {
  readonly #packs: Namespace<Uint8Array>
  /** Read and not taken yet. */
  readonly #reading: Map<string, Reading> = new Map()
  /** Bytes of the packs that this build used or wrote, in that order. */
  readonly #used: Map<string, number> = new Map()

  #isEnded = false

  constructor(packs: Namespace<Uint8Array>) {
    this.#packs = packs
  }

  /** Begins to read. */
  begin(): void {
    const steps = decodeOrder(this.#packs.get(ORDER_KEY) ?? new Uint8Array())
    // A cache that is closed meanwhile ends it; what is not read ahead is read when it is asked for.
    this.#readAll(steps).catch(() => this.#reading.clear())
  }

  /** Stops, and lets go of what nobody took. */
  end(): void {
    this.#isEnded = true
    this.#reading.clear()
  }

  /** The bytes of a pack, or a promise of them where they are just being read. */
  take(pack: string): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const reading = this.#reading.get(pack)
    this.#reading.delete(pack)
    const bytes = reading === undefined ? this.#packs.get(keyOf(pack)) : (reading.bytes ?? reading.promise)
    if (bytes instanceof Promise) return bytes.then((read) => this.#note(pack, read))
    return this.#note(pack, bytes)
  }

  /** A pack was written. */
  note(pack: string, bytes: number): void {
    this.#used.set(pack, bytes)
  }

  /** A pack was deleted. */
  forget(pack: string): void {
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
    return values.reduce((sum, value) => sum + (value?.length ?? 0), 0)
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
