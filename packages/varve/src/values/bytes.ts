/**
 * Strings and keys to bytes and back, and copies of bytes, the same in Node.js and in browsers.
 *
 * A string is its UTF-8. One with a lone surrogate has no UTF-8 and would come back changed, so it becomes the byte
 * 0xFF, which no UTF-8 holds, and its UTF-16 code units, low byte first. Every string comes back as it was.
 */
import { describe } from '../checks/options.ts'
import { VarveError } from '../errors.ts'

const NOT_UTF8 = 0xff

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const strictDecoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })

type Utf8Slice = (this: Uint8Array, start: number, end: number) => string
type IsWellFormed = (this: string) => boolean

/** Captured early, as all here is: programs replace globals. */
const allocate: typeof Buffer.allocUnsafeSlow | undefined = globalThis.Buffer?.allocUnsafeSlow
/** Node's own decoder; it works on every Uint8Array. */
const utf8Slice = method<Utf8Slice>(globalThis.Buffer?.prototype, 'utf8Slice')
/** ES2024, seven times as fast as the regular expression. */
const isWellFormedMethod = method<IsWellFormed>(String.prototype, 'isWellFormed')

/** Bytes that `text` takes at most. */
export function textBytesMax(text: string): number {
  return text.length * 3 + 1
}

/** Writes `text` to the start of `target`, which has room for `textBytesMax(text)`. Returns the bytes written. */
export function writeText(target: Uint8Array, text: string): number {
  const { written } = encoder.encodeInto(text, target)
  return written === text.length || isWellFormed(text) ? written : writeCodeUnits(target, text)
}

/** Writes `text` to the start of `target`, which has room for it. False if it is not ASCII; ignore what was written then. */
export function writeAscii(target: Uint8Array, text: string): boolean {
  const { read, written } = encoder.encodeInto(text, target)
  return written === text.length && read === text.length
}

const POOLED_BYTES_MAX = 8192
const encodePool = new Uint8Array(3 * POOLED_BYTES_MAX + 1)

/** The bytes of `text`, in memory of its own or, if short, in memory that the next call overwrites. */
export function encodeText(text: string): Uint8Array {
  if (text.length <= POOLED_BYTES_MAX) return encodePool.subarray(0, writeText(encodePool, text))
  if (isWellFormed(text)) return encoder.encode(text)
  const bytes = new Uint8Array(textBytesMax(text))
  return bytes.subarray(0, writeCodeUnits(bytes, text))
}

/** The string whose bytes are source[start, end). */
export function readText(source: Uint8Array, start: number, end: number): string {
  if (source[start] === NOT_UTF8 && start < end) return readCodeUnits(source, start + 1, end)
  if (utf8Slice !== undefined) return utf8Slice.call(source, start, end)
  return decoder.decode(source.subarray(start, end))
}

/** The string whose bytes are exactly source[start, end), undefined if they are not the bytes of a string. */
export function readExactText(source: Uint8Array, start: number, end: number): string | undefined {
  const bytes = source.subarray(start, end)
  if (bytes[0] === NOT_UTF8) {
    const text = bytes.length % 2 === 1 ? readCodeUnits(bytes, 1, bytes.length) : ''
    return text !== '' && !isWellFormed(text) ? text : undefined
  }
  try {
    return strictDecoder.decode(bytes)
  } catch {
    return undefined
  }
}

const POOL_BYTES = 65_536
const ON_HEAP_BYTES_MAX = 64

let poolBuffer: ArrayBufferLike = new ArrayBuffer(0)
let pool: Uint8Array = new Uint8Array(poolBuffer)
let poolUsed = 0

/** The memory into which engines write values that the caller keeps, from `poolStart()` on. It changes with each copy. */
export const poolOf = (): Uint8Array => pool
export const poolStart = (): number => poolUsed

/** Memory for a value of `size` bytes that does not fit into the rest of the pool: of a new pool, or of its own. */
export function roomFor(size: number): Uint8Array {
  if (size > POOLED_BYTES_MAX) return uncleared(size)
  if (poolUsed + size > pool.length) {
    pool = uncleared(POOL_BYTES)
    poolBuffer = pool.buffer
    poolUsed = 0
  }
  return new Uint8Array(poolBuffer, pool.byteOffset + poolUsed, size)
}

/** Takes what `roomFor` returned last. */
export function occupy(size: number): void {
  if (size <= POOLED_BYTES_MAX) poolUsed = (poolUsed + size + 7) & ~7 // aligned for typed arrays that the caller may lay over it
}

/** Memory with any content, to be overwritten. */
function uncleared(size: number): Uint8Array {
  if (allocate === undefined) return new Uint8Array(size)
  const { buffer, byteOffset } = allocate(size)
  return new Uint8Array(buffer, byteOffset, size)
}

/**
 * A copy of source[start, end); of what an engine wrote into the rest of the pool, that memory itself. Values that fit into
 * the rest of a pool share memory, so a small one kept for long keeps 64 KiB alive.
 */
