/**
 * Describes the caches of webpack: a title for each configuration, and its modules and assets. Pointers name the pack of a value
 * (`entries.ts`), so the bytes of a pack are divided among the identifiers of its pointers: by the sizes of sources where the pack has a
 * list of them (`build-report.ts`), otherwise equally.
 *
 *   webpack default production web ../../../..      ->  webpack, production, web
 *   Compilation/modules|<varve:root>/src/a.js       ->  module src/a.js
 *   TerserWebpackPlugin|main.js|..                  ->  asset main.js
 */
import type { CacheReader, DescribeCache, Description, Part, Subject } from 'varve/cli-json'
import { withoutRoot } from '../build/root.ts'
import { asBuffer } from './value.ts'
import { decodePointer } from './entries.ts'
import { keyOf } from './read-ahead.ts'

const PREFIX = /^(task:webpack |parts:webpack packs |webpack packs |webpack )(.+)$/
const ENVIRONMENTS = 'webpack environments'

/** A generation of entries of a compiler; see `entriesOf`. */
const GENERATION = / \(\d of \d\)(?= parts$|$)/

/** A default name: that of the config, mode, target and project. */
const DEFAULT_NAME = /^(.+?) (production|development|none) (\S+)(?: (.+))?$/

/** One description for each configuration. */
export const describeWebpack: DescribeCache = (namespaces) => {
  const found = new Map<string, Partial<Record<Kind, string[]>>>()
  for (const namespace of namespaces) {
    const [, prefix = '', name = ''] = namespace === ENVIRONMENTS ? [] : (PREFIX.exec(namespace) ?? [])
    const kind = KINDS[prefix]
    if (kind === undefined) continue
    const title = titleOf(name.replace(GENERATION, ''))
    const known = found.get(title) ?? {}
    known[kind] = [...(known[kind] ?? []), namespace]
    found.set(title, known)
  }
  const environments = namespaces.filter((name) => name === ENVIRONMENTS)
  return [
    ...Array.from(found, ([title, names]) => descriptionOf(title, names)),
    ...(environments.length === 0
      ? []
      : [{ title: 'notes of webpack', namespaces: environments, isInternal: true, subjectOf: () => undefined }]),
  ]
}

type Kind = 'pointers' | 'packs' | 'lists' | 'records'

const KINDS: Readonly<Record<string, Kind>> = {
  'webpack ': 'pointers',
  'webpack packs ': 'packs',
  'parts:webpack packs ': 'lists',
  'task:webpack ': 'records',
}

type Names = Partial<Readonly<Record<Kind, readonly string[]>>>

function descriptionOf(title: string, names: Names): Description {
  const { pointers = [], packs = [], lists = [], records = [] } = names
  return {
    title,
    namespaces: [...pointers, ...packs, ...lists, ...records],
    subjectOf: (namespace, key) => {
      if (records.includes(namespace)) return key === '.' ? undefined : { kind: 'module', path: withoutRoot(key) }
      return pointers.includes(namespace) ? subjectOf(key) : undefined
    },
    parts: (read) => partsOf(names, read),
  }
}

/** A configuration in the words of its user. */
function titleOf(name: string): string {
  const [, config, mode, target = '', project = ''] = DEFAULT_NAME.exec(name) ?? []
  if (config === undefined || mode === undefined) return `webpack, ${name}`
  const place = project.replace(/^(?:\.\.(?:\/|$))+/, '')
  const parts = ['webpack', config === 'default' ? '' : config, mode, target, place]
  return parts.filter((part) => part !== '').join(', ')
}

/** What an identifier of webpack's cache is about; undefined for results of the resolver and the like. */
function subjectOf(identifier: string): Subject | undefined {
  const [kind = '', ...rest] = identifier
    .slice(identifier.startsWith('bound ') ? identifier.indexOf('\0') + 1 : 0)
    .split('|')
  if (kind === 'ResolverCachePlugin') return undefined
  if (kind === 'Compilation/assets') return { kind: 'asset', path: (rest[0] ?? '').replace(/^chunk/, 'chunk ') }
  const path = pathIn(rest)
  if (path !== undefined) return { kind: 'module', path: withoutRoot(path) }
  return { kind: 'asset', path: /^\["([^"]+)"/.exec(rest[0] ?? '')?.[1] ?? rest[0] ?? '' }
}

/** The path of a module in its identifier: type, loaders and path, and what webpack appends. */
function pathIn(parts: readonly string[]): string | undefined {
  const absolute = /^(?:\/|[A-Za-z]:[\\/]|<varve:)/
  return parts.map((part) => part.slice(part.lastIndexOf('!') + 1)).find((part) => absolute.test(part))
}

/** A pack: the bytes and number of its entries, and its share for each place. */
interface Pack {
  bytes: number
  entries: number
  list: readonly unknown[]
  readonly users: { readonly subject: Subject | undefined; readonly place: number }[]
}

function* partsOf({ pointers = [], packs = [], lists = [], records = [] }: Names, read: CacheReader): Generator<Part> {
  const byKey = new Map<string, Pack>()
  for (const { key, bytes } of packs.flatMap((name) => [...read.keys(name)])) {
    const id = key.split(' ', 1)[0] ?? ''
    const pack = byKey.get(id) ?? { bytes: 0, entries: 0, list: [], users: [] }
    pack.bytes += bytes
    pack.entries += 1
    byKey.set(id, pack)
  }
  for (const name of lists) {
    for (const { key, bytes, value } of read.entries(name)) {
      const pack = byKey.get(key)
      if (pack !== undefined) pack.list = listIn(value)
      yield { subject: undefined, entries: 1, bytes, workMs: 0 }
    }
  }
  for (const name of pointers) {
    for (const { key, bytes, value } of read.entries(name)) {
      const subject = subjectOf(key)
      const pointer = decodePointer(asBuffer(value))
      if (pointer !== undefined) byKey.get(keyOf(pointer.pack))?.users.push({ subject, place: pointer.place })
      yield { subject, entries: 1, bytes, workMs: 0 }
    }
  }
  for (const pack of byKey.values()) yield* sharesOf(pack)
  for (const name of records)
    for (const { bytes } of read.keys(name)) yield { subject: undefined, entries: 1, bytes, workMs: 0 }
}

/** Divides a pack. The first part counts as its entries. */
function* sharesOf({ bytes, entries, list, users }: Pack): Generator<Part> {
  if (users.length === 0) return yield { subject: undefined, entries, bytes, workMs: 0 }
  const weights = users.map(({ place }) => weightIn(list[place]))
  const total = weights.reduce((sum, [size]) => sum + size, 0)
  let given = 0
  let size = 0
  for (const [index, { subject }] of users.entries()) {
    const [own, workMs] = weights[index] ?? [0, 0]
    size += own
    const share = total === 0 ? (index + 1) / users.length : size / total
    const until = index === users.length - 1 ? bytes : Math.round(bytes * share)
    yield { subject, entries: index === 0 ? entries : 0, bytes: until - given, workMs }
    given = until
  }
}

/** Bytes of the source, and milliseconds, of an item of a list. */
function weightIn(item: unknown): readonly [size: number, workMs: number] {
  const [, size, workMs]: unknown[] = Array.isArray(item) ? item : []
  return [amountOf(size), amountOf(workMs)]
}

function amountOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
}

function listIn(value: Uint8Array): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(asBuffer(value).toString())
    return Array.isArray(list) ? list : []
  } catch {
    return []
  }
}
