/**
 * A value's bytes: `u8 kind | payload`.
 *
 *   1  one stream of webpack's serialiser
 *   2  a list, for a value with lazy parts: a u32 count and, for each part, a u32 length with that many bytes, or
 *      0xffffffff followed by the list that the lazy part returned
 *   3  a stream whose lazy sections are stored apart, because few of them are ever restored:
 *      u32 bytes of the stream without them | u32 count | for each: u32 place in the stream, u32 bytes | stream |
 *      the lazy sections one after another
 */
import type { Compiler } from 'webpack'
import type { Root } from '../build/root.ts'
import { lazyMaker } from './lazy.ts'
import { type Binding, type PathSerializers, pathSerializers, type Serializer } from './paths.ts'
import { lengthOf, type Resolved, type Section, sectionsOf, streamOf } from './sections.ts'

/** A part of the output of webpack's serialiser: bytes, or a function that returns more parts. */
export type Part = Buffer | (() => Part[] | Promise<Part[]>)

const STREAM = 1
const LIST = 2
const APART = 3
const LAZY = 0xffffffff

/** A value as parts of webpack's serialiser, with every function called. */
export interface Serialized {
  readonly parts: readonly Resolved[]
  /** Whether the value names the root in a way that only this checkout can use. */
  readonly isBound: boolean
}

/** Encodes and decodes values with the serialiser of one webpack. */
export class ValueCodec {
  readonly #serializer: Serializer
  readonly #paths: PathSerializers | undefined
  /** Whether the steps of this webpack's serialiser are unknown, so that paths cannot be relative. */
  readonly isAlwaysBound: boolean
  /** Marks a function so that webpack can serialise it again; undefined if this webpack has no such mark. */
  readonly asLazy: ReturnType<typeof lazyMaker>

  /** Paths in `root` are stored relative to it. */
  constructor(webpack: Compiler['webpack'], root: Root) {
    this.#paths = pathSerializers(webpack, root)
    this.#serializer = this.#paths?.toBytes ?? webpack.util.serialization.buffersSerializer
    this.isAlwaysBound = this.#paths === undefined
    this.asLazy = lazyMaker(webpack)
  }

  /**
   * The output of webpack's serialiser; undefined if webpack declares the value not serialisable, or, with `isStopping`, if it is
   * bound. Throws if it fails.
   */
  serialize(data: object, isStopping = false): Serialized | undefined | Promise<Serialized | undefined> {
    const binding: Binding = { isBound: this.isAlwaysBound, isStopping }
    const found: Part[] | null | Promise<Part[] | null> = this.#serializer.serialize(data, { binding })
    const parts = found instanceof Promise ? found.then(resolvedParts) : resolvedParts(found)
    const withBinding = (ready: readonly Resolved[] | undefined): Serialized | undefined => ready && { parts: ready, isBound: binding.isBound }
    return parts instanceof Promise ? parts.then(withBinding) : withBinding(parts)
  }

  /** Whether only this checkout can use a value, without making its bytes. Throws if it cannot be serialised. */
  async isBound(data: object): Promise<boolean> {
    const binding: Binding = { isBound: this.isAlwaysBound }
    await this.#paths?.toList.serialize(data, { binding })
    return binding.isBound
  }

  /** The value, or a promise of it. Throws if it cannot be restored. */
  decode(bytes: Buffer): unknown {
    const payload = bytes.subarray(1)
    return this.deserialize(this.#partsOf(bytes[0], payload))
  }

  /** The value of parts that webpack's serialiser made, or a promise of it. Throws if it cannot be restored. */
  deserialize(parts: Part[]): unknown {
    return this.#serializer.deserialize(parts, {})
  }

  #partsOf(kind: number | undefined, payload: Buffer): Part[] {
    if (kind === STREAM) return [payload]
    const asLazy = this.asLazy ?? (<T extends object>(part: () => T) => part)
    return kind === LIST ? readList(payload, 0, asLazy).parts : readApart(payload, this.asLazy)
  }