export function copyBytes(source: Uint8Array, start: number, end: number): Uint8Array {
  const size = end - start
  if (size <= ON_HEAP_BYTES_MAX) return Uint8Array.prototype.slice.call(source, start, end)
  if (source === pool) {
    poolUsed = (end + 7) & ~7
    return new Uint8Array(poolBuffer, source.byteOffset + start, size)
  }
  const copy = roomFor(size)
  copy.set(viewOf(source, start, size))
  occupy(size)
  return copy
}

// Values come from the scratch memory of an engine, mostly from its start. Making a view costs 20 ns and asking an array
// for its buffer 20 more, so what was asked of one source is kept until another has come twice. Larger sources than any
// scratch memory would be kept alive for nothing.
const KEPT_SOURCE_BYTES_MAX = 131_072
const KEPT_VIEW_BYTES_MAX = 512
let lastSource: Uint8Array = pool
let keptSource: Uint8Array = pool
let keptBuffer: ArrayBufferLike = poolBuffer
/** By size; each has a place of its own, because programs add elements to the prototype of arrays. */
let keptViews: (Uint8Array | undefined)[] = noViews()

function noViews(): (Uint8Array | undefined)[] {
  return Array.from({ length: KEPT_VIEW_BYTES_MAX + 1 }, () => undefined)
}

/** The bytes source[start, start + size) for reading at once. */
export function viewOf(source: Uint8Array, start: number, size: number): Uint8Array {
  if (source !== keptSource) {
    if (source !== lastSource) {
      if (source.length <= KEPT_SOURCE_BYTES_MAX) lastSource = source
      return new Uint8Array(source.buffer, source.byteOffset + start, size)
    }
    keptSource = source
    keptBuffer = source.buffer
    keptViews = noViews()
  }
  if (start > 0 || size > KEPT_VIEW_BYTES_MAX) return new Uint8Array(keptBuffer, source.byteOffset + start, size)
  return (keptViews[size] ??= new Uint8Array(keptBuffer, source.byteOffset, size))
}

// A subclass may override every property, so what decides about memory comes from the getters of the language.
const typedArray: object = Object.getPrototypeOf(Uint8Array.prototype)
const kindOf = getter(typedArray, Symbol.toStringTag)
const bufferOf = getter(typedArray, 'buffer')
const offsetOf = getter(typedArray, 'byteOffset')
const lengthOf = getter(typedArray, 'length')
const OVERRIDES = ['length', 'byteLength', 'byteOffset', 'buffer', 'subarray'] as const

/** Whether `value` is a Uint8Array, also one of another realm (test runners and `node:vm` have several). A proxy of one is not. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && kindOf(value) === 'Uint8Array'
}

/** The same bytes with the length that they have, whatever a subclass or a property of `bytes` claims. */
export function plainBytes(bytes: Uint8Array): Uint8Array {
  const prototype: unknown = Object.getPrototypeOf(bytes)
  const isKnown = prototype === Uint8Array.prototype || prototype === globalThis.Buffer?.prototype
  if (isKnown && !OVERRIDES.some((name) => Object.hasOwn(bytes, name))) return bytes
  const plain: unknown = Reflect.construct(Uint8Array, [bufferOf(bytes), offsetOf(bytes), lengthOf(bytes)])
  return plain as Uint8Array
}

function getter(prototype: object, name: string | symbol): (of: object) => unknown {
  const get = Object.getOwnPropertyDescriptor(prototype, name)?.get
  return (of) => (get === undefined ? Reflect.get(of, name) : Reflect.apply(get, of, []))
}

/** Whether the memory of `bytes` is gone, as after `postMessage(bytes, [bytes.buffer])`: they look like no bytes at all. */
export function isGone(bytes: Uint8Array): boolean {
  if (lengthOf(bytes) !== 0) return false
  try {
    new Uint8Array(0).set(bytes)
    return false
  } catch {
    return true
  }
}

/** Whether `text` has no lone surrogate, that is, whether it has UTF-8. */
export function isWellFormed(text: string): boolean {
  return isWellFormedMethod === undefined ? !/\p{Surrogate}/u.test(text) : isWellFormedMethod.call(text)
}

function writeCodeUnits(target: Uint8Array, text: string): number {
  target[0] = NOT_UTF8
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    target[2 * i + 1] = unit & 0xff
    target[2 * i + 2] = unit >> 8
  }
  return 2 * text.length + 1
}

function readCodeUnits(source: Uint8Array, start: number, end: number): string {
  let text = ''
  for (let i = start; i + 1 < end; i += 2) text += String.fromCharCode((source[i] ?? 0) | ((source[i + 1] ?? 0) << 8))
  return text
}

function method<Method>(prototype: object | undefined, name: string): Method | undefined {
  const found: unknown = prototype === undefined ? undefined : Reflect.get(prototype, name)
  return typeof found === 'function' ? (found as Method) : undefined
}

// Keys: strings or bytes of up to 65,535 bytes. A string key is its UTF-8, so 'a' and the byte 0x61 are the same key.

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
