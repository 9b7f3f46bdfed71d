/**
 * What stands under an identifier: what must be known before the value may be used, and which pack has it.
 *
 *   u8[8] environment | u8[8] pack | u32 bytes of the pack | u32 its values | u32 place in it | u8 1 = has an etag | etag as UTF-8
 */

import { hash } from 'node:crypto'

/** What webpack compares entries by, next to their identifier. */
export interface Etag {
  toString(): string
}

/** Ids of environments and packs: this many Latin-1 characters. */
export const ID_BYTES = 8
const NUMBERS_AT = 2 * ID_BYTES
const ETAG_AT = NUMBERS_AT + 13

/** Where a value is, and when it may be used. */
export interface Pointer {
  readonly environment: string
  readonly pack: string
  readonly packBytes: number
  /** Values in the pack, whether still used or not. */
  readonly packItems: number
  readonly place: number
  readonly etag: string | null
}

/** The id of an environment or a pack: a digest of its bytes, so that other bytes under an id are noticed. */
export function idOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'buffer').toString('latin1', 0, ID_BYTES)
}

/** Etags compare by what they say; webpack computes that when asked, and it may be a hash over a whole source. */
export function textOf(etag: Etag | null): string | null {
  return etag === null ? null : etag.toString()
}

export function encodePointer({ environment, pack, packBytes, packItems, place, etag }: Pointer): Buffer {
  const bytes = Buffer.alloc(ETAG_AT + (etag === null ? 0 : Buffer.byteLength(etag)))
  bytes.write(environment, 0, 'latin1')
  bytes.write(pack, ID_BYTES, 'latin1')
  bytes.writeUInt32LE(packBytes, NUMBERS_AT)
  bytes.writeUInt32LE(packItems, NUMBERS_AT + 4)
  bytes.writeUInt32LE(place, NUMBERS_AT + 8)
  bytes[ETAG_AT - 1] = etag === null ? 0 : 1
  if (etag !== null) bytes.write(etag, ETAG_AT)
  return bytes
}

/** The pointer; undefined where these bytes are none. */
export function decodePointer(bytes: Buffer): Pointer | undefined {
  if (bytes.length < ETAG_AT) return undefined
  return {
    environment: bytes.toString('latin1', 0, ID_BYTES),
    pack: bytes.toString('latin1', ID_BYTES, 2 * ID_BYTES),
    packBytes: bytes.readUInt32LE(NUMBERS_AT),
    packItems: bytes.readUInt32LE(NUMBERS_AT + 4),
    place: bytes.readUInt32LE(NUMBERS_AT + 8),
    etag: bytes[ETAG_AT - 1] === 0 ? null : bytes.toString('utf8', ETAG_AT),
  }
}
