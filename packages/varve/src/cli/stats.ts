/**
 * What caches have and did: `varve stats` lists all caches of this project and of VARVE_DIR with a total, or the namespaces and layers of each
 * cache in `--dir`; `varve history` lists the last builds.
 */
import type { Command } from 'commander'
import { join, relative } from 'node:path'
import type { CacheJson, EachReports, StatsContentJson } from '../cli-json.ts'
import { toVarveError } from '../errors.ts'
import { cachesDirectory, projectDirectory } from '../health/directory.ts'
import { readHistory, type BuildRecord } from '../history/history.ts'
import { REFUSED, reasonWords } from '../history/tally.ts'
import { FORMAT_FOLDER, SECRET_FOLDER, groupOf, RECORDS_PREFIX } from '../host/format.ts'
import type { LayerReport, NamespaceStats, Stats } from '../reports.ts'
import type { Session } from '../session/session.ts'
import { command, type CommonOptions } from './command.ts'
import { type Described, describedIn, partsOf, wholeNumber } from './open/entries.ts'
import { reportEach, findReadable, inspect, isCache, isFormat } from './open/folder.ts'
import { escapeText } from './output/escape.ts'
import { age, counted, grouped, size, write, writeJson } from './output/output.ts'
import { paint, table } from './output/table.ts'
import { disk } from '../host/disk.ts'
import prettyMs from 'pretty-ms'

/** Places below a project that Varve chooses for caches, and so does Yarn without node_modules. */
const PROJECT_FOLDERS = ['node_modules/.cache/varve', '.yarn/.cache/varve', '.pnp/.cache/varve', '.cache/varve']

interface StatsOptions extends CommonOptions {
  readonly raw?: boolean
}

export const statsCommand: Command = command(
  'stats',
  'list the caches of this project and of VARVE_DIR, or, with --dir, sizes and contents of each cache there',
)
  .option('--raw', 'with --dir: list namespaces with their versions, as they are stored')
  .action(runStats)

async function runStats(options: StatsOptions): Promise<void> {
  if (options.dir === undefined) return listCaches(options.json === true)
  const { raw: isRaw = false } = options
  await reportEach(
    'stats --dir',
    options,
    (dir) =>
      inspect(dir, async ({ session, domain }) => {
        const stats = await session.run((store) => store.stats())
        const contents = isRaw ? [] : contentsOf(session, stats, await describedIn(session))
        return { ...stats, domain, contents }
      }),
    isRaw ? rawTextOf : contentsText,
    findReadable,
  )
}

/** What each description and each other namespace has. */
function contentsOf(session: Session, stats: Stats, described: Described): StatsContentJson[] {
  const named = stats.namespaces.reduce((sum, { blobBytes }) => sum + blobBytes, 0)
  const blobShare = named === 0 ? 0 : Math.min(1, stats.blobBytes / named) // entries of several contents may name one blob
  const found = described.descriptions.map((description) => {
    const subjects = new Map<string, Set<string>>()
    for (const { subject } of partsOf(session, described, description)) {
      if (subject !== undefined) subjects.set(subject.kind, (subjects.get(subject.kind) ?? new Set()).add(subject.path))
    }
    const counts = Object.fromEntries(Array.from(subjects, ([kind, paths]) => [kind, paths.size]))
    return contentOf(description.title, counts, described.statsOf(description), blobShare)
  })
  const others = described.others.map((namespace) => contentOf(titleOf(namespace), {}, [namespace], blobShare))
  return [...found, ...merged(others)].sort((one, other) => other.bytes - one.bytes)
}

/** Adds up contents of one title: the three namespaces of a task. */
function merged(contents: readonly StatsContentJson[]): StatsContentJson[] {
  const byTitle = new Map<string, StatsContentJson>()
  for (const one of contents) {
    const known = byTitle.get(one.title)
    byTitle.set(one.title, known === undefined ? one : added(known, one))
  }
  return [...byTitle.values()]
}

