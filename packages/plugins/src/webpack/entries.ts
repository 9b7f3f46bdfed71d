/**
 * Entries of a namespace by identifiers. webpack's identifiers contain absolute paths; keys have them relative to the root, so
 * that another checkout finds the same entries. The key of an entry that is bound to one checkout has the root of that checkout.
 *
 *   Compilation/modules|<varve:root>/src/a.js                            for every checkout
 *   bound /home/me/app\0Compilation/modules|<varve:root>/src/a.js        for this checkout
 *
 * The entry of an identifier: the environment and etag, which must match before the value may be used, and its place in a pack.
 *
 *   u8[8] environment | u8[8] pack | u32 bytes of the pack | u32 its values | u32 place in it | u8 1 = has an etag | etag as UTF-8
 *
 * The pack of a value that cannot be stored has no values: the entry only says so.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Namespace } from 'varve'
import type { Root } from '../build/root.ts'
import { asBuffer } from './value.ts'

const BOUND = 'bound '

/** The entries of a namespace that one checkout sees. An identifier has one entry. */
export class Entries {
  readonly #namespace: Namespace<Uint8Array>
  readonly #root: Root
  readonly #own: string

  constructor(namespace: Namespace<Uint8Array>, root: Root) {
    this.#namespace = namespace
    this.#root = root
    this.#own = `${BOUND}${root.folder}\0`
  }

  get(identifier: string): Buffer | undefined {
    const key = this.#root.toRelative(identifier)
    const bytes = this.#namespace.get(key) ?? this.#namespace.get(this.#own + key)
    return bytes === undefined ? undefined : asBuffer(bytes)
  }

  /** Puts an entry and returns the one that it replaces. With `isBound`, only this checkout finds it. */
  put(identifier: string, bytes: Uint8Array, isBound: boolean): Buffer | undefined {
    const key = this.#root.toRelative(identifier)
    const [wanted, other] = isBound ? [this.#own + key, key] : [key, this.#own + key]
    const elsewhere = this.#namespace.get(other)
    const replaced = elsewhere ?? this.#namespace.get(wanted)
    if (elsewhere !== undefined) this.#namespace.delete(other)
    this.#namespace.put(wanted, bytes)
    return replaced === undefined ? undefined : asBuffer(replaced)
  }

  delete(identifier: string): void {
    const key = this.#root.toRelative(identifier)
    for (const one of [key, this.#own + key]) this.#namespace.delete(one)
  }

  /** A copy of all entries. Those of other checkouts have no identifier. */
  all(): [identifier: string | undefined, bytes: Buffer][] {
    return Array.from(this.#namespace.entries(), ([key, bytes]) => [this.#identifierOf(String(key)), asBuffer(bytes)])
  }

  #identifierOf(key: string): string | undefined {
    if (key.startsWith(this.#own)) return this.#root.toAbsolute(key.slice(this.#own.length))
    return key.startsWith(BOUND) ? undefined : this.#root.toAbsolute(key)
  }
}

/** webpack's etag: an entry is valid for equal identifiers and equal etags. */
export interface Etag {
  toString(): string
}

/** Length of the id of an environment or a pack, in bytes. An id is a text of as many Latin-1 characters. */
export const ID_BYTES = 8
const NUMBERS_AT = 2 * ID_BYTES
const ETAG_AT = NUMBERS_AT + 13

/** The place of a value, and the conditions of its use. */
export interface Pointer {
  readonly environment: string
  readonly pack: string
  readonly packBytes: number
  /** Values in the pack, whether still used or not. */
  readonly packItems: number
  readonly place: number
  readonly etag: string | null
}

/**
 * The id of an environment or a pack: u32 CRC-32 of its bytes | four bytes of their SHA-256. Other bytes get another id. Reading
 * compares only the first half, because a warm build reads much and SHA-256 takes three times as long.
 */
export function idOf(bytes: Uint8Array): string {
  const id = hash('sha256', bytes, 'buffer').subarray(0, ID_BYTES)
  id.writeUInt32LE(crc32(bytes), 0)
  return id.toString('latin1')
}

/** Whether these may be the bytes of an id; other bytes pass once in 2^32 times. */
export function isOf(id: string, bytes: Uint8Array): boolean {
  return Buffer.from(id, 'latin1').readUInt32LE(0) === crc32(bytes)
}

/**
 * The text of an etag, by which etags are compared. webpack computes it on demand; it may be a hash of a whole source. Undefined if that
 * fails, as for etags of some plugins: such a value is equal to no other one.
 */
export function textOf(etag: Etag | null): string | null | undefined {
  try {
    return etag === null ? null : etag.toString()
  } catch {
    return undefined
  }
}

/** The entry of a value that cannot be stored. */
export function unstorable(environment: string, etag: string): Pointer {
  return { environment, pack: '\0'.repeat(ID_BYTES), packBytes: 0, packItems: 0, place: 0, etag }
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

/** The pointer; undefined if there are no bytes, or too few for one. */
export function decodePointer(bytes: Buffer | undefined): Pointer | undefined {
  if (bytes === undefined || bytes.length < ETAG_AT) return undefined
  return {
    environment: bytes.toString('latin1', 0, ID_BYTES),
    pack: bytes.toString('latin1', ID_BYTES, 2 * ID_BYTES),
    packBytes: bytes.readUInt32LE(NUMBERS_AT),
    packItems: bytes.readUInt32LE(NUMBERS_AT + 4),
    place: bytes.readUInt32LE(NUMBERS_AT + 8),
    etag: bytes[ETAG_AT - 1] === 0 ? null : bytes.toString('utf8', ETAG_AT),
  }
}
