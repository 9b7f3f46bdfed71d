/** The places of entries in the tree, and values of which another namespace has the parts (`PARTS_PREFIX`). */
import type { NamespaceStats } from '../../reports.ts'
import type { Session } from '../../session/session.ts'
import { PARTS_PREFIX, RESULTS_PREFIX } from '../../task/names.ts'
import { isWellFormed, readText } from '../../values/bytes.ts'
import { parseJson } from '../../values/json.ts'
import type { Key } from '../../values/key.ts'
import { entriesOf, keysOf, type RawEntry } from '../open/entries.ts'
import { escapeKey } from '../output/escape.ts'
import type { Weight } from './tree.ts'

const PACKAGE = /^(?:@[^/]+\/)?[^/]+/
const MODULES = 'node_modules/'

/** The directory of a key that names none. */
const TOP = '.'

/** Where an entry is in its group: package or directory, and module. */
export type Place = readonly [parent: string, module: string]

/** The places of the keys of a namespace. */
export function placesOf(namespace: string): (key: Key) => Place {
  const isResult = namespace.startsWith(RESULTS_PREFIX)
  return (key) => {
    if (typeof key !== 'string') return [TOP, escapeKey(key)]
    // The key of a result is the id, NUL and a digest; an id may itself begin with NUL.
    const id = isResult ? key.slice(0, Math.max(key.lastIndexOf('\0'), 0)) : key
    return [parentOf(folderOf(key)), id]
  }
}

/** The folder of a key as the engine's `scanFolders` has it. */
export function folderOf(key: Key): string {
  if (typeof key !== 'string') return ''
  const query = key.indexOf('?')
  const path = query < 0 ? key : key.slice(0, query)
  const end = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1
  return isWellFormed(key) ? path.slice(0, end) : ''
}

/** The installed package of a folder, or else its first two directories. */
export function parentOf(folder: string): string {
  const path = folder.includes('\\') ? folder.replaceAll('\\', '/') : folder
  const start = path.lastIndexOf(MODULES)
  if (start >= 0) return PACKAGE.exec(path.slice(start + MODULES.length))?.[0] ?? MODULES
  const first = path.indexOf('/') + 1
  if (first === 0) return TOP
  return path.slice(0, path.indexOf('/', first) + 1 || first)
}

/** A part of a value: its share of the bytes, and what it cost. */
export interface Part {
  readonly group: string
  readonly parent: string
  readonly module: string
  readonly weight: Weight
}

/** The values with parts of one cache. */
export class Wholes {
  readonly #session: Session
  readonly #partsOf: ReadonlyMap<string, NamespaceStats>
  /** By namespace and key: the bytes of key and value, 0 until the value was found. */
  readonly #bytes: Map<string, Map<Key, number>> = new Map()

  constructor(session: Session, namespaces: readonly NamespaceStats[]) {
    this.#session = session
    const parts = namespaces.filter(({ name }) => name.startsWith(PARTS_PREFIX))
    this.#partsOf = new Map(parts.map((namespace) => [namespace.name.slice(PARTS_PREFIX.length), namespace]))
    for (const [name, namespace] of this.#partsOf) {
      const keys = new Map<Key, number>()
      for (const { key } of keysOf(session, [namespace])) keys.set(key, 0)
      this.#bytes.set(name, keys)
    }
  }

  /** Whether entries of a namespace have parts. */
  has(namespace: string): boolean {
    return this.#bytes.has(namespace)
  }

  /** Whether its parts take the place of an entry. Notes its bytes. */
  replaces(namespace: string, key: Key, bytes: number): boolean {
    const keys = this.#bytes.get(namespace)
    if (keys?.has(key) !== true) return false
    keys.set(key, bytes)
    return true
  }

  /** The parts of all values that were found. The first part of a value counts as its entry. */
  *parts(): Generator<Part> {
    for (const [group, namespace] of this.#partsOf) {
      const place = placesOf(group)
      for (const entry of entriesOf(this.#session, [namespace])) {
        const bytes = this.#bytes.get(group)?.get(entry.key) ?? 0
        for (const { path, weight } of bytes === 0 ? [] : weightsIn(entry, bytes)) {
          const [parent, module] = place(path)
          yield { group, parent, module, weight }
        }
      }
    }
  }
}

/** Divides the bytes by the sizes of the parts. */
function weightsIn({ key, value }: RawEntry, bytes: number): { readonly path: string; readonly weight: Weight }[] {
  const listed = listIn(value)
  const parts = listed.length > 0 ? listed : [[String(key), 1, 0] as const]
  const all = parts.reduce((sum, [, size]) => sum + size, 0)
  let [size, given] = [0, 0]
  return parts.map(([path, own, workMs], index) => {
    size += own
    const until = index === parts.length - 1 ? bytes : all === 0 ? 0 : Math.round((bytes * size) / all)
    const weight = { entries: index === 0 ? 1 : 0, bytes: until - given, workMs }
    given = until
    return { path, weight }
  })
}

function listIn(value: Uint8Array): (readonly [path: string, size: number, workMs: number])[] {
  try {
    const list = parseJson(readText(value, 0, value.length))
    return Array.isArray(list) && list.every(isPart) ? list : []
  } catch {
    return []
  }
}

function isPart(value: unknown): value is [string, number, number] {
  if (!Array.isArray(value)) return false
  const [path, ...numbers]: unknown[] = value
  return (
    typeof path === 'string' &&
    numbers.length === 2 &&
    numbers.every((each) => typeof each === 'number' && each >= 0 && Number.isFinite(each))
  )
}
