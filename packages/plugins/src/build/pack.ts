/**
 * Entries: plain data as bytes, and the shapes that data of a cache must have. Short values are JSON; long texts and bytes are separate parts,
 * so that code is decoded in one step instead of character by character.
 *
 *   count u32 | length u32 of each part | JSON | part | part | ...
 *
 * In the JSON, a part is a string of NUL, `t` (text) or `b` (bytes) and the index of the part. A string that itself begins
 * with NUL becomes a part, so that no other string looks like one. Each part is named once, so that the unpacked value is
 * never much larger than the packed one. In a list, which JSON would fill with null, undefined is NUL and `u`.
 */
import { isUtf8 } from 'node:buffer'
import { isPlainData } from './digest.ts'
import { isAbsolute } from 'node:path'

/** Texts of at least this length become parts. */
const TEXT_LENGTH_MIN = 200
const MARK = '\0'
const UNDEFINED = `${MARK}u`
const PART = /^\0([tb])(\d{1,9})$/

/** Limit of the JSON in bytes. Its numbers and short texts take many times as much memory; long texts are parts. */
const JSON_BYTES_MAX = 4 << 20

type Part = string | Uint8Array

/**
 * The bytes of plain data and Uint8Arrays, without undefined properties. Throws Uncacheable for any other value. The bytes are
 * written to one buffer, because many buffers outside of V8's heap cause more garbage collections.
 */
export function pack(value: unknown): Uint8Array {
  const parts: Part[] = []
  const blocks = [JSON.stringify(lift(value, parts)) ?? 'null', ...parts]
  const lengths = blocks.map((block) => (typeof block === 'string' ? Buffer.byteLength(block) : block.length))
  if ((lengths[0] ?? 0) > JSON_BYTES_MAX) throw new Uncacheable('holds too many values')
  let end = 4 * (blocks.length + 1)
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, end))
  bytes.writeUInt32LE(blocks.length)
  blocks.forEach((block, index) => {
    const length = lengths[index] ?? 0
    bytes.writeUInt32LE(length, 4 * (index + 1))
    if (typeof block === 'string') bytes.write(block, end)
    else bytes.set(block, end)
    end += length
  })
  return bytes
}

/** The value that was packed. Throws if `pack` did not write these bytes. */
export function unpack(packed: Uint8Array): unknown {
  const buffer = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const count = buffer.readUInt32LE()
  let end = 4 * (count + 1)
  check(count > 0 && end <= buffer.length)
  const blocks: (Buffer | undefined)[] = []
  for (let index = 1; index <= count; index++)
    blocks.push(buffer.subarray(end, (end += buffer.readUInt32LE(4 * index))))
  check(end === buffer.length)
  const [json = Buffer.alloc(0), ...parts] = blocks
  check(json.length <= JSON_BYTES_MAX)
  const value = restore(JSON.parse(textOf(json)), parts)
  check(parts.every((part) => part === undefined))
  return value
}

/** The value with its parts in place. Takes each part out of `parts`. */
function restore(value: unknown, parts: (Buffer | undefined)[]): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? takePart(value, parts) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => (item === UNDEFINED ? undefined : restore(item, parts)))
  check(!Object.hasOwn(value, '__proto__'))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, restore(item, parts)]))
}

function takePart(name: string, parts: (Buffer | undefined)[]): string | Buffer {
  const [, kind, number] = PART.exec(name) ?? []
  const part = parts[Number(number)]
  if (part === undefined) throw new Error('a part is missing, or named twice')
  parts[Number(number)] = undefined
  return kind === 't' ? textOf(part) : part
}

function textOf(part: Buffer): string {
  check(isUtf8(part))
  return part.toString()
}

function check(holds: boolean): void {
  if (!holds) throw new Error('these bytes are not a packed value')
}

/** The value with its long texts and bytes moved to `parts`. */
function lift(value: unknown, parts: Part[]): unknown {
  if (value === undefined || value === null || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0)) return value
  if (typeof value === 'string') return isShort(value) ? value : `${MARK}t${parts.push(value) - 1}`
  if (value instanceof Uint8Array) return `${MARK}b${parts.push(value) - 1}`
  if (typeof value !== 'object' || !isPlainData(value) || 'toJSON' in value)
    throw new Uncacheable('holds a value that is not plain data')
  if (Array.isArray(value)) return value.map((item: unknown) => (item === undefined ? UNDEFINED : lift(item, parts)))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, lift(item, parts)]))
}

