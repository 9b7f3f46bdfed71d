/**
 * Large buffers of a pack, stored in chunks outside of it. Each chunk is an entry of its own, which the engine stores as a
 * blob. Chunks that a killed process leaves without a pack are unused, so they are evicted first.
 */
import { setImmediate } from 'node:timers/promises'
import type { Namespace } from 'varve'
import { VALUE_BYTES_MAX } from './weight.ts'

/** Bytes of one chunk, about 10 ms of work. */
const CHUNK_BYTES = 8 << 20

/** Bytes after which chunks are committed, so that the engine works meanwhile and holds at most twice as many in memory. */
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

  /** Reads a content on another thread; undefined if part of it is missing. */
  async get(pack: string, index: number, length: number): Promise<Buffer | undefined> {
    const chunks = chunksOf(pack, index, length)
    // A damaged pack may claim any length.
    if (length > VALUE_BYTES_MAX || !chunks.every(({ key }) => this.#packs.has(key))) return undefined
    const parts = await this.#packs.getManyAsync(chunks.map(({ key }) => key))
    const found = parts
      .filter((part, chunk) => part?.length === sizeOf(chunks[chunk]))
      .filter((part) => part !== undefined)
    return found.length === chunks.length ? joined(found, length) : undefined
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
