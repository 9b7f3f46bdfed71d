/**
 * Hashes of the sources in a value. The minimiser and the plugins for source maps and hashes look each source up by a hash of all that it
 * is made of (`getLazyHashedEtag`). For a restored source, webpack computes that hash again, for which it restores every part of the source:
 * those of a bundle are larger than the bundle. Here the hash is stored beside the value instead, and the restored source has it from the start.
 */
import type { Compiler } from 'webpack'
import { isPlain } from './contents.ts'

/** Limit of the sources and objects of a value that are inspected. */
const LOOKS_MAX = 256

/** Sources lie this far below a value: itself, a property, or an entry of a map of assets by their names. */
const DEPTH_MAX = 2

/** Longer texts are no hashes. */
const HASH_LENGTH_MAX = 256

/** Where webpack's lazy etag of a source keeps the hash that it has computed. With a webpack that keeps it elsewhere, no hash is stored. */
const HASH = '_hash'

/** An object that webpack hashes. */
interface Source {
  updateHash(hash: object): void
}

/** The hashes of one compiler. */
export class SourceHashes {
  readonly #etagOf: (source: Source) => object
  /** The hash function, by its name. With another one, stored hashes do not hold. Undefined if it has no name. */
  readonly #hashFunction: string | undefined

  constructor(compiler: Compiler) {
    const { hashFunction } = compiler.options.output
    this.#hashFunction = typeof hashFunction === 'string' ? hashFunction : undefined
    const cache = compiler.getCache('VarveWebpackPlugin')
    this.#etagOf = (source) => cache.getLazyHashedEtag(source)
  }

  /** The hash function and the hashes that webpack has computed of the sources in a value, in their order; undefined if it has none. */
  of(value: unknown): unknown[] | undefined {
    if (this.#hashFunction === undefined) return undefined
    const hashes = sourcesIn(value).map((source): unknown => Reflect.get(this.#etagOf(source), HASH))
    return hashes.some(isHash) ? [this.#hashFunction, ...hashes] : undefined
  }

  /** Gives the sources in a restored value their hashes. */
  restore(value: unknown, stored: unknown): void {
    if (!Array.isArray(stored) || stored[0] !== this.#hashFunction) return
    const sources = sourcesIn(value)
    if (sources.length !== stored.length - 1) return
    sources.forEach((source, index) => {
      const hash: unknown = stored[index + 1]
      const etag = this.#etagOf(source)
      if (isHash(hash) && HASH in etag && Reflect.get(etag, HASH) === undefined) Reflect.set(etag, HASH, hash)
    })
  }
}

function isHash(hash: unknown): hash is string {
  return typeof hash === 'string' && hash.length <= HASH_LENGTH_MAX
}

/** The sources near the top of a value, without those inside of other sources. The order is that of the properties. */
function sourcesIn(value: unknown): Source[] {
  const sources: Source[] = []
  let looks = 0
  const look = (part: unknown, depth: number): void => {
    if (typeof part !== 'object' || part === null || ++looks > LOOKS_MAX) return
    if (isSource(part)) sources.push(part)
    else if (depth < DEPTH_MAX && isPlain(part)) for (const one of Object.values(part)) look(one, depth + 1)
  }
  look(value, 0)
  return sources
}

function isSource(part: object): part is Source {
  return (
    'updateHash' in part &&
    typeof part.updateHash === 'function' &&
    'buffer' in part &&
    typeof part.buffer === 'function'
  )
}