/** Whether a text stays in the JSON: a short one, or one with lone surrogates, which UTF-8 cannot represent. */
function isShort(text: string): boolean {
  if (!text.startsWith(MARK) && text.length < TEXT_LENGTH_MIN) return true
  if (!/\p{Surrogate}/u.test(text)) return false
  if (text.startsWith(MARK)) throw new Uncacheable('holds a text that is not valid Unicode')
  return true
}

// Shapes check a value from a cache before it is used. A cache may contain anything, so every part is checked and unknown
// parts are rejected; a value that passes is safe to hand to a tool. A result is checked with the same shape before it is
// stored, so that no stored result is rejected later.

/** Whether a value is of this shape. Values are plain data and bytes, as `unpack` makes them. */
export type Shape<T> = (value: unknown) => value is T

export const isAnything: Shape<unknown> = (value): value is unknown => {
  void value
  return true
}

export const isText: Shape<string> = (value) => typeof value === 'string'
export const isBytes: Shape<Uint8Array> = (value) => value instanceof Uint8Array
export const isFlag: Shape<boolean> = (value) => typeof value === 'boolean'

/** A count or an index: a 32-bit unsigned integer. */
export const isIndex: Shape<number> = (value): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32

/** A number of bytes. */
export const isCount: Shape<number> = (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** A text that file systems accept as a path. */
export const isPath: Shape<string> = (value): value is string => isText(value) && value !== '' && !value.includes('\0')
export const isAbsolutePath: Shape<string> = (value): value is string => isPath(value) && isAbsolute(value)

/** An object whose values may be anything. */
export const isDictionary: Shape<Readonly<Record<string, unknown>>> = (
  value,
): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isBytes(value)

/** One of these values. */
export function exactly<const Values extends readonly (string | boolean | null)[]>(
  ...values: Values
): Shape<Values[number]> {
  return (value): value is Values[number] => values.some((one) => one === value)
}

export function listOf<T>(item: Shape<T>): Shape<T[]> {
  return (value): value is T[] => Array.isArray(value) && value.every((one) => item(one))
}

/** A list of exactly these items; trailing items may be left out if their shapes accept undefined. */
export function tupleOf<T extends readonly unknown[]>(
  ...items: { readonly [Index in keyof T]: Shape<T[Index]> }
): Shape<T> {
  return (value): value is T =>
    Array.isArray(value) && value.length <= items.length && items.every((item, at) => item(value[at]))
}

/** An object with these fields and no other. */
export function objectOf<T extends object>(fields: { readonly [Name in keyof T]-?: Shape<T[Name]> }): Shape<T> {
  const shapes = new Map<string, Shape<unknown>>(Object.entries(fields))
  return (value): value is T => {
    if (!isDictionary(value)) return false
    for (const name of Object.keys(value)) if (!shapes.has(name)) return false
    for (const [name, shape] of shapes) if (!shape(Object.hasOwn(value, name) ? value[name] : undefined)) return false
    return true
  }
}

/** An object with these fields, and any others, which the tool checks or ignores. */
export function hasFields<T extends object>(fields: { readonly [Name in keyof T]-?: Shape<T[Name]> }): Shape<T> {
  const shapes = Object.entries<Shape<unknown>>(fields)
  return (value): value is T =>
    isDictionary(value) && shapes.every(([name, shape]) => shape(Object.hasOwn(value, name) ? value[name] : undefined))
}

/** A value of one of these shapes. */
export function either<T extends readonly unknown[]>(
  ...shapes: { readonly [Index in keyof T]: Shape<T[Index]> }
): Shape<T[number]> {
  return (value): value is T[number] => shapes.some((shape) => shape(value))
}

/** The value, or undefined: the field may be left out. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value): value is T | undefined => value === undefined || shape(value)
}

/** The value, undefined or null, for fields in which tools accept all three. */
export function nullable<T>(shape: Shape<T>): Shape<T | null | undefined> {
  return (value): value is T | null | undefined => value === undefined || value === null || shape(value)
}

/** A value of that shape for which `holds` is true as well. */
export function withCheck<T>(shape: Shape<T>, holds: (value: T) => boolean): Shape<T> {
  return (value): value is T => shape(value) && holds(value)
}

/** Thrown inside a task whose result cannot be stored or replayed. */
export class Uncacheable extends Error {
  /** @param reason a few words, the same for all calls of its kind, because statistics count by it */
  constructor(reason: string) {
    super(reason)
    this.name = 'Uncacheable'
  }
}
