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
import { dirname, join } from 'node:path'
import { VarveError } from 'varve'
import type { BlobStore } from './stores/store.ts'
import { makeDirectory, disk } from './host.ts'

export const CHUNK_MAX: number = 8 << 20

/** Smaller chunks would be too many requests. */
const CHUNK_MIN = 65_536

/** A file of this size does not share a chunk. */
const OWN_CHUNK = 1 << 20

/** Most files of all layers that are fetched at once. */
export const FILES_MAX: number = 1_000_000

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
  /** Most bytes of a chunk, from 64 KiB to 8 MiB. */
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

/** The number of chunks, without the memory for their pieces: a length that is declared may be anything. */
function chunkCount({ files, chunkMax }: { readonly files: readonly LayerFile[]; readonly chunkMax: number }): number {
  const ownChunk = Math.min(OWN_CHUNK, chunkMax)
  let count = 0
  let sharedBytes = -1
  for (const { bytes } of files) {
    const isOwn = bytes >= ownChunk
    if (sharedBytes >= 0 && (isOwn || sharedBytes + bytes > chunkMax)) {
      count += 1
      sharedBytes = -1
    }
    if (isOwn) count += Math.ceil(bytes / chunkMax)
    else sharedBytes = Math.max(sharedBytes, 0) + bytes
  }
  return count + (sharedBytes >= 0 ? 1 : 0)
}

/** Bytes of a chunk. */
export function bytesOf(pieces: readonly { readonly bytes: number }[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** The files of a sealed layer, by path. */
export async function filesOf(directory: string): Promise<LayerFile[]> {
  const entries = await disk.promises.readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => {
      const absolute = join(entry.parentPath, entry.name)
      const path = absolute.slice(directory.length + 1).replaceAll('\\', '/')
      return { path, bytes: (await disk.promises.stat(absolute)).size }
    })
  const found = (await Promise.all(files)).filter(({ path }) => LAYER_FILE.test(path))
  return found.sort((one, other) => (one.path < other.path ? -1 : 1))
}

export async function readChunk(directory: string, pieces: readonly Piece[]): Promise<Uint8Array> {
  const chunk = new Uint8Array(bytesOf(pieces))
  let at = 0
  for (const { path, offset, bytes } of pieces) {
    const file = await disk.promises.open(join(directory, path), disk.constants.O_RDONLY)
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

/** Writes the pieces of a verified chunk. Rejects with the reason of the signal. */
export async function writeChunk(
  directory: string,
  pieces: readonly Piece[],
  chunk: Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  let start = 0
  for (let index = 0; index < pieces.length; index += WRITTEN_AT_ONCE) {
    signal.throwIfAborted()
    const parts = pieces
      .slice(index, index + WRITTEN_AT_ONCE)
      .map((piece) => ({ piece, content: chunk.subarray(start, (start += piece.bytes)) }))
    await Promise.all(parts.map(({ piece, content }) => writePiece(directory, piece, content)))
  }
}

/** Files that are written at the same time: a chunk may have hundreds of thousands. */
const WRITTEN_AT_ONCE = 64

/** Blobs verify their content when they are read; the other files are synced. */
async function writePiece(directory: string, { path, offset }: Piece, content: Uint8Array): Promise<void> {
  const target = join(directory, path)
  await makeDirectory(dirname(target), 0o700)
  const file = await disk.promises.open(target, disk.constants.O_CREAT | disk.constants.O_WRONLY, 0o600)
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

/**
 * The bytes of a description: lines, so that a reader refuses the first invalid one before it takes memory for the others.
 *
 *   varve-layer 1 <most bytes of a chunk>
 *   <bytes> <path>        for each file, by path
 *                         an empty line
 *   <sha256>              for each chunk
 */
export function encodeDescription({ files, chunks, chunkMax = CHUNK_MAX }: Description): Uint8Array {
  const lines = files.map(({ path, bytes }) => `${bytes} ${path}`)
  return new Uint8Array(Buffer.from([`${MAGIC} ${chunkMax}`, ...lines, '', ...chunks, ''].join('\n'), 'latin1'))
}

const MAGIC = 'varve-layer 1'
const HEAD_LINE = /^varve-layer 1 ([1-9]\d{4,6})$/
const FILE_LINE = /^(0|[1-9]\d{0,15}) (v1.*)$/
const CHUNK_LINE = /^[0-9a-f]{64}$/

/**
 * Reads the description of a layer of `layerBytes` that has at most `filesMax` files. Undefined if it is invalid; its digest was verified
 * before.
 */
export function decodeDescription(
  bytes: Uint8Array,
  layerBytes: number,
  filesMax: number = FILES_MAX,
): Description | undefined {
  const lines = linesOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1'))
  const chunkMax = Number(HEAD_LINE.exec(next(lines) ?? '')?.[1] ?? 0)
  if (chunkMax < CHUNK_MIN || chunkMax > CHUNK_MAX) return undefined
  const files = filesIn(lines, layerBytes, filesMax)
  if (files === undefined) return undefined
  const count = chunkCount({ files, chunkMax })
  const chunks: string[] = []
  for (let line = next(lines); line !== undefined; line = next(lines)) {
    if (chunks.length === count || !CHUNK_LINE.test(line)) return undefined
    chunks.push(line)
  }
  return chunks.length === count ? { chunkMax, files, chunks } : undefined
}

/** The files up to the empty line; undefined if one is invalid. */
function filesIn(lines: Iterator<string>, layerBytes: number, filesMax: number): LayerFile[] | undefined {
  const files: LayerFile[] = []
  let sum = 0
  for (let line = next(lines); line !== ''; line = next(lines)) {
    const [, bytes = '', path = ''] = FILE_LINE.exec(line ?? '') ?? []
    const isNext = LAYER_FILE.test(path) && (files.at(-1)?.path ?? '') < path
    sum += Number(bytes)
    if (!isNext || files.length === filesMax || sum > layerBytes) return undefined
    files.push({ path, bytes: Number(bytes) })
  }
  return sum === layerBytes ? files : undefined
}

/** The lines of a text that ends with one. */
function* linesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n', start)
    if (end === -1) return
    yield text.slice(start, end)
    start = end + 1
  }
}

function next(lines: Iterator<string>): string | undefined {
  const { done, value } = lines.next()
  return done === true ? undefined : value
}
