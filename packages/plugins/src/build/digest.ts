/**
 * Digests of options and configs, by which they are compared, and their parts, by which a miss is explained. The order of properties does not
 * matter. A value that cannot be compared, such as a function, is an error, unless another input covers it.
 */
import { hash } from 'node:crypto'
import { VarveError, type Cache, type Namespace } from 'varve'
import { digestOfInput, shownOf } from 'varve/internal'

/** Hexadecimal characters: 128 bits. Longer than the short values that `varve why` shows, so that it never shows a digest as a value. */
const DIGEST_LENGTH = 32

/** Limit of the nesting, deeper than any real options. It also detects cycles. */
const DEPTH_MAX = 64

/**
 * Digest of plain data, RegExp, Date, URL, Map, Set and bytes. Throws INVALID_OPTION for any other value, with its place
 * below `name`. `change` is applied to texts.
 */
export function digest(value: unknown, name: string, change: (text: string) => string = (text) => text): string {
  return digestWith({ isLenient: false, change }, value, name)
}

/** The digest of a value that another input covers: what `digest` refuses counts as its kind only. */
export function lenientDigest(value: unknown, change: (text: string) => string): string {
  return digestWith({ isLenient: true, change }, value, '')
}

export function digestOfTexts(texts: readonly string[]): string {
  return digest(texts, 'texts')
}

interface Rules {
  readonly isLenient: boolean
  readonly change: (text: string) => string
}

/** Collects the text to hash. Each part starts with its kind and length, so that different values have different texts. */
interface Target extends Rules {
  readonly parts: string[]
}

function digestWith(rules: Rules, value: unknown, name: string): string {
  const target: Target = { ...rules, parts: [] }
  write(target, value, name, 0)
  return hash('sha256', target.parts.join('')).slice(0, DIGEST_LENGTH)
}

function write(target: Target, value: unknown, name: string, depth: number): void {
  const { parts } = target
  if (depth > DEPTH_MAX) refuse(target, name, 'nested too deeply, or contains itself')
  else if (value === undefined) parts.push('undefined;')
  else if (typeof value === 'string') writeText(target, value)
  else if (value === null || typeof value === 'number' || typeof value === 'boolean') parts.push(`${value};`)
  else if (typeof value === 'bigint') parts.push(`${value}n;`)
  else if (Array.isArray(value)) writeList(target, 'list', value, name, depth)
  else if (typeof value === 'object') writeObject(target, value, name, depth)
  else refuse(target, name, typeof value)
}

function writeText({ parts, change }: Target, text: string): void {
  const changed = change(text)
  parts.push(`"${changed.length}:`, changed)
}

function writeObject(target: Target, value: object, name: string, depth: number): void {
  const { parts } = target
  if (value instanceof RegExp || value instanceof URL) parts.push(`${value.constructor.name} `, String(value), ';')
  else if (value instanceof Date) parts.push(`Date ${value.getTime()};`)
  else if (value instanceof Uint8Array) parts.push(`bytes ${hash('sha256', value)};`)
  else if (value instanceof Set) writeList(target, 'Set', [...value], name, depth)
  else if (value instanceof Map) writeList(target, 'Map', [...value], name, depth)
  else if (!isPlain(value)) refuse(target, name, `an instance of ${value.constructor?.name ?? 'a class'}`)
  else {
    const names = Object.keys(value).sort()
    parts.push(`{${names.length}:`)
    for (const key of names) {
      writeText(target, key)
      write(target, Reflect.get(value, key), `${name}.${key}`, depth + 1)
    }
  }
}

function writeList(target: Target, kind: string, items: readonly unknown[], name: string, depth: number): void {
  target.parts.push(`${kind} ${items.length}:`)
  items.forEach((item, index) => write(target, item, `${name}[${index}]`, depth + 1))
}

function refuse(target: Target, name: string, kind: string): void {
  if (!target.isLenient) {
    const advice = name.startsWith('cacheKey.')
      ? '. If the plugin has added it to its options, give it a copy: plugin({ ...options })'
      : ''
    throw new VarveError(
      'INVALID_OPTION',
      `${name} cannot be compared (${kind}); pass a name or a version instead${advice}`,
    )
  }
  target.parts.push(`${kind};`)
}

/** Whether an object is a plain `{ ... }`, not an instance of a class. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/** Whether a value is a plain object or list all of which `Object.entries` shows: no symbols, no holes, no properties of a list. */
export function isPlainData(value: object): boolean {
  // A list with holes has fewer keys, and one with properties, such as the result of a match, has more.
  if (Array.isArray(value)) return Object.keys(value).length === value.length
  return isPlain(value) && !Object.hasOwn(value, '__proto__') && Object.getOwnPropertySymbols(value).length === 0
}

// The parts of inputs that are one digest each, by name, with their digests or short values: packages, files and options.

/** Names and digests, or short values. */
export type Parts = Readonly<Record<string, string>>

/** Bytes of the names and values of one input, and parts that words name. */
const BYTES_MAX = 64 << 10
const NAMED_MAX = 2

const LEAVES_DEPTH_MAX = 6
const NAME_MAX = 100

/** How lock files that are text name a package and its version: pnpm, Yarn and Bun. */
const LOCKED = [
  /^ {2}'?\/?((?:@[^@/\s']+\/)?[^@/\s']+)@([^('":\s]+).*:$/gm,
  /^"?((?:@[^@/\s"]+\/)?[^@/\s"]+)@[^\n]*:\n {2}version:? "?([^"\n]+)"?$/gm,
  /^\s+"[^"]+": \["((?:@[^@/"]+\/)?[^@/"]+)@([^"]+)"/gm,
]

/** The first parts that have room. */
export function bounded(entries: Iterable<readonly [name: string, value: string]>): Parts {
  let room = BYTES_MAX
  const kept = new Map<string, string>()
  for (const [name, value] of entries) {
    room -= name.length + value.length
    if (room < 0) break
    kept.set(name.slice(0, NAME_MAX), value)
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
  else if (depth > LEAVES_DEPTH_MAX || typeof value === 'function' || typeof value === 'symbol')
    yield [name, typeof value]
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
