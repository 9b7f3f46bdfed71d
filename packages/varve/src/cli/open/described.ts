/** What the namespaces of a cache are about, in the words of its users: packages that write caches describe their own. */
import type { CacheReader, DescribeCache, Description, Part, ReadEntry, Subject } from '../../cli-json.ts'
import { installedPackage } from '../../host/installed.ts'
import type { NamespaceStats } from '../../reports.ts'
import type { Session } from '../../session/session.ts'
import { groupOf, RECORDS_PREFIX } from '../../host/format.ts'
import { entriesOf, keysOf, namespacesOf } from './entries.ts'

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
