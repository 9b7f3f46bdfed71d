/** The entries of a cache: keys and values as bytes, for every codec, and what they are about in the words of users. */
import { InvalidArgumentError } from 'commander'
import type { EngineFolders, EngineKeys, EngineStore } from '../../engine/engine.ts'
import { readText, type Key, readKey } from '../../values/bytes.ts'
import type { LayerReport, NamespaceStats } from '../../reports.ts'
import { readBytes } from '../../session/lookups.ts'
import type { Session } from '../../session/session.ts'
import { VarveError } from '../../errors.ts'
import type { CacheReader, DescribeCache, Description, Part, ReadEntry, Subject } from '../../cli-json.ts'
import { installedPackage } from '../../host/installed.ts'
import { groupOf, RECORDS_PREFIX } from '../../host/format.ts'

const PAGE_BYTES = 1 << 20
/** Bytes of keys and lengths over which one page of folders has sums. */
const FOLDERS_PAGE_BYTES = 4 << 20

/** One entry. `value` is valid until the next one is read. */
export interface RawEntry {
  readonly namespace: NamespaceStats
  readonly key: Key
  readonly keyBytes: number
  readonly value: Uint8Array
}

/** The namespaces of a cache, or the one of that name. Throws INVALID_ARGUMENT if there is none. */
export async function namespacesOf(session: Session, only: string | undefined): Promise<readonly NamespaceStats[]> {
  const { namespaces } = await session.run((store) => store.stats())
  if (only === undefined) return namespaces
  const found = namespaces.filter((namespace) => namespace.name === only)
  if (found.length > 0) return found
  const known = namespaces.map((namespace) => `'${namespace.name}'`).join(', ')
  throw new VarveError(
    'INVALID_ARGUMENT',
    `there is no namespace '${only}'; the cache has ${known === '' ? 'none' : known}`,
  )
}

/** The entries of these namespaces, page by page: of all folders, or of some. */
export function* entriesOf(
  session: Session,
  namespaces: readonly NamespaceStats[],
  folders?: EngineFolders,
): Generator<RawEntry> {
  for (const namespace of namespaces) {
    for (const page of pagesOf(session, namespace, (store, number, from) =>
      store.scan(number, from, PAGE_BYTES, folders),
    )) {
      let keyStart = 0
      let valueStart = 0
      for (const [index, keyEnd] of page.keyEnds.entries()) {
        const valueEnd = page.valueEnds[index] ?? valueStart
        const key = readKey(page.keys, keyStart, keyEnd)
        yield { namespace, key, keyBytes: keyEnd - keyStart, value: page.values.subarray(valueStart, valueEnd) }
        keyStart = keyEnd
        valueStart = valueEnd
      }
    }
  }
}

/** A key, and the length of its value. */
export interface RawKey {
  readonly namespace: NamespaceStats
  readonly key: Key
  readonly keyBytes: number
  readonly valueBytes: number
}

/** The keys of these namespaces, page by page: of all folders, or of some. Reads no values. */
export function* keysOf(
  session: Session,
  namespaces: readonly NamespaceStats[],
  folders?: EngineFolders,
): Generator<RawKey> {
  for (const namespace of namespaces) {
    for (const page of pagesOf(session, namespace, (store, number, from) =>
      store.scanKeys(number, from, PAGE_BYTES, folders),
    )) {
      let start = 0
      for (const [index, end] of page.keyEnds.entries()) {
        yield {
          namespace,
          key: readKey(page.keys, start, end),
          keyBytes: end - start,
          valueBytes: page.valueBytes[index] ?? 0,
        }
        start = end
      }
    }
  }
}

/** Entries whose keys are in one folder: their number, and the bytes of keys and values. */
export interface FolderSums {
  readonly folder: string
  readonly entries: number
  readonly bytes: number
}

/** The folders of a namespace, page by page. Each page has the sums over its own entries. */
export function* foldersOf(session: Session, namespace: NamespaceStats): Generator<FolderSums> {
  for (const page of pagesOf(session, namespace, (store, number, from) =>
    store.scanFolders(number, from, FOLDERS_PAGE_BYTES),
  )) {
    let start = 0
    for (const [index, end] of page.keyEnds.entries()) {
      yield {
        folder: readText(page.keys, start, end),
        entries: page.entries[index] ?? 0,
        bytes: page.bytes[index] ?? 0,
      }
      start = end
    }
  }
}

