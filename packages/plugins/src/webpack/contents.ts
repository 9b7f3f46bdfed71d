/**
 * Large packs. Their large buffers are stored outside of the pack as contents of their own, which are never copied together
 * with the rest.
 *
 *   u8 4 | u8[8] id | u32 count | for each run: u8 whether it is outside, u32 bytes | the runs inside the pack, one after another
 *
 * The runs are the value's bytes; see `value.ts`. The id is random, so the keys of the contents of two packs never collide.
 *
 * A content is stored in chunks. Each is an entry of its own, which the engine stores as a blob. Chunks that a killed process leaves
 * without a pack are unused, so they are evicted first.
 *
 * The weight of a value is its size as estimated before it is serialised.
 */
import { randomFillSync } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Namespace } from 'varve'
import { lengthOf, type Serialized, type ValueCodec } from './value.ts'

/** A pack of more bytes is large. An ordinary pack has fewer. */
export const LARGE_BYTES: number = 4 << 20

/** A buffer of at least this many bytes is stored outside of a large pack: the engine stores it as a blob, without a copy. */
const CONTENT_BYTES = 1 << 20

/** Limit of the bytes inside a large pack. It leaves room for the head below the cache's own limit of a value. */
const JOINED_BYTES_MAX = 60 << 20

const KIND = 4
const COUNT_AT = 9
const HEAD_BYTES = 13
const RUN_BYTES = 5

/** The bytes of a pack, and its contents outside of it. */
export interface Encoded {
  readonly bytes: Buffer
  readonly contents: readonly Buffer[]
  /** Whether only this checkout can use the pack; see `value.ts`. */
  readonly isBound: boolean
}

interface Run {
  readonly isOutside: boolean
  readonly bytes: number
}

/** Serialises the values of a pack; undefined if webpack cannot serialise one of them, or if they are too large, or as `serialize` stops. */
export function encodePack(
  codec: ValueCodec,
  values: object,
  isStopping = false,
): Encoded | undefined | Promise<Encoded | undefined> {
  const join = (serialized: Serialized | undefined): Encoded | undefined => {
    if (serialized === undefined) return undefined
    const { pieces, isBound } = serialized
    if (lengthOf(pieces) > LARGE_BYTES) return encodeLarge(serialized)
    return { bytes: codec.join(pieces), contents: [], isBound }
  }
  const serialized = codec.serialize(values, isStopping)
  return serialized instanceof Promise ? serialized.then(join) : join(serialized)
}

/** Reads the contents of a pack, which have these lengths; undefined if one is missing. */
type ReadContents = (lengths: readonly number[]) => Promise<readonly Buffer[] | undefined>

/** The values of a pack, or a promise of them; undefined if a content is missing. Throws if they cannot be restored. */
export function decodePack(codec: ValueCodec, bytes: Buffer, readContents: ReadContents): unknown {
  return isLarge(bytes) ? decodeLarge(codec, bytes, readContents) : codec.decode(bytes)
}

async function decodeLarge(codec: ValueCodec, bytes: Buffer, readContents: ReadContents): Promise<unknown> {
  const pieces: Buffer[] = []
  const runs = runsOf(bytes)
  const contents = await readContents(contentLengths(bytes))
  if (contents === undefined) return undefined
  let place = HEAD_BYTES + runs.length * RUN_BYTES
  let content = 0
  for (const run of runs) {
    const piece = run.isOutside ? contents[content++] : bytes.subarray(place, place + run.bytes)
    if (piece?.length !== run.bytes) throw new Error(`a part has ${piece?.length} bytes, not ${run.bytes}`)
    if (!run.isOutside) place += run.bytes
    pieces.push(piece)
  }
  return codec.deserialize(pieces)
}

/** Whether these are the bytes of a large pack. */
function isLarge(bytes: Buffer): boolean {
  return bytes[0] === KIND
}

/** Lengths of the contents of a pack. */
export function contentLengths(bytes: Buffer): number[] {
  if (!isLarge(bytes)) return []
  return runsOf(bytes).flatMap(({ isOutside, bytes: length }) => (isOutside ? [length] : []))
}

