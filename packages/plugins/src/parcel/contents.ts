/**
 * Stores contents of any size. Small contents are one entry; large ones are pieces below the size limit of a value.
 *
 *   <key>             bytes, or { id, pieces, bytes }
 *   <key> <id> <n>    piece n of the write `id`; another write of the key has another id, so pieces never mix
 */
import { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { OpenNamespace } from '../adapters/namespace.ts'
import { isIndex, isCount, objectOf, type Shape, isText, withCheck } from '../build/pack.ts'

/** Size of a piece in bytes. Varve's own limit is 64 MiB, and a piece has to fit into memory twice. */
const PIECE_BYTES_MAX = 16 * 1024 * 1024

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** The entry of contents that are stored in pieces. */
interface Head {
  readonly id: string
  readonly pieces: number
  readonly bytes: number
}

const isHead: Shape<Head> = withCheck(
  objectOf<Head>({ id: isText, pieces: isIndex, bytes: isCount }),
  ({ pieces, bytes }) => pieces === Math.floor(bytes / PIECE_BYTES_MAX) + 1,
)

/** Puts contents as they arrive, with at most one piece in memory, and commits them. Resolves to false if that failed. */
export async function putContents(space: OpenNamespace, key: string, contents: Chunks): Promise<boolean> {
  const before = headOf(space, key)
  const id = randomUUID()
  let [pieces, bytes, waiting, waitingBytes]: [number, number, Uint8Array[], number] = [0, 0, [], 0]
  for await (const chunk of contents) {
    for (let start = 0; start < chunk.length;) {
      const part = chunk.subarray(start, start + PIECE_BYTES_MAX - waitingBytes)
      waiting.push(part)
      waitingBytes += part.length
      start += part.length
      if (waitingBytes < PIECE_BYTES_MAX) continue
      space.put(pieceKey(key, id, pieces++), Buffer.concat(waiting))
      await space.committed() // frees the memory of the piece; readers do not see it before its head
      bytes += waitingBytes
      ;[waiting, waitingBytes] = [[], 0]
    }
  }
  if (pieces === 0) space.put(key, Buffer.concat(waiting))
  else {
    space.put(pieceKey(key, id, pieces++), Buffer.concat(waiting))
    space.put(key, { id, pieces, bytes: bytes + waitingBytes } satisfies Head)
  }
  if (before !== undefined) deletePieces(space, key, before)
  return space.committed()
}

/** The contents piece by piece; undefined if there are none, or for a missing piece. */
export function* piecesOf(space: OpenNamespace, key: string): IterableIterator<Buffer | undefined> {
  const value = space.get(key)?.value
  if (!isHead(value)) {
    yield contentsOf(value)
    return
  }
  let left = value.bytes
  for (let number = 0; number < value.pieces; number++) {
    const piece = contentsOf(space.get(pieceKey(key, value.id, number))?.value)
    yield piece?.length === Math.min(left, PIECE_BYTES_MAX) ? piece : undefined
    left -= PIECE_BYTES_MAX
  }
}

/** All of the contents; undefined if there are none or a piece is missing. */
export function getContents(space: OpenNamespace, key: string): Buffer | undefined {
  const pieces: Buffer[] = []
  for (const piece of piecesOf(space, key)) {
    if (piece === undefined) return undefined
    pieces.push(piece)
  }
  const [first] = pieces
  return pieces.length === 1 ? first : Buffer.concat(pieces)
}

/** Removes contents and their pieces. */
export function deleteContents(space: OpenNamespace, key: string): void {
  const head = headOf(space, key)
  if (head !== undefined) deletePieces(space, key, head)
  space.delete(key)
}

const pieceKey = (key: string, id: string, index: number): string => `${key} ${id} ${index}`

function deletePieces(space: OpenNamespace, key: string, { id, pieces }: Head): void {
  for (let number = 0; number < pieces && space.has(pieceKey(key, id, number)); number++)
    space.delete(pieceKey(key, id, number))
}

function headOf(space: OpenNamespace, key: string): Head | undefined {
  const value = space.get(key)?.value
  return isHead(value) ? value : undefined
}

function contentsOf(value: unknown): Buffer | undefined {
  return Buffer.isBuffer(value) ? value : undefined
}