type Scan<Page> = (store: EngineStore, number: number, from: bigint) => Page
type AnyPage = Pick<EngineKeys, 'next'>

function* pagesOf<Page extends AnyPage>(
  session: Session,
  { name, version }: NamespaceStats,
  scan: Scan<Page>,
): Generator<Page> {
  const number = session.call((store) => store.namespace(name, version))
  for (let cursor: bigint | undefined = 0n; cursor !== undefined;) {
    const from: bigint = cursor
    const page = session.call((store) => scan(store, number, from))
    yield page
    cursor = page.next
  }
}

/** The value of a key, undefined if there is none. */
export function valueOf(
  session: Session,
  { name, version }: Pick<NamespaceStats, 'name' | 'version'>,
  key: Key,
): Uint8Array | undefined {
  return session.call((store) => readBytes(session, store, store.namespace(name, version), key))
}

/** Where a key is stored: the path of a layer, or '' for the cache itself; undefined if there is no such key. The layer that answers counts a hit. */
export function placeOf(
  session: Session,
  namespace: Pick<NamespaceStats, 'name' | 'version'>,
  key: Key,
): string | undefined {
  const layers = (): readonly LayerReport[] => session.call((store) => store.status()).layers
  const before = layers()
  if (valueOf(session, namespace, key) === undefined) return undefined
  return layers().find(({ hits }, index) => hits > (before[index]?.hits ?? 0))?.path ?? ''
}

/** An option or argument that is a path. An empty one, such as a shell variable that is not set, is an error. */
export function pathOf(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('It is empty; name a file or directory.')
}

/** An option that is a count. */
export function wholeNumber(text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number
  throw new InvalidArgumentError(`'${text}' is not a whole number.`)
}

/** A key in JSON: text, or base64 if its bytes are not text. */
export function keyJson(key: Key): { readonly key: string } | { readonly keyBase64: string } {
  return typeof key === 'string' ? { key } : { keyBase64: Buffer.from(key).toString('base64') }
}

// What namespaces are about: packages that write caches describe their own.

/** The packages that describe caches, each by its entry point `describe`. */
const PACKAGES = ['@varve/plugins']

/** Characters of a namespace that a record of a build keeps. */
const RECORDED_MAX = 24

/** The namespaces of a cache with their descriptions. */
export class Described {
  readonly descriptions: readonly Description[]
  /** Namespaces without a description. */
  readonly others: readonly NamespaceStats[]
  readonly #namespaces: readonly NamespaceStats[]
  readonly #byNamespace: ReadonlyMap<string, Description>

