/**
 * What a remote needs of a store of blobs. Adapters implement it; one contract suite tests them all. `WholeStore` makes it of a service that
 * can only read and write whole blobs.
 */
import { VarveError } from 'varve'
import { MS_MAX } from '../options.ts'
import { createHash } from 'node:crypto'

/** What a store can do. Conditions that it lacks are approximated: a check, then an unconditional write. */
export interface Capabilities {
  /** `get` transfers only the bytes of `range`. */
  readonly range: boolean
  /** `put` with `ifAbsent` is atomic. */
  readonly createOnly: boolean
  /** `put` with `ifMatch` is atomic. Without it there is no head, only manifests of commits. */
  readonly compareAndSwap: boolean
  readonly list: boolean
  readonly delete: boolean
  /** Largest blob in bytes. */
  readonly bytesMax: number
}

/** Options of `get`. */
export interface GetOptions {
  /** Offsets of the first byte and of the one after the last. */
  readonly range?: { readonly start: number; readonly end: number } | undefined
  /** An `etag`: if the blob still has it, the result is `unchanged` and has no bytes. */
  readonly ifNoneMatch?: string | undefined
  /** Rejects with REMOTE_UNTRUSTED if the store sends more bytes. */
  readonly bytesMax?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Options of `put`; without a condition it replaces the blob. */
export interface PutOptions {
  /** Writes only if there is no such blob; otherwise the outcome is `'exists'`. */
  readonly ifAbsent?: boolean | undefined
  /** Writes only if the blob has this `etag`; otherwise the outcome is `'conflict'`. */
  readonly ifMatch?: string | undefined
  /** SHA-256 of the bytes in hex, if it is known. */
  readonly sha256?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export type PutOutcome = 'stored' | 'exists' | 'conflict'

/** The content of a blob. */
export interface Fetched {
  readonly bytes: Uint8Array
  readonly etag?: string | undefined
  /** The blob still has the `etag` of `ifNoneMatch`. */
  readonly unchanged?: boolean | undefined
}

/** A blob without its content. */
export interface Head {
  readonly size: number
  readonly etag?: string | undefined
}

/** A blob in a list. */
export interface Listed {
  readonly name: string
  readonly size: number
  /** Time of the last write, in milliseconds since 1970. */
  readonly modified: number
}

/**
 * A store of blobs by name. A name is a path of segments separated by `/`; each segment has any characters, and is neither
 * empty nor `.` nor `..`. A blob that does not exist is `undefined`. Calls reject with REMOTE_UNAVAILABLE if the store does not answer,
 * and with REMOTE_DENIED if it refuses the credentials.
 */
export interface BlobStore {
  /** The store in messages, without secrets. */
  readonly label: string
  readonly capabilities: Capabilities
  get(name: string, options?: GetOptions): Promise<Fetched | undefined>
  head(name: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<Head | undefined>
  put(name: string, bytes: Uint8Array, options?: PutOptions): Promise<PutOutcome>
  list?(prefix: string, options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<Listed>
  delete?(names: readonly string[], options?: { readonly signal?: AbortSignal | undefined }): Promise<void>
  /**
   * What is missing, and what to do, if the store has no place for blobs: the directory of its address does not exist, although the store
   * answers. Undefined if it exists, or the store cannot tell.
   */
  missing?(options?: { readonly signal?: AbortSignal | undefined }): Promise<string | undefined>
}

/** The first part of `missing`. */
export function doesNotExist(label: string): string {
  return `${label} does not exist. Correct VARVE_REMOTE, or create it; a build that publishes may do that`
}

/** The segments of a name. Throws INVALID_ARGUMENT if the name could leave its prefix. */
export function segmentsOf(name: string): string[] {
  const segments = name.split('/')
  // A backslash separates directories on Windows; control characters are not valid in headers and paths.
  const isSafe = segments.every(
    (segment) => !['', '.', '..'].includes(segment) && !/[\\\p{Cc}\p{Surrogate}]/u.test(segment),
  )
  if (isSafe && name.length <= NAME_MAX) return segments
  const expected = `at most ${NAME_MAX} characters in segments other than '..', for example 'team/web'`
  throw new VarveError(
    'INVALID_ARGUMENT',
    `invalid name of a blob ${JSON.stringify(name.slice(0, 120))}: expected ${expected}`,
  )
}

/** Most characters of a name; S3 allows 1,024 bytes with the prefix. */
const NAME_MAX = 512

/** The digest by which a chunk or a description of a layer is named; undefined for other blobs. */
export function digestIn(name: string): string | undefined {
  const [, digest] = /^v1\/[^/]+\/(?:chunk|layer)\/([0-9a-f]{64})$/.exec(name) ?? []
  return digest
}

/** The path of a name in a URL. */
export function encodeName(name: string): string {
  return segmentsOf(name).map(encodeSegment).join('/')
}

/** A segment as a URL and as the name of a file on every system: only letters, digits and `-_.~%`. */
export function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** A line that is slower makes a request fail. */
const BYTES_PER_SECOND_MIN = 262_144

/** Milliseconds that a request with so many bytes may take; a timer with more would end at once. */
export function budgetOf(requestMs: number, bytes: number): number {
  return Math.min(MS_MAX, Math.ceil(requestMs + (bytes * 1000) / BYTES_PER_SECOND_MIN))
}

/** Throws INVALID_ARGUMENT if a blob is larger than its store takes. */
export function checkSize({ label, capabilities: { bytesMax } }: BlobStore, name: string, bytes: Uint8Array): void {
  if (bytes.length <= bytesMax) return
  throw new VarveError(
    'INVALID_ARGUMENT',
    `cannot write '${name}' to ${label}: it has ${bytes.length} bytes, and the store takes ${bytesMax}`,
  )
}

/** The error for a blob that is larger than it may be. */
export function tooLarge(name: string, bytesMax: number): VarveError {
  return new VarveError('REMOTE_UNTRUSTED', `'${name}' of the remote has more than the expected ${bytesMax} bytes`)
}

// A store that reads and writes whole blobs and can do nothing else. The rest is done here: a range is cut from the blob, an etag is
// the digest of what was read, and a condition is a check before the write. So no condition is atomic, and there is no head.

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