/** Undefined if the value is too large. */
function encodeLarge({ pieces, isBound }: Serialized): Encoded | undefined {
  const runs: Run[] = []
  const inline: Buffer[] = []
  const contents: Buffer[] = []
  let inlineBytes = 0
  const endInline = (): void => {
    if (inlineBytes > 0) runs.push({ isOutside: false, bytes: inlineBytes })
    inlineBytes = 0
  }
  for (const piece of pieces) {
    if (isContent(piece)) {
      endInline()
      contents.push(piece)
      runs.push({ isOutside: true, bytes: piece.length })
    } else {
      inline.push(piece)
      inlineBytes += piece.length
    }
  }
  endInline()
  if (lengthOf(inline) > JOINED_BYTES_MAX || lengthOf(pieces) > VALUE_BYTES_MAX) return undefined
  const head = Buffer.alloc(HEAD_BYTES + runs.length * RUN_BYTES)
  head[0] = KIND
  randomFillSync(head, 1, COUNT_AT - 1)
  head.writeUInt32LE(runs.length, COUNT_AT)
  runs.forEach(({ isOutside, bytes }, index) => {
    head.writeUInt8(isOutside ? 1 : 0, HEAD_BYTES + index * RUN_BYTES)
    head.writeUInt32LE(bytes, HEAD_BYTES + index * RUN_BYTES + 1)
  })
  return { bytes: Buffer.concat([head, ...inline]), contents, isBound }
}

function isContent({ length }: Buffer): boolean {
  return length >= CONTENT_BYTES
}

/** Throws if these are not the bytes of a pack. */
function runsOf(bytes: Buffer): Run[] {
  const count = bytes.readUInt32LE(COUNT_AT)
  if (count > (bytes.length - HEAD_BYTES) / RUN_BYTES)
    throw new Error(`a pack of ${bytes.length} bytes cannot have ${count} parts`)
  return Array.from({ length: count }, (_, index) => {
    const at = HEAD_BYTES + index * RUN_BYTES
    return { isOutside: bytes.readUInt8(at) === 1, bytes: bytes.readUInt32LE(at + 1) }
  })
}

/** Bytes of one chunk, about 10 ms of work. */
const CHUNK_BYTES = 8 << 20

/** Bytes after which chunks are committed, so that the engine works while more are put, and holds at most twice as many in memory. */
const COMMIT_BYTES = 16 << 20

/** A part of a content. */
interface Chunk {
  readonly key: string
  readonly start: number
  readonly end: number
}

/** The contents of the packs of one namespace. */
export class Contents {
  readonly #packs: Namespace<Uint8Array>
  readonly #commit: () => Promise<unknown>
  #uncommittedBytes = 0
  #committing: Promise<unknown> = Promise.resolve()

  constructor(packs: Namespace<Uint8Array>, commit: () => Promise<unknown>) {
    this.#packs = packs
    this.#commit = commit
  }

  /** Puts the contents of a pack. The caller puts the pack itself afterwards. */
  async put(pack: string, contents: readonly Buffer[]): Promise<void> {
    for (const [index, content] of contents.entries()) {
      for (const { key, start, end } of chunksOf(pack, index, content.length)) {
        this.#packs.put(key, content.subarray(start, end))
        this.#uncommittedBytes += end - start
        if (this.#uncommittedBytes >= COMMIT_BYTES) await this.#beginCommit()
        await setImmediate()
      }
    }
  }

  async #beginCommit(): Promise<void> {
    await this.#committing
    this.#uncommittedBytes = 0
    // Entries that cannot be committed stay buffered, and the final commit reports why.
    this.#committing = this.#commit().catch(() => undefined)
  }