  constructor(descriptions: readonly Description[], namespaces: readonly NamespaceStats[]) {
    this.descriptions = descriptions
    this.#namespaces = namespaces
    this.#byNamespace = new Map(descriptions.flatMap((each) => each.namespaces.map((name) => [name, each] as const)))
    this.others = namespaces.filter(({ name }) => !this.#byNamespace.has(name))
  }

  /** The description of a namespace; undefined without one. */
  of(namespace: string): Description | undefined {
    return this.#byNamespace.get(namespace)
  }

  /** The namespaces of a description, with their sizes. */
  statsOf({ namespaces }: Description): readonly NamespaceStats[] {
    return this.#namespaces.filter(({ name }) => namespaces.includes(name))
  }

  /** What an entry is about; undefined without a description, and if users need not know of it. */
  subjectOf(namespace: string, key: unknown): Subject | undefined {
    return typeof key === 'string' ? this.of(namespace)?.subjectOf(namespace, key) : undefined
  }

  /**
   * The namespaces in a record of a build, as users know them. Names may be cut: of one that may mean several descriptions, what the titles
   * of these have in common.
   */
  titlesOf(recorded: readonly string[]): string[] {
    const titles = recorded.map((name) => {
      const isMeant = (group: string): boolean => (name.length < RECORDED_MAX ? group === name : group.startsWith(name))
      const known = this.of(name)
      const stored = this.#namespaces.flatMap((one) => (isMeant(groupOf(one.name)) ? (this.of(one.name) ?? []) : []))
      const meant = known === undefined ? stored : [known]
      if (meant.length > 0) return commonTitle(meant.filter(({ isInternal }) => isInternal !== true))
      return name.startsWith(RECORDS_PREFIX) ? name.slice(RECORDS_PREFIX.length) : name
    })
    return [...new Set(titles)].filter((title) => title !== '')
  }
}

/** The parts with which all titles begin. */
function commonTitle([first, ...others]: readonly Description[]): string {
  const parts = first?.title.split(', ') ?? []
  const differs = parts.findIndex((part, index) => others.some(({ title }) => title.split(', ')[index] !== part))
  return parts.slice(0, differs === -1 ? undefined : differs).join(', ')
}

/**
 * Describes the namespaces of a cache, and `others` of which records of builds have the whole name; nothing if the package that wrote them is not
 * installed, or with `isRaw`.
 */
export async function describedIn(session: Session, isRaw = false, others: readonly string[] = []): Promise<Described> {
  const namespaces = await namespacesOf(session, undefined)
  const whole = others.filter(({ length }) => length < RECORDED_MAX)
  const names = [...new Set([...namespaces.map(({ name }) => name), ...whole])]
  const found: Description[] = []
  for (const name of isRaw || names.length === 0 ? [] : PACKAGES) {
    try {
      const { describe }: { describe: DescribeCache } = await import(installedPackage(name, undefined, 'describe'))
      found.push(...describe(names))
    } catch {
      // It is not installed, or too old to describe anything.
    }
  }
  return new Described(found, namespaces)
}

/** The parts of a description, whose sums are those of its entries. */
export function partsOf(session: Session, described: Described, description: Description): Iterable<Part> {
  const stats = described.statsOf(description)
  return description.parts?.(readerOf(session, stats)) ?? eachOf(session, stats, description)
}

function* eachOf(session: Session, stats: readonly NamespaceStats[], description: Description): Generator<Part> {
  for (const { namespace, key, keyBytes, valueBytes } of keysOf(session, stats)) {
    const subject = typeof key === 'string' ? description.subjectOf(namespace.name, key) : undefined
    yield { subject, entries: 1, bytes: keyBytes + valueBytes, workMs: 0 }
  }
}

function readerOf(session: Session, stats: readonly NamespaceStats[]): CacheReader {
  const named = (name: string): readonly NamespaceStats[] => stats.filter((one) => one.name === name)
  return {
    *keys(namespace: string): Generator<Omit<ReadEntry, 'value'>> {
      for (const { key, keyBytes, valueBytes } of keysOf(session, named(namespace)))
        yield { key: typeof key === 'string' ? key : '', bytes: keyBytes + valueBytes }
    },
    *entries(namespace: string): Generator<ReadEntry> {
      for (const { key, keyBytes, value } of entriesOf(session, named(namespace)))
        yield { key: typeof key === 'string' ? key : '', bytes: keyBytes + value.length, value }
    },
  }
}

/** The parts about one subject, added up. */
export interface SubjectSum extends Subject {
  readonly title: string
  readonly bytes: number
  readonly workMs: number
}

/** Every subject of some descriptions, sorted by path. */
export function subjectsOf(session: Session, described: Described, wanted: readonly Description[]): SubjectSum[] {
  const sums = new Map<string, { title: string; kind: string; path: string; bytes: number; workMs: number }>()
  for (const description of wanted) {
    for (const { subject, bytes, workMs } of partsOf(session, described, description)) {
      if (subject === undefined) continue
      const id = `${description.title}\0${subject.kind}\0${subject.path}`
      const sum = sums.get(id) ?? { title: description.title, ...subject, bytes: 0, workMs: 0 }
      sum.bytes += bytes
      sum.workMs += workMs
      sums.set(id, sum)
    }
  }
  const byPath = (one: SubjectSum, other: SubjectSum): number =>
    one.path < other.path ? -1 : one.path > other.path ? 1 : one.title < other.title ? -1 : 1
  return [...sums.values()].sort(byPath)
}
