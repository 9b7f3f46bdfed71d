/**
 * Finds the sections in the output of webpack's serialiser, so that lazy ones, which are restored on demand, can be stored apart:
 *
 *   0xf1 | u32 bytes | u32 buffers | for each: u32 index, u32 bytes | bytes | buffers      values
 *   0xf2 | u32 parts | for each: u32 bytes, 0 for a function | parts                       a lazy part
 *
 * This layout is internal to webpack. Output that does not match it exactly is stored as it is.
 */

/** The output of webpack's serialiser for a value, with every function called. */
export type Resolved = Buffer | Resolved[]

/** Values, or the content of a lazy part, in pieces. */
export interface Section {
  readonly isLazy: boolean
  readonly bytes: readonly Buffer[]
}

const VALUES = 0xf1
const LAZY = 0xf2

/** The sections; undefined if the parts do not match the layout. */
export function sectionsOf(parts: readonly Resolved[]): Section[] | undefined {
  try {
    return new Reader(parts).sections()
  } catch {
    return undefined
  }
}

/** The sections as one stream of webpack's serialiser, in pieces. */
export function streamOf(sections: readonly Section[]): Buffer[] {
  return sections.flatMap(({ isLazy, bytes }) => (isLazy ? [lazyHead(lengthOf(bytes)), ...bytes] : bytes))
}

export function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

function lazyHead(size: number): Buffer {
  const head = Buffer.allocUnsafe(9)
  head[0] = LAZY
  head.writeUInt32LE(1, 1)
  head.writeUInt32LE(size, 5)
  return head
}

/** Reads sections from parts. Throws if they do not match the layout. */
class Reader {
  readonly #parts: readonly Resolved[]
  #index = 0
  #position = 0

  constructor(parts: readonly Resolved[]) {
    this.#parts = parts.filter((part) => part.length > 0 || !Buffer.isBuffer(part))
  }

  sections(): Section[] {
    const found: Section[] = []
    for (let part = this.#parts[this.#index]; part !== undefined; part = this.#parts[this.#index]) {
      if (!Buffer.isBuffer(part)) found.push({ isLazy: true, bytes: this.#takeFunction() })
      else if (part[this.#position] === VALUES) found.push({ isLazy: false, bytes: this.#take(valuesLength(part, this.#position)) })
      else if (part[this.#position] === LAZY) found.push({ isLazy: true, bytes: this.#takeLazy(part) })
      else throw new Error('no section')
    }
    return found
  }

  #takeLazy(part: Buffer): Buffer[] {
    const count = part.readUInt32LE(this.#position + 1)
    const sizes = Array.from({ length: count }, (_, index) => part.readUInt32LE(this.#position + 5 + 4 * index))
    this.#take(5 + 4 * count)
    if (!sizes.includes(0)) return sizes.flatMap((size) => this.#take(size))
    const content = sizes.flatMap((size): Resolved[] => (size === 0 ? [this.#takeFunction()] : this.#take(size)))
    return streamOf(new Reader(content).sections())
  }

  #takeFunction(): Buffer[] {
    const list = this.#parts[this.#index]
    if (list === undefined || Buffer.isBuffer(list)) throw new Error('no function')
    this.#index += 1
    const pieces = list.filter((one) => Buffer.isBuffer(one))
    return pieces.length === list.length ? pieces : streamOf(new Reader(list).sections())
  }

  #take(size: number): Buffer[] {
    const pieces: Buffer[] = []
    for (let left = size; left > 0; ) {
      const part = this.#parts[this.#index]
      if (!Buffer.isBuffer(part)) throw new Error('the parts end early')
      const piece = part.subarray(this.#position, this.#position + left)
      pieces.push(piece)
      left -= piece.length
      this.#position += piece.length
      if (this.#position === part.length) {
        this.#position = 0
        this.#index += 1
      }
    }
    return pieces
  }
}

function valuesLength(part: Buffer, at: number): number {
  const count = part.readUInt32LE(at + 5)
  let length = 9 + 8 * count + part.readUInt32LE(at + 1)
  for (let index = 0; index < count; index++) length += part.readUInt32LE(at + 13 + 8 * index)
  return length
}
