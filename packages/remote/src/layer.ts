/**
 * A layer as objects of a store: its files, one after another, cut into chunks of at most 8 MiB, or less if the store takes less. Each chunk is
 * an object that is named by its digest, and the description of the layer lists files and chunks.
 *
 *   files    v1/1-1.table 20 MiB | v1/files/0a/0a12.. 9 MiB | v1/files/1b.. 4 KiB | v1/files/2c.. 3 KiB | v1/manifest-1
 *   chunks   8 MiB | 8 MiB | 4 MiB | 8 MiB | 1 MiB          | all three in one
 *
 * A file of 1 MiB or more begins a chunk and ends one, so a blob that is in several layers is stored and transferred once. Small files
 * share chunks, so their number does not decide how many requests a layer takes. How files are cut follows from their lengths and from the
 * size of the chunks: writer and reader compute it with the same function.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { VarveError } from 'varve'
import { isArray, isCount, isDigest, isObject, isText } from './json.ts'
import type { BlobStore } from './stores/store.ts'

export const CHUNK_MAX: number = 8 << 20

/** Smaller chunks would be too many requests. */
const CHUNK_MIN = 65_536

/** A file of this size does not share a chunk. */
const OWN_CHUNK = 1 << 20
const FILES_MAX = 1_000_000

/** Files of a sealed layer, in the directory of the format; nothing else is transferred. */
const LAYER_FILE = /^v1(?:-[0-9a-f]{16})?\/(?:manifest-1|1-\d{1,10}\.table|files\/[0-9a-f]{2}\/[0-9a-f]{64})$/

/** A file of a layer, relative to its directory. */
export interface LayerFile {
  readonly path: string
  readonly bytes: number
}

/** A part of a file in a chunk. */
export interface Piece {
  readonly path: string
  readonly offset: number
  readonly bytes: number
}

/** Files and chunks of a layer. */
export interface Description {
  readonly version: 1
  /** Most bytes of a chunk, from 64 KiB to 8 MiB; 8 MiB if it is missing. */
  readonly chunkMax?: number | undefined
  /** By path. */
  readonly files: readonly LayerFile[]
  /** SHA-256 of each chunk, in the order of the files. */
  readonly chunks: readonly string[]
}

/** The size of chunks for a store that takes blobs of `bytesMax`. Throws INVALID_OPTION if it takes too little. */
export function chunkMaxFor({ label, capabilities: { bytesMax } }: Pick<BlobStore, 'label' | 'capabilities'>): number {
  if (bytesMax >= CHUNK_MIN) return Math.min(CHUNK_MAX, bytesMax)
  throw new VarveError('INVALID_OPTION', `${label} takes blobs of at most ${bytesMax} bytes; layers need ${CHUNK_MIN}`)
}

/** The pieces of each chunk. */
export function cut({ files, chunkMax = CHUNK_MAX }: Pick<Description, 'files' | 'chunkMax'>): Piece[][] {
  const ownChunk = Math.min(OWN_CHUNK, chunkMax)
  const chunks: Piece[][] = []
  let shared: Piece[] = []
  let sharedBytes = 0
  const close = (): void => {
    if (shared.length > 0) chunks.push(shared)
    shared = []
    sharedBytes = 0
  }
  for (const { path, bytes } of files) {
    if (bytes >= ownChunk || sharedBytes + bytes > chunkMax) close()
    if (bytes < ownChunk) {
      shared.push({ path, offset: 0, bytes })
      sharedBytes += bytes
    } else {
      for (let offset = 0; offset < bytes; offset += chunkMax)
        chunks.push([{ path, offset, bytes: Math.min(chunkMax, bytes - offset) }])
    }
  }
  close()
  return chunks
}

/** Bytes of a chunk. */
export function bytesOf(pieces: readonly { readonly bytes: number }[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** The files of a sealed layer, by path. */
export async function filesOf(directory: string): Promise<LayerFile[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => {
      const absolute = join(entry.parentPath, entry.name)
      const path = absolute.slice(directory.length + 1).replaceAll('\\', '/')
      return { path, bytes: (await stat(absolute)).size }
    })
  const found = (await Promise.all(files)).filter(({ path }) => LAYER_FILE.test(path))
  return found.sort((one, other) => (one.path < other.path ? -1 : 1))
}

export async function readChunk(directory: string, pieces: readonly Piece[]): Promise<Uint8Array> {
  const chunk = new Uint8Array(bytesOf(pieces))
  let at = 0
  for (const { path, offset, bytes } of pieces) {
    const file = await open(join(directory, path), constants.O_RDONLY)
    try {
      const { bytesRead } = await file.read(chunk, at, bytes, offset)
      if (bytesRead !== bytes) throw new VarveError('IO', `'${path}' in '${directory}' is shorter than expected`)
    } finally {
      await file.close()
    }
    at += bytes
  }
  return chunk
}

/** Writes the pieces of a verified chunk. */
export async function writeChunk(directory: string, pieces: readonly Piece[], chunk: Uint8Array): Promise<void> {
  let start = 0
  const parts = pieces.map((piece) => ({ piece, content: chunk.subarray(start, (start += piece.bytes)) }))
  await Promise.all(parts.map(({ piece, content }) => writePiece(directory, piece, content)))
}

/** Blobs verify their content when they are read; the other files are synced. */
async function writePiece(directory: string, { path, offset }: Piece, content: Uint8Array): Promise<void> {
  const target = join(directory, path)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const file = await open(target, constants.O_CREAT | constants.O_WRONLY, 0o600)
  try {
    for (let written = 0; written < content.length;) {
      const { bytesWritten } = await file.write(content, written, content.length - written, offset + written)
      written += bytesWritten
    }
    if (!path.includes('/files/')) await file.sync()
  } finally {
    await file.close()
  }
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export function encodeDescription(description: Description): Uint8Array {
  return new Uint8Array(Buffer.from(JSON.stringify(description)))
}

/** Reads the description of a layer of `layerBytes`. Undefined if it is invalid; its digest was verified before. */
export function decodeDescription(bytes: Uint8Array, layerBytes: number): Description | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString())
    return isDescription(value, layerBytes) ? value : undefined
  } catch {
    return undefined
  }
}

function isDescription(value: unknown, layerBytes: number): value is Description {
  if (!isObject(value)) return false
  const { version, files, chunks, chunkMax = CHUNK_MAX } = value
  if (version !== 1 || !isArray(files) || files.length > FILES_MAX || !isArray(chunks) || !files.every(isFile))
    return false
  if (!isCount(chunkMax) || chunkMax < CHUNK_MIN || chunkMax > CHUNK_MAX) return false
  const isSorted = files.every(({ path }, index) => index === 0 || (files[index - 1]?.path ?? '') < path)
  return (
    isSorted &&
    bytesOf(files) === layerBytes &&
    chunks.every(isDigest) &&
    chunks.length === cut({ files, chunkMax }).length
  )
}

function isFile(value: unknown): value is LayerFile {
  return isObject(value) && isText(value['path']) && LAYER_FILE.test(value['path']) && isCount(value['bytes'])
}
