/**
 * Keys: strings or bytes of up to 65,535 bytes. A string key is its UTF-8, so 'a' and the byte 0x61 are the same key.
 * Only a string with a lone surrogate has no UTF-8; `bytes.ts` defines its bytes.
 */
import { isBytes, isGone, plainBytes, readExactText, textBytesMax, writeAscii, writeText } from './bytes.ts'
import { describe } from '../checks/options.ts'
import { VarveError } from '../errors.ts'

/** A key as callers give it: a string stands for its UTF-8. */
export type Key = string | Uint8Array

/** Longest key in bytes. */
const KEY_BYTES_MAX = 65_535

/** The answer of an engine for a key that it cannot write itself; `writeKey` can. */
export const UNFIT = -4

/** Most bytes that `writeKey` may touch before it finds a key too long. */
export const KEY_ROOM_BYTES: number = 2 * KEY_BYTES_MAX + 1

/**
 * Writes the key to the start of `target`, which has room for KEY_ROOM_BYTES. Returns its length in bytes.
 * Throws INVALID_ARGUMENT or KEY_TOO_LONG.
 */
export function writeKey(target: Uint8Array, key: Key): number {
  if (typeof key === 'string') {
    if (key.length > KEY_BYTES_MAX) throw tooLong(key)
    const written = writeText(target, key)
    if (written > KEY_BYTES_MAX) throw tooLong(key)
    return written
  }
  if (!isBytes(key)) throw new VarveError('INVALID_ARGUMENT', `a key is a string or a Uint8Array, not ${typeof key}`)
  if (isGone(key))
    throw new VarveError('INVALID_ARGUMENT', 'the memory of the key was transferred; use it before, or use a copy')
  const bytes = plainBytes(key)
  if (bytes.length > KEY_BYTES_MAX) throw tooLong(bytes)
  target.set(bytes)
  return bytes.length
}

/**
 * Writes keys[first], keys[first + 1], ... one after another to `target`, and where each ends to `ends`, until one is
 * full: `target` after `bytesMax` bytes, for which it has room and KEY_ROOM_BYTES more. Returns how many keys those are.
 * Throws INVALID_ARGUMENT or KEY_TOO_LONG.
 */
export function packKeys(
  target: Uint8Array,
  bytesMax: number,
  ends: Uint32Array,
  keys: readonly Key[],
  first: number,
): number {
  const countMax = Math.min(ends.length, keys.length - first)
  // Keys are ASCII as a rule: then all of them are encoded at once, and their lengths are known before.
  let text = ''
  let count = 0
  for (; count < countMax && text.length <= bytesMax; count++) {
    const key = keys[first + count]
    if (typeof key !== 'string' || key.length > KEY_BYTES_MAX) break
    text += key
    ends[count] = text.length
  }
  const isEnd = count === countMax || text.length > bytesMax
  if (isEnd && writeAscii(target, text)) return count
  let used = 0
  for (count = 0; count < countMax && used <= bytesMax; count++) {
    used += writeKey(target.subarray(used), keys[first + count] as Key)
    ends[count] = used
  }
  return count
}

/** Throws INVALID_ARGUMENT unless these are several keys. */
export function checkKeys(call: string, keys: readonly Key[]): void {
  if (!Array.isArray(keys))
    throw new VarveError('INVALID_ARGUMENT', `${call}() takes an array of keys, not ${describe(keys)}`)
}

/** The key whose bytes are source[start, end): a string if they are text, otherwise a copy of the bytes. */
export function readKey(source: Uint8Array, start: number, end: number): Key {
  return readExactText(source, start, end) ?? source.slice(start, end)
}

function tooLong(key: Key): VarveError {
  const size = typeof key === 'string' ? writeText(new Uint8Array(textBytesMax(key)), key) : key.length
  return new VarveError(
    'KEY_TOO_LONG',
    `the key has ${size} bytes, the limit is ${KEY_BYTES_MAX}; shorten it, for example by hashing its long part`,
  )
}
