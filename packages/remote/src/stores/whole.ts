/**
 * A store that reads and writes whole blobs and can do nothing else. The rest is done here: a range is cut from the blob, an etag is
 * the digest of what was read, and a condition is a check before the write. So no condition is atomic, and there is no head.
 */
import { createHash } from 'node:crypto'
import {
  type BlobStore,
  checkSize,
  type Fetched,
  type GetOptions,
  type Head,
  type PutOptions,
  type PutOutcome,
  segmentsOf,
  tooLarge,
} from './store.ts'

/** What such a store can do. A blob that does not exist is `undefined`. */
export interface WholeBlobs {
  readonly label: string
  /** Largest blob in bytes. */
  readonly bytesMax: number
  read(name: string, bytesMax: number, signal: AbortSignal | undefined): Promise<Uint8Array | undefined>
  has(name: string, signal: AbortSignal | undefined): Promise<boolean>
  /** Writes or replaces a blob. */
  write(name: string, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void>
}

export class WholeStore implements BlobStore {
  readonly label: string
  readonly capabilities: BlobStore['capabilities']
  readonly #blobs: WholeBlobs

  constructor(blobs: WholeBlobs) {
    this.label = blobs.label
    this.capabilities = {
      range: false,
      createOnly: false,
      compareAndSwap: false,
      list: false,
      delete: false,
      bytesMax: blobs.bytesMax,
    }
    this.#blobs = blobs
  }

  async get(name: string, { range, ifNoneMatch, bytesMax, signal }: GetOptions = {}): Promise<Fetched | undefined> {
    const found = await this.#read(name, range === undefined ? bytesMax : undefined, signal)
    if (found === undefined) return undefined
    const etag = etagOf(found)
    if (etag === ifNoneMatch) return { bytes: new Uint8Array(), etag, unchanged: true }
    const bytes = range === undefined ? found : found.subarray(range.start, range.end)
    if (bytes.length > (bytesMax ?? bytes.length)) throw tooLarge(name, bytesMax ?? 0)
    return { bytes, etag }
  }

  async head(name: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<Head | undefined> {
    const found = await this.#read(name, undefined, signal)
    return found === undefined ? undefined : { size: found.length, etag: etagOf(found) }
  }

  async put(name: string, bytes: Uint8Array, { ifAbsent, ifMatch, signal }: PutOptions = {}): Promise<PutOutcome> {
    checkCall(name, signal)
    checkSize(this, name, bytes)
    if (ifAbsent === true && (await this.#blobs.has(name, signal))) return 'exists'
    if (ifMatch !== undefined && (await this.head(name, { signal }))?.etag !== ifMatch) return 'conflict'
    await this.#blobs.write(name, bytes, signal)
    return 'stored'
  }

  async #read(
    name: string,
    bytesMax: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    checkCall(name, signal)
    return this.#blobs.read(name, bytesMax ?? this.capabilities.bytesMax, signal)
  }
}

function checkCall(name: string, signal: AbortSignal | undefined): void {
  segmentsOf(name)
  signal?.throwIfAborted()
}

function etagOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
