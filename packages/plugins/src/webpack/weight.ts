/** Estimates the size of a value before it is serialised. */

/** Limit of a stored value in bytes. A larger one would take too much of the cache, which has 1 GiB by default. */
export const VALUE_BYTES_MAX: number = 512 << 20

/** A value of at least this weight in bytes gets a pack of its own. */
export const HEAVY_BYTES: number = 1 << 20

/** Smaller texts and buffers do not count: a value of ordinary size has many of them. */
const COUNTED_BYTES = 64 << 10

/** Limit of the inspected objects of a value. Sources, which have the large texts, are near its top. */
const LOOKS_MAX = 64

/** Plain objects and lists are inspected this far below the value, or below a source. The package.json of a module has many deeper ones. */
const DEPTH_MAX = 2

/** An object of a value. */
interface Found {
  readonly part: object
  readonly depth: number
}

/** Bytes of the large texts and buffers near the top of a value. */
export function weightOf(value: unknown): number {
  const found: Found[] = []
  let bytes = weigh(value, 0, found)
  for (let next = 0; next < found.length && next < LOOKS_MAX; next++) {
    const { part: one, depth } = found[next] ?? { part: {}, depth: 0 }
    const isTop = next === 0 || isSource(one)
    if (!isTop && (depth > DEPTH_MAX || !isPlain(one))) continue
    const parts: Iterable<unknown> =
      one instanceof Map || one instanceof Set || Array.isArray(one) ? one.values() : Object.values(one)
    for (const part of parts) {
      bytes += weigh(part, isTop ? 1 : depth + 1, found)
      if (found.length > LOOKS_MAX) break
    }
  }
  return bytes
}

/** The bytes of a text or buffer; adds any other object to `found`. */
function weigh(part: unknown, depth: number, found: Found[]): number {
  if (typeof part === 'string') return part.length < COUNTED_BYTES ? 0 : part.length
  if (typeof part !== 'object' || part === null) return 0
  if (ArrayBuffer.isView(part)) return part.byteLength < COUNTED_BYTES ? 0 : part.byteLength
  found.push({ part, depth })
  return 0
}

function isSource(part: object): boolean {
  return 'source' in part && typeof part.source === 'function'
}

/**
 * Whether this is a list or a plain object. A module leads to all of webpack by its generator, which is not stored: some properties
 * there have getters that warn.
 */
function isPlain(part: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(part)
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return true
  return Array.isArray(part) || part instanceof Map || part instanceof Set
}