function added(one: StatsContentJson, other: StatsContentJson): StatsContentJson {
  const times = [one.oldestMs, other.oldestMs].filter((timeMs) => timeMs > 0)
  return {
    ...one,
    entries: one.entries + other.entries,
    bytes: one.bytes + other.bytes,
    diskBytes: one.diskBytes + other.diskBytes,
    oldestMs: times.length === 0 ? 0 : Math.min(...times),
    newestMs: Math.max(one.newestMs, other.newestMs),
  }
}

function titleOf({ name }: NamespaceStats): string {
  const group = groupOf(name)
  return group.startsWith(RECORDS_PREFIX) ? `task ${group.slice(RECORDS_PREFIX.length)}` : group
}

function contentOf(
  title: string,
  subjects: Readonly<Record<string, number>>,
  namespaces: readonly NamespaceStats[],
  blobShare: number,
): StatsContentJson {
  const all = namespaces.map(({ entries, keyBytes, valueBytes, tableBytes, blobBytes, oldestMs, newestMs }) => {
    const sizes = { bytes: keyBytes + valueBytes, diskBytes: tableBytes + Math.floor(blobBytes * blobShare) }
    return { title, subjects, entries, ...sizes, oldestMs, newestMs }
  })
  return all.reduce(added, { title, subjects, entries: 0, bytes: 0, diskBytes: 0, oldestMs: 0, newestMs: 0 })
}

async function listCaches(json: boolean): Promise<void> {
  const places = placesOf()
  const caches: CacheJson[] = []
  for (const cache of [...new Set(places.flatMap(cachesIn))].sort()) caches.push(await lookAt(cache))
  const entries = sumOf(caches, 'entries')
  const bytes = sumOf(caches, 'bytes')
  if (json) return writeJson('stats', { places, caches, entries, bytes })
  if (caches.length === 0)
    return write(`no caches in ${places.map((place) => `'${escapeText(place)}'`).join(' or ')}\n`)
  await write(tableOf(caches))
  await write(
    paint('bold', `${counted(caches.length, 'cache')}, ${counted(entries, 'entry', 'entries')}, ${size(bytes)}\n`),
  )
}

/** Directories of caches: the one that tools without option `dir` use now, and those that they use without VARVE_DIR. */
function placesOf(): string[] {
  const project = projectDirectory()
  const others = PROJECT_FOLDERS.map((folder) => join(project, folder)).filter((place) => namesIn(place).length > 0)
  return [...new Set([cachesDirectory(), ...others])]
}

/** Caches of any secret: the directory itself, or those in it. */
function cachesIn(folder: string): string[] {
  return [folder, ...namesIn(folder).map((name) => join(folder, name))].filter(hasFormat)
}

function hasFormat(dir: string): boolean {
  const folders = namesIn(dir).filter((name) => name === FORMAT_FOLDER || SECRET_FOLDER.test(name))
  return folders.some((name) => isFormat(join(dir, name)))
}

/** Never throws: what cannot be opened is listed with the reason. */
async function lookAt(dir: string): Promise<CacheJson> {
  const nothing = { dir, tools: [], namespaces: [], entries: 0, bytes: 0, usedMs: usedMsOf(dir) }
  try {
    if (!isCache(dir)) return { ...nothing, problem: 'it was written with another VARVE_SECRET, or without one' }
    return await inspect(dir, async ({ session }) => {
      const { bytes, namespaces } = await session.run((store) => store.stats())
      const tools = [...new Set(session.call(readHistory).map(({ name }) => name))]
      const names = namespaces.map(({ name }) => name)
      const entries = sumOf(namespaces, 'entries')
      return { ...nothing, tools, namespaces: names, entries, bytes, problem: null }
    })
  } catch (error) {
    return { ...nothing, problem: toVarveError(error).message }
  }
}

