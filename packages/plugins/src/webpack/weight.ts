/** How large a value is, as far as that can be seen before it is serialised. */

/** A value of more bytes is not stored: it would take much of the cache, which has 1 GiB if not told otherwise. */
export const VALUE_BYTES_MAX: number = 512 << 20

/** A value from this weight on has a pack of its own. */
export const HEAVY_BYTES: number = 1 << 20

/** Texts and buffers below this do not count: many of them make a value of ordinary size. */
const COUNTED_BYTES = 64 << 10

/** Objects of a value that are looked at. Sources, which have the large texts, are near its top. */
const LOOKS_MAX = 64

/** Bytes of the large texts and buffers near the top of a value. */
export function weightOf(value: unknown): number {
  const found: object[] = []
  let bytes = weigh(value, found)
  for (let next = 0; next < found.length && next < LOOKS_MAX; next++) {
    const one = found[next]
    const parts: Iterable<unknown> = one instanceof Map || one instanceof Set || Array.isArray(one) ? one.values() : Object.values(one ?? {})
    for (const part of parts) {
      bytes += weigh(part, found)
      if (found.length > LOOKS_MAX) break
    }
  }
  return bytes
}

/** The bytes of a text or buffer; another object is added to those to be looked at. */
function weigh(part: unknown, found: object[]): number {
  if (typeof part === 'string') return part.length < COUNTED_BYTES ? 0 : part.length
  if (typeof part !== 'object' || part === null) return 0
  if (ArrayBuffer.isView(part)) return part.byteLength < COUNTED_BYTES ? 0 : part.byteLength
  found.push(part)
  return 0
}
