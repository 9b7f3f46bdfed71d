/**
 * Large packs. Their large buffers are stored outside of the pack as contents of their own, which are never copied together
 * with the rest.
 *
 *   u8 4 | u8[8] id | u32 count | for each run: u8 whether it is outside, u32 bytes | the runs inside the pack, one after another
 *
 * The runs are the value's bytes; see `bytes.ts`. The id is random, so the keys of the contents of two packs never collide.
 */
import { randomFillSync } from 'node:crypto'
import { lengthOf } from './bytes.ts'
import type { Serialized, ValueCodec } from './value.ts'
import { VALUE_BYTES_MAX } from './weight.ts'

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
  /** Whether only this checkout can use the pack; see `paths.ts`. */
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

/** Reads a content of a pack; undefined if it is missing. */
type ReadContent = (index: number, bytes: number) => Promise<Buffer | undefined>

/** The values of a pack, or a promise of them; undefined if a content is missing. Throws if they cannot be restored. */
export function decodePack(codec: ValueCodec, bytes: Buffer, readContent: ReadContent): unknown {
  return isLarge(bytes) ? decodeLarge(codec, bytes, readContent) : codec.decode(bytes)
}

async function decodeLarge(codec: ValueCodec, bytes: Buffer, readContent: ReadContent): Promise<unknown> {
  const pieces: Buffer[] = []
  const runs = runsOf(bytes)
  let place = HEAD_BYTES + runs.length * RUN_BYTES
  let content = 0
  for (const run of runs) {
    const piece = run.isOutside ? await readContent(content++, run.bytes) : bytes.subarray(place, place + run.bytes)
    if (piece === undefined) return undefined
    if (piece.length !== run.bytes) throw new Error(`a part has ${piece.length} bytes, not ${run.bytes}`)
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