  /** The bytes of a value. */
  join(parts: readonly Resolved[]): Buffer {
    const sections = this.asLazy === undefined ? undefined : sectionsOf(parts)
    if (sections?.some(({ isLazy }) => isLazy)) return apartBytes(sections)
    if (parts.every((part) => Buffer.isBuffer(part))) return Buffer.concat([Buffer.of(STREAM), ...parts])
    return Buffer.concat([Buffer.of(LIST), ...listBytes(parts)])
  }
}

/** The same memory as a Buffer, which webpack expects. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function resolvedParts(parts: readonly Part[] | null): readonly Resolved[] | undefined | Promise<readonly Resolved[]> {
  if (parts === null || parts === undefined) return undefined
  return parts.every((part) => Buffer.isBuffer(part)) ? parts : resolveParts(parts)
}

async function resolveParts(parts: readonly Part[]): Promise<Resolved[]> {
  const resolved: Resolved[] = []
  for (const part of parts) resolved.push(Buffer.isBuffer(part) ? part : await resolveParts(await part()))
  return resolved
}

/** The bytes with lazy sections apart. */
function apartBytes(sections: readonly Section[]): Buffer {
  const kept = sections.filter(({ isLazy }) => !isLazy).flatMap(({ bytes }) => bytes)
  const apart = sections.filter(({ isLazy }) => isLazy).flatMap(({ bytes }) => bytes)
  const places: number[] = []
  let place = 0
  for (const { isLazy, bytes } of sections) {
    if (isLazy) places.push(place, lengthOf(bytes))
    else place += lengthOf(bytes)
  }
  const head = [place, places.length / 2, ...places].map(u32)
  return Buffer.concat([Buffer.of(APART), ...head, ...kept, ...apart])
}

/**
 * The parts. If lazy parts cannot be marked, they become ordinary streams. Everything is checked here, because webpack asks
 * for a lazy part in the middle of a build, when it is too late for a miss.
 */
function readApart(payload: Buffer, asLazy: ReturnType<typeof lazyMaker>): Part[] {
  const count = payload.readUInt32LE(4)
  const start = 8 + 8 * count
  const stream = sliceOf(payload, start, payload.readUInt32LE(0))
  const parts: Part[] = []
  let end = 0
  let from = start + stream.length
  for (let index = 0; index < count; index++) {
    const place = payload.readUInt32LE(8 + 8 * index)
    const size = payload.readUInt32LE(12 + 8 * index)
    if (place < end) throw new Error('the lazy parts of a pack have no order')
    if (place > end) parts.push(sliceOf(stream, end, place - end))
    const bytes = sliceOf(payload, from, size)
    if (asLazy === undefined) parts.push(...streamOf([{ isLazy: true, bytes: [bytes] }]))
    else parts.push(asLazy(() => [bytes]))
    from += size
    end = place
  }
  if (from !== payload.length) throw new Error('a pack has more than its lazy parts')
  if (stream.length > end) parts.push(stream.subarray(end))
  return parts
}

/** `length` bytes from `start` on. Throws if there are fewer. */
function sliceOf(source: Buffer, start: number, length: number): Buffer {
  if (start + length > source.length) throw new Error('a pack ends early')
  return source.subarray(start, start + length)
}

function listBytes(list: readonly Resolved[]): Buffer[] {
  const bytes = [u32(list.length)]
  for (const part of list) {
    if (Buffer.isBuffer(part)) bytes.push(u32(part.length), part)
    else bytes.push(u32(LAZY), ...listBytes(part))
  }
  return bytes
}

function readList(source: Buffer, start: number, asLazy: (part: () => Part[]) => () => Part[]): { parts: Part[]; end: number } {
  const parts: Part[] = []
  let end = start + 4
  for (let count = source.readUInt32LE(start); count > 0; count--) {
    const length = source.readUInt32LE(end)
    end += 4
    if (length === LAZY) {
      const inner = readList(source, end, asLazy)
      parts.push(asLazy(() => inner.parts))
      end = inner.end
    } else {
      parts.push(sliceOf(source, end, length))
      end += length
    }
  }
  return { parts, end }
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32LE(value)
  return bytes
}
