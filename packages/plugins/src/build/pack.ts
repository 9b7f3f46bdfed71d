/**
 * Plain data as bytes and back: JSON, with long texts and bytes beside it, so that code is decoded by the megabyte and
 * not letter by letter.
 *
 *   count u32 | length u32 of each part | JSON | part | part | ...
 *
 * In the JSON a part is a string of NUL, `t` (text) or `b` (bytes) and the part's index; a string that itself begins with
 * NUL becomes a part, so no string is mistaken for one.
 */
import { isPlain } from './digest.ts'
import { Uncacheable } from './uncacheable.ts'

/** Texts from this length on become parts. */
const TEXT_LENGTH_MIN = 200
const MARK = '\0'

type Part = string | Uint8Array

/**
 * The bytes of plain data and Uint8Arrays; undefined properties are left out. Throws Uncacheable for anything else. All of
 * it is written at once: memory outside of V8's heap makes it collect garbage sooner.
 */
export function pack(value: unknown): Uint8Array {
  const parts: Part[] = []
  const blocks = [JSON.stringify(lift(value, parts)) ?? 'null', ...parts]
  const lengths = blocks.map((block) => (typeof block === 'string' ? Buffer.byteLength(block) : block.length))
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

/** What `pack` was given. */
export function unpack(bytes: Uint8Array): unknown {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = buffer.readUInt32LE()
  let start = 4 * (count + 1)
  const blocks = Array.from({ length: count }, (_, index) => buffer.subarray(start, (start += buffer.readUInt32LE(4 * (index + 1)))))
  const [json, ...parts] = blocks
  return JSON.parse(json?.toString() ?? 'null', (_, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith(MARK)) return value
    const part = parts[Number(value.slice(2))]
    return value[1] === 't' ? part?.toString() : part
  })
}

/** The value with its parts lifted out. */
function lift(value: unknown, parts: Part[]): unknown {
  if (value === undefined || value === null || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0)) return value
  if (typeof value === 'string') return isShort(value) ? value : `${MARK}t${parts.push(value) - 1}`
  if (value instanceof Uint8Array) return `${MARK}b${parts.push(value) - 1}`
  if (Array.isArray(value)) return value.map((item) => lift(item, parts))
  if (typeof value !== 'object' || !isPlain(value) || 'toJSON' in value) throw new Uncacheable('holds a value that is no plain data')
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, lift(item, parts)]))
}

/** Whether a text stays in the JSON: short ones, and those that UTF-8 cannot hold. */
function isShort(text: string): boolean {
  if (!text.startsWith(MARK) && text.length < TEXT_LENGTH_MIN) return true
  if (!/\p{Surrogate}/u.test(text)) return false
  if (text.startsWith(MARK)) throw new Uncacheable('holds a text that is no Unicode')
  return true
}
