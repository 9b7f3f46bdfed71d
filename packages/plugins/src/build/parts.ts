/** The parts of inputs that are one digest each, by name, with their digests or short values: packages, files and options. */
import { digestOfInput, shownOf } from 'varve/internal'
import { isPlain } from './digest.ts'
import type { Cache, Namespace } from 'varve'

/** Names and digests, or short values. */
export type Parts = Readonly<Record<string, string>>

/** Bytes of the names and values of one input, and parts that words name. */
const BYTES_MAX = 64 << 10
const NAMED_MAX = 2

const DEPTH_MAX = 6
const NAME_MAX = 100

/** How lock files that are text name a package and its version: pnpm, Yarn and Bun. */
const LOCKED = [
  /^ {2}'?\/?((?:@[^@/\s']+\/)?[^@/\s']+)@([^('":\s]+).*:$/gm,
  /^"?((?:@[^@/\s"]+\/)?[^@/\s"]+)@[^\n]*:\n {2}version:? "?([^"\n]+)"?$/gm,
  /^\s+"[^"]+": \["((?:@[^@/"]+\/)?[^@/"]+)@([^"]+)"/gm,
]

/** The first parts that have room. */
export function bounded(entries: Iterable<readonly [name: string, digest: string]>): Parts {
  let room = BYTES_MAX
  const kept = new Map<string, string>()
  for (const [name, digest] of entries) {
    room -= name.length + digest.length
    if (room < 0) break
    kept.set(name.slice(0, NAME_MAX), digest)
  }
  return Object.fromEntries(kept)
}

/** A version as a short value. */
export function versionPart(version: string): string {
  return `=${JSON.stringify(version.slice(0, 40))}`
}

/** The packages in a lock file, with their versions. */
export function packageParts(lock: string): Parts {
  const versions = new Map<string, string[]>()
  for (const [name, version] of lockedIn(lock)) {
    const known = versions.get(name) ?? []
    if (!known.includes(version)) versions.set(name, [...known, version].sort())
  }
  return bounded(Array.from(versions, ([name, all]) => [name, versionPart(all.join(' and '))] as const))
}

function* lockedIn(lock: string): Generator<readonly [name: string, version: string]> {
  if (!lock.trimStart().startsWith('{') || !lock.includes('"lockfileVersion": ') || lock.includes('"workspaces": {')) {
    for (const pattern of LOCKED)
      for (const [, name = '', version = ''] of lock.matchAll(pattern)) yield [name, version]
    return
  }
  const { packages }: { packages?: unknown } = JSON.parse(lock)
  if (typeof packages !== 'object' || packages === null) return
  for (const [path, about] of Object.entries(packages)) {
    const version: unknown = typeof about === 'object' && about !== null ? Reflect.get(about, 'version') : undefined
    const name = path.split('node_modules/').at(-1) ?? ''
    if (name !== '' && typeof version === 'string') yield [name, version]
  }
}

/** The values in plain data: `define.__VERSION__`, `presets[0]`. Of anything else, its kind. `change` is applied to texts. */
export function valueParts(value: unknown, change: (text: string) => string): Parts {
  return bounded(leavesOf(value, '', change, 0))
}

function* leavesOf(
  value: unknown,
  name: string,
  change: (text: string) => string,
  depth: number,
): Generator<readonly [string, string]> {
  if (typeof value === 'string') yield [name, digestOfInput(change(value), name)]
  else if (depth > DEPTH_MAX || typeof value === 'function' || typeof value === 'symbol') yield [name, typeof value]
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* leavesOf(item, `${name}[${index}]`, change, depth + 1)
  } else if (typeof value === 'object' && value !== null) {
    if (!isPlain(value)) return yield [name, digestOfInput(String(value), name)]
    for (const [key, item] of Object.entries(value))
      yield* leavesOf(item, name === '' ? key : `${name}.${key}`, change, depth + 1)
  } else yield [name, digestOfInput(value, name)]
}

/** What differs, as a phrase; undefined if nothing does. */
function partsInWords(before: Parts, now: Parts): string | undefined {
  const names = [...new Set([...Object.keys(now), ...Object.keys(before)])].filter((name) => before[name] !== now[name])
  const words = names.slice(0, NAMED_MAX).map((name) => phraseOf(name, before[name], now[name]))
  const rest = names.length - words.length
  return names.length === 0 ? undefined : [...words, ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ')
}

function phraseOf(name: string, before: string | undefined, now: string | undefined): string {
  if (before === undefined) return `${name} appeared`
  if (now === undefined) return `${name} is gone`
  return changeOf(name, before, now)
}

/** A change of a value as a phrase. The digests may show the values. */
export function changeOf(name: string, before: string | undefined, now: string | undefined): string {
  const old = shownOf(before)
  const present = shownOf(now)
  return old === undefined || present === undefined ? `${name} changed` : `${name} ${old} -> ${present}`
}

/** Parts as read from a cache; undefined if they are none. */
function readParts(value: unknown): Parts | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const entries = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return bounded(entries)
}

// Words for inputs that are one digest each. The namespace `inputs` of a cache has the parts of each such input as the last build
// found them that stored results, by which the next one names what has changed. They are put only with results.
//
//   packages                  { "@babel/core": "=\"7.29.13\"", ... }
//   config vite client        { "define.__TIME__": "=1795257074727", ... }

const NAME = 'inputs'
const VERSION = '1'

/** Inputs that one cache explains. */
const INPUTS_MAX = 200

/** The explanations of one cache. */
export class Explanations {
  readonly #namespace: Namespace<unknown>
  /** The parts of the last build by key, once they were read. */
  readonly #before: Map<string, Parts | undefined> = new Map()
  readonly #words: Map<string, string> = new Map()
  /** Parts of the inputs of stored results that are not put yet. */
  readonly #noted: Map<string, () => Parts> = new Map()

  constructor(cache: Cache) {
    this.#namespace = cache.namespace(NAME, { version: VERSION, codec: 'json' })
  }

  /** What has changed in the input with this key; undefined if it is not known. */
  words(key: string, parts: () => Parts): string | undefined {
    const known = this.#words.get(key)
    if (known !== undefined) return known
    const before = this.#partsBefore(key)
    const words = before === undefined ? undefined : partsInWords(before, parts())
    if (words !== undefined) this.#words.set(key, words)
    return words
  }

  /** Called with the inputs of a result that is stored. */
  note(key: string, parts: () => Parts): void {
    if (this.#noted.size < INPUTS_MAX) this.#noted.set(key, parts)
  }

  /** Buffers the parts of the noted inputs. Called before a commit. A failure costs words. */
  put(): void {
    for (const [key, parts] of this.#noted) {
      try {
        const before = this.#partsBefore(key)
        const now = parts()
        if (before === undefined || partsInWords(before, now) !== undefined) this.#namespace.put(key, now)
        this.#before.set(key, now)
      } catch {
        // The commit reports a cache that cannot be written.
      }
    }
    this.#noted.clear()
  }

  /** Called when a build begins: what has changed since the build before it may differ. */
  begin(): void {
    this.#words.clear()
  }

  #partsBefore(key: string): Parts | undefined {
    if (!this.#before.has(key)) {
      try {
        this.#before.set(key, readParts(this.#namespace.get(key)))
      } catch {
        this.#before.set(key, undefined)
      }
    }
    return this.#before.get(key)
  }
}