/** When a build last wrote to the cache, or recorded what it read: the newest change of a file; 0 if that is unknown. */
function usedMsOf(dir: string): number {
  const folders = namesIn(dir)
    .filter((name) => name === FORMAT_FOLDER || SECRET_FOLDER.test(name))
    .map((name) => join(dir, name))
  const used = folders
    .flatMap((folder) => [folder, join(folder, 'used')])
    .flatMap((folder) => namesIn(folder).map((name) => join(folder, name)))
  return Math.floor(
    Math.max(0, ...[...folders, ...used].map((path) => disk.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)),
  )
}

function tableOf(caches: readonly CacheJson[]): string {
  const rows = caches.map(({ dir, tools, namespaces, entries, bytes, usedMs, problem }) => [
    escapeText(shown(dir)),
    problem === null ? escapeText((tools.length > 0 ? tools : namespaces).join(', ')) : escapeText(problem),
    grouped(entries),
    size(bytes),
    age(usedMs),
  ])
  return table(['cache', 'tools or namespaces', 'entries', 'size', 'last used'], rows, ['entries', 'size', 'last used'])
}

/** The path as a reader in this directory would write it. */
function shown(dir: string): string {
  const path = relative(process.cwd(), dir)
  return path === '' || path.startsWith('..') ? dir : path
}

function sumOf<Name extends string>(items: readonly Readonly<Record<Name, number>>[], name: Name): number {
  return items.reduce((sum, item) => sum + item[name], 0)
}

/** Names in a directory; none if it cannot be read. */
function namesIn(folder: string): string[] {
  try {
    return disk.readdirSync(folder)
  } catch {
    return []
  }
}

/** A line for each layer. */
function layersText(layers: readonly LayerReport[]): string {
  const lines = layers.map(({ path, problem, id, entries, deletes, bytes }) => {
    const what =
      problem ?? `${id}, ${counted(entries, 'entry', 'entries')}, ${counted(deletes, 'delete')}, ${size(bytes)}`
    return `layer ${escapeText(path)}: ${what}\n`
  })
  return lines.join('')
}

type DirectoryStats = EachReports['stats --dir']

function headOf(stats: DirectoryStats, details: string): string {
  const domain = stats.domain === 'untrusted' ? UNTRUSTED : ''
  return `${counted(stats.files, 'file')}, ${size(stats.bytes)}${details}\n${domain}${layersText(stats.layers)}`
}

/** Every byte is in a row: that of a content, or one of the last two. */
function contentsText(stats: DirectoryStats): string {
  const { contents, bytes, logBytes } = stats
  const head = ['content', 'of', 'entries', 'uncompressed', 'on disk', 'age']
  const rows = contents.map(({ title, subjects, entries, bytes: raw, diskBytes, ...times }) => {
    const of = Object.entries(subjects)
      .sort(([kind, count], [otherKind, other]) => other - count || (kind < otherKind ? 1 : -1))
      .map(([kind, count]) => counted(count, kind))
    return [
      escapeText(title),
      escapeText(of.join(', ')) || '-',
      grouped(entries),
      size(raw),
      size(diskBytes),
      ages(times),
    ]
  })
  const listed = contents.reduce((sum, { diskBytes }) => sum + diskBytes, logBytes)
  const rest = [
    ['newest commits, in logs', logBytes],
    ['manifests, usage, and files to be freed', bytes - listed],
  ] as const
  for (const [what, restBytes] of rest) if (restBytes > 0) rows.push([what, '-', '-', '-', size(restBytes), '-'])
  return `${headOf(stats, '')}${contents.length === 0 ? 'no entries\n' : table(head, rows, head.slice(2))}`
}

