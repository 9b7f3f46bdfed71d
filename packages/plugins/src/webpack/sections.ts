/**
 * The sections of what webpack's serialiser wrote, so that those which are restored only on demand can be kept apart:
 *
 *   0xf1 | u32 bytes | u32 buffers | for each: u32 index, u32 bytes | bytes | buffers      values
 *   0xf2 | u32 parts | for each: u32 bytes, 0 for a function | parts                       something lazy
 *
 * Webpack's own affair: bytes that do not look like this to the last one are taken as they are.
 */

/** What webpack's serialiser makes of a value, with every function called. */
export type Resolved = Buffer | Resolved[]

/** Values as they are, or the content of something lazy. */
export interface Section {
  readonly isLazy: boolean
  readonly bytes: Buffer
}

const VALUES = 0xf1
const LAZY = 0xf2

/** The sections; undefined where these are none. */
export function sectionsOf(parts: readonly Resolved[]): Section[] | undefined {
  try {
    return new Reader(parts).sections()
  } catch {
    return undefined
  }
}

/** The same as one stream of webpack's serialiser. */
export function streamOf(sections: readonly Section[]): Buffer {
  return Buffer.concat(sections.flatMap(({ isLazy, bytes }) => (isLazy ? [lazyHead(bytes.length), bytes] : [bytes])))
}

function lazyHead(size: number): Buffer {
  const head = Buffer.allocUnsafe(9)
  head[0] = LAZY
  head.writeUInt32LE(1, 1)
  head.writeUInt32LE(size, 5)
  return head
}

/** Reads parts; all buffers between two functions as one. */
class Reader {
  readonly #parts: readonly Resolved[]
  #index = 0
  #position = 0

  constructor(parts: readonly Resolved[]) {
    const joined: Resolved[] = []
    let run: Buffer[] = []
    const close = (): void => {
      if (run.length > 0) joined.push(run.length === 1 && run[0] !== undefined ? run[0] : Buffer.concat(run))
      run = []
    }
    for (const part of parts) {
      if (Buffer.isBuffer(part)) {
        if (part.length > 0) run.push(part)
      } else {
        close()
        joined.push(part)
      }
    }
    close()
    this.#parts = joined
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

  #takeLazy(part: Buffer): Buffer {
    const count = part.readUInt32LE(this.#position + 1)
    const sizes = Array.from({ length: count }, (_, index) => part.readUInt32LE(this.#position + 5 + 4 * index))
    this.#take(5 + 4 * count)
    const content: Resolved[] = sizes.map((size) => (size === 0 ? [this.#takeFunction()] : this.#take(size)))
    if (content.every((one) => Buffer.isBuffer(one))) return content.length === 1 && content[0] ? content[0] : Buffer.concat(content)
    return streamOf(new Reader(content).sections())
  }

  #takeFunction(): Buffer {
    const list = this.#parts[this.#index]
    if (list === undefined || Buffer.isBuffer(list)) throw new Error('no function')
    this.#index += 1
    return list.every((one) => Buffer.isBuffer(one)) ? Buffer.concat(list) : streamOf(new Reader(list).sections())
  }

  #take(size: number): Buffer {
    const part = this.#parts[this.#index]
    if (!Buffer.isBuffer(part) || this.#position + size > part.length) throw new Error('the parts end early')
    const taken = part.subarray(this.#position, this.#position + size)
    this.#position += size
    if (this.#position === part.length) {
      this.#position = 0
      this.#index += 1
    }
    return taken
  }
}

function valuesLength(part: Buffer, at: number): number {
  const count = part.readUInt32LE(at + 5)
  let length = 9 + 8 * count + part.readUInt32LE(at + 1)
  for (let index = 0; index < count; index++) length += part.readUInt32LE(at + 13 + 8 * index)
  return length
}