  /** Reads the contents of a pack, which have these lengths, on other threads at once; undefined if part of one is missing. */
  async get(pack: string, lengths: readonly number[]): Promise<Buffer[] | undefined> {
    // A damaged pack may claim any lengths.
    if (lengths.reduce((sum, length) => sum + length, 0) > VALUE_BYTES_MAX) return undefined
    const chunks = lengths.map((length, index) => chunksOf(pack, index, length))
    const keys = chunks.flat().map(({ key }) => key)
    if (!keys.every((key) => this.#packs.has(key))) return undefined
    const parts = await this.#packs.getManyAsync(keys)
    const contents: Buffer[] = []
    let next = 0
    for (const [index, ofContent] of chunks.entries()) {
      const found = parts.slice(next, next + ofContent.length).filter((part) => part !== undefined)
      next += ofContent.length
      if (found.length !== ofContent.length || found.some((part, chunk) => part.length !== sizeOf(ofContent[chunk])))
        return undefined
      contents.push(joined(found, lengths[index] ?? 0))
    }
    return contents
  }

  /** Deletes the contents of a pack, which have these lengths. */
  delete(pack: string, lengths: readonly number[]): void {
    for (const [index, length] of lengths.entries())
      for (const { key } of chunksOf(pack, index, length)) this.#packs.delete(key)
  }
}

function chunksOf(pack: string, index: number, length: number): Chunk[] {
  return Array.from({ length: Math.ceil(length / CHUNK_BYTES) }, (_, chunk) => {
    const start = chunk * CHUNK_BYTES
    return { key: `${pack} ${index} ${chunk}`, start, end: Math.min(start + CHUNK_BYTES, length) }
  })
}

function sizeOf(chunk: Chunk | undefined): number {
  return chunk === undefined ? 0 : chunk.end - chunk.start
}

/** Parts that were read together are adjacent in memory, so they need no copy. */
function joined(parts: readonly Uint8Array[], length: number): Buffer {
  const [first] = parts
  let end = first?.byteOffset ?? 0
  for (const part of parts) {
    if (part.buffer !== first?.buffer || part.byteOffset !== end) return Buffer.concat(parts)
    end += part.length
  }
  return first === undefined ? Buffer.alloc(0) : Buffer.from(first.buffer, first.byteOffset, length)
}

/** Limit of a stored value in bytes. A larger one would take too much of the cache, which has 1 GiB by default. */
export const VALUE_BYTES_MAX: number = 512 << 20

/** A value of at least this weight in bytes gets a pack of its own. */
export const HEAVY_BYTES: number = 1 << 20

/** Smaller texts and buffers do not count: a value of ordinary size has many of them. */
const COUNTED_BYTES = 64 << 10

/** Limit of the inspected objects of a value. Sources, which have the large texts, are near its top. */
const LOOKS_MAX = 64

/** Plain objects and lists are inspected this far below the value, or below a source. The package.json of a module has many deeper ones. */
const DEPTH_MAX = 2

/** An object of a value. */
interface Found {
  readonly part: object
  readonly depth: number
}

/** Bytes of the large texts and buffers near the top of a value. */
export function weightOf(value: unknown): number {
  const found: Found[] = []
  let bytes = weigh(value, 0, found)
  for (let next = 0; next < found.length && next < LOOKS_MAX; next++) {
    const { part: one, depth } = found[next] ?? { part: {}, depth: 0 }
    const isTop = next === 0 || isSource(one)
    if (!isTop && (depth > DEPTH_MAX || !isPlain(one))) continue
    const parts: Iterable<unknown> =
      one instanceof Map || one instanceof Set || Array.isArray(one) ? one.values() : Object.values(one)
    for (const part of parts) {
      bytes += weigh(part, isTop ? 1 : depth + 1, found)
      if (found.length > LOOKS_MAX) break
    }
  }
  return bytes
}

/** The bytes of a text or buffer; adds any other object to `found`. */
function weigh(part: unknown, depth: number, found: Found[]): number {
  if (typeof part === 'string') return part.length < COUNTED_BYTES ? 0 : part.length
  if (typeof part !== 'object' || part === null) return 0
  if (ArrayBuffer.isView(part)) return part.byteLength < COUNTED_BYTES ? 0 : part.byteLength
  found.push({ part, depth })
  return 0
}

function isSource(part: object): boolean {
  return 'source' in part && typeof part.source === 'function'
}

/**
 * Whether this is a list or a plain object. A module leads to all of webpack by its generator, which is not stored: some properties
 * there have getters that warn.
 */
export function isPlain(part: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(part)
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return true
  return Array.isArray(part) || part instanceof Map || part instanceof Set
}