function rawTextOf(stats: DirectoryStats): string {
  const tables = `${counted(stats.tables, 'table')} ${size(stats.tableBytes)}, ${counted(stats.logs, 'log')} ${size(stats.logBytes)}`
  const head = ['namespace', 'version', 'entries', 'keys', 'values', 'on disk', 'age']
  const rows = stats.namespaces.map((namespace) => [
    escapeText(namespace.name),
    escapeText(namespace.version),
    grouped(namespace.entries),
    size(namespace.keyBytes),
    size(namespace.valueBytes),
    size(namespace.tableBytes + namespace.blobBytes),
    ages(namespace),
  ])
  const details = ` (${tables}, ${counted(stats.blobs, 'blob')} ${size(stats.blobBytes)}), manifest ${stats.manifest}`
  return `${headOf(stats, details)}${rows.length === 0 ? 'no entries\n' : table(head, rows, head.slice(2))}`
}

const UNTRUSTED = 'of untrusted scopes: no trusted scope publishes it\n'

/** The ages of the newest and the oldest entry. */
function ages({ newestMs, oldestMs }: Pick<NamespaceStats, 'newestMs' | 'oldestMs'>): string {
  const newest = age(newestMs)
  const oldest = age(oldestMs)
  return newest === oldest ? newest : `${newest} - ${oldest}`
}

// `varve history`: what the last builds got from the cache, and why they made the rest.

interface HistoryOptions extends CommonOptions {
  readonly limit: number
  readonly raw?: boolean
}

export const historyCommand: Command = command(
  'history',
  'list the last builds: results from the cache, their work, reasons of misses',
)
  .option('--limit <count>', 'maximum number of builds', wholeNumber, 20)
  .option('--raw', 'list namespaces as they are stored, instead of what they are about')
  .action(runHistory)

async function runHistory(options: HistoryOptions): Promise<void> {
  const described = new WeakMap<readonly BuildRecord[], Described>()
  const look = (dir: string): Promise<{ readonly builds: readonly BuildRecord[] }> =>
    inspect(dir, async ({ session }) => {
      const builds = session.call(readHistory).slice(0, options.limit)
      described.set(
        builds,
        await describedIn(
          session,
          options.raw,
          builds.flatMap(({ namespaces }) => namespaces),
        ),
      )
      return { builds }
    })
  await reportEach('history', options, look, ({ builds }) =>
    builds.length === 0 ? 'no builds recorded\n' : historyText(builds, described.get(builds)),
  )
}

function historyText(builds: readonly BuildRecord[], described: Described | undefined): string {
  const isDescribed = described !== undefined && described.descriptions.length > 0
  const head = ['tool', 'started', 'took', 'from cache', 'work', 'misses', isDescribed ? 'contents' : 'namespaces']
  const rows = builds.map((build) => [
    escapeText(build.name),
    age(build.startMs),
    time(build.durationMs),
    build.hits + build.misses === 0 ? '-' : `${grouped(build.hits)} of ${grouped(build.hits + build.misses)}`,
    build.savedMs === 0 ? '-' : time(build.savedMs),
    escapeText(reasonsOf(build.reasons)),
    escapeText(isDescribed ? described.titlesOf(build.namespaces).join(', ') || '-' : namespacesOf(build)),
  ])
  return table(head, rows, ['started', 'took', 'from cache', 'work'])
}

function reasonsOf(reasons: Readonly<Record<string, number>>): string {
  const texts = Object.entries(reasons).map(([reason, count]) =>
    reason.startsWith(REFUSED) ? reason : `${reasonWords(reason)} (${grouped(count)})`,
  )
  return texts.length === 0 ? '-' : texts.join(', ')
}

/** The namespaces that a record names, and the number of the others. */
function namespacesOf({ namespaces, namespaceCount }: BuildRecord): string {
  const others = namespaceCount - namespaces.length
  const texts = others > 0 ? [...namespaces, `${grouped(others)} more`] : namespaces
  return texts.length === 0 ? '-' : texts.join(', ')
}

function time(ms: number): string {
  return prettyMs(ms, ms < 60_000 ? {} : { secondsDecimalDigits: 0, unitCount: 2 })
}
