/**
 * Digests of options and configs, by which they are compared. The order of properties does not matter. A value that cannot be
 * compared, such as a function, is an error, unless another input covers it.
 */
import { hash } from 'node:crypto'
import { VarveError } from 'varve'

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
