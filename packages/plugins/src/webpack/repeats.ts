/**
 * Removes repeats: bytes that occurred before, in the same buffer or in one that the reader knows, become copies. webpack
 * stores one text at several stages of its transformation. These are some hundred KB apart, outside of the compression window.
 *
 *   u32 length | u32 copies | for each: u32 literals before it, u32 from, u32 length | literals
 *
 * `from` is an offset into `known` followed by the restored bytes. The source of a copy lies within one of the two, and ends
 * before the place where the copy is written.
 */

/** Shortest repeat, and the distance between the blocks whose places are indexed. */
const BLOCK = 32
const FACTOR = 0x2c1b3c6d
/** FACTOR to the power of BLOCK: the weight of a byte that leaves the window of the rolling hash. */
const FACTOR_OUT = Array.from({ length: BLOCK }).reduce((power: number) => Math.imul(power, FACTOR), 1)
const SLOT_BITS_MAX = 22
/** Bytes per call when long repeats are compared. */
const STRETCH = 512

/** Limits of the restored bytes: absolute, and as a multiple of the encoded bytes. */
const RESTORED_BYTES_MAX = 64 << 20
const RATIO_MAX = 64

const HEAD_BYTES = 8
const COPY_BYTES = 12

/**
 * Encodes the bytes of `source` from `start` on, in pieces. The reader knows the bytes before `start`. Undefined if they exceed
 * the limits of the reader.
 */
export function encodeRepeats(source: Buffer, start: number): Buffer[] | undefined {
  const copies = findCopies(source, start)
  const head = Buffer.allocUnsafe(HEAD_BYTES + copies.length * 4)
  head.writeUInt32LE(source.length - start, 0)
  head.writeUInt32LE(copies.length / 3, 4)
  const pieces: Buffer[] = [head]
  let position = start
  copies.forEach((number, index) => {
    head.writeUInt32LE(number, HEAD_BYTES + index * 4)
    if (index % 3 === 0) pieces.push(source.subarray(position, position + number))
    if (index % 3 !== 1) position += number
  })
  pieces.push(source.subarray(position))
  const encodedBytes = pieces.reduce((sum, { length }) => sum + length, 0)
  return source.length - start <= restoredMax(start + encodedBytes) ? pieces : undefined
}

/** Limit of the bytes that may be restored from this many encoded bytes. */
function restoredMax(bytes: number): number {
  return Math.min(RESTORED_BYTES_MAX, bytes * RATIO_MAX)
}

/**
 * The number of bytes that `decodeRepeats` restores. After this check it cannot fail, and sets every byte. Throws if
 * `encoded` was not written by `encodeRepeats`.
 */
export function checkRepeats(known: Buffer, encoded: Buffer): number {
  const size = encoded.readUInt32LE(0)
  const end = HEAD_BYTES + encoded.readUInt32LE(4) * COPY_BYTES
  const isSound = (holds: boolean): void => {
    if (!holds) throw new Error('the repeats of a pack are not what was written')
  }
  isSound(size <= restoredMax(known.length + encoded.length) && end <= encoded.length)
  let literals = 0
  let position = 0
  for (let at = HEAD_BYTES; at < end; at += COPY_BYTES) {
    const before = encoded.readUInt32LE(at)
    const from = encoded.readUInt32LE(at + 4)
    const length = encoded.readUInt32LE(at + 8)
    literals += before
    position += before
    isSound(from + length <= (from < known.length ? known.length : known.length + position))
    position += length
    isSound(position <= size)
  }
  isSound(position + encoded.length - end - literals === size && end + literals <= encoded.length)
  return size
}

/** The original bytes. Throws as `checkRepeats` does. */
export function decodeRepeats(known: Buffer, encoded: Buffer): Buffer {
  const target = Buffer.allocUnsafeSlow(checkRepeats(known, encoded))
  const end = HEAD_BYTES + encoded.readUInt32LE(4) * COPY_BYTES
  let literal = end
  let position = 0
  for (let at = HEAD_BYTES; at < end; at += COPY_BYTES) {
    const literals = encoded.readUInt32LE(at)
    const from = encoded.readUInt32LE(at + 4)
    const length = encoded.readUInt32LE(at + 8)
    position += encoded.copy(target, position, literal, literal + literals)
    literal += literals
    if (from < known.length) known.copy(target, position, from, from + length)
    else target.copyWithin(position, from - known.length, from - known.length + length)
    position += length
  }
  encoded.copy(target, position, literal)
  return target
}

/** Three numbers for each copy: the literals before it, its source offset and its length. */
function findCopies(source: Buffer, start: number): number[] {
  const places = new Places(source.length)
  const copies: number[] = []
  for (let at = 0; at + BLOCK <= start; at += BLOCK) places.note(hashOf(source, at), at)
  let written = start
  let position = start
  let hash = 0
  let isHashed = false
  while (position + BLOCK <= source.length) {
    if (!isHashed) hash = hashOf(source, position)
    isHashed = true
    const from = places.find(hash)
    if (position % BLOCK === 0) places.note(hash, position)
    const length = from < 0 ? 0 : lengthOf(source, from, position, from < start ? start : position)
    if (length < BLOCK) {
      hash = (Math.imul(hash, FACTOR) + (source[position + BLOCK] ?? 0) - Math.imul(source[position] ?? 0, FACTOR_OUT)) | 0
      position += 1
      continue
    }
    const room = from < start ? from : Math.min(from - start, position - from - length)
    const back = lengthBefore(source, from, position, Math.min(room, position - written))
    copies.push(position - back - written, from - back, length + back)
    position += length
    written = position
    isHashed = false
  }
  return copies
}

/** The last places of blocks, by a hash of their bytes. A block may overwrite the place of another one. */
class Places {
  readonly #slots: Int32Array
  readonly #shift: number

  constructor(bytes: number) {
    const bits = Math.min(Math.max(Math.ceil(Math.log2(bytes / BLOCK + 1)) + 1, 8), SLOT_BITS_MAX)
    this.#slots = new Int32Array(1 << bits)
    this.#shift = 32 - bits
  }

  note(hash: number, at: number): void {
    this.#slots[Math.imul(hash, 0x9e3779b1) >>> this.#shift] = at + 1
  }

  find(hash: number): number {
    return (this.#slots[Math.imul(hash, 0x9e3779b1) >>> this.#shift] ?? 0) - 1
  }
}

function hashOf(source: Buffer, at: number): number {
  let hash = 0
  for (let i = at; i < at + BLOCK; i++) hash = (Math.imul(hash, FACTOR) + (source[i] ?? 0)) | 0
  return hash
}

/** The number of equal bytes from `from` and from `position` on, up to `end`. */
function lengthOf(source: Buffer, from: number, position: number, end: number): number {
  const most = Math.min(source.length - position, end - from)
  let length = 0
  while (length < STRETCH && length < most && source[from + length] === source[position + length]) length++
  if (length < STRETCH) return length
  while (length + STRETCH <= most && isSame(source, from + length, position + length)) length += STRETCH
  while (length < most && source[from + length] === source[position + length]) length++
  return length
}

function isSame(source: Buffer, from: number, position: number): boolean {
  return source.compare(source, from, from + STRETCH, position, position + STRETCH) === 0
}

/** The number of equal bytes before `from` and before `position`, at most `most`. */
function lengthBefore(source: Buffer, from: number, position: number, most: number): number {
  let length = 0
  while (length < most && source[from - 1 - length] === source[position - 1 - length]) length++
  return length
}
