/** `varve stats`: all caches of this project and of VARVE_DIR with a total, or the namespaces and layers of each cache in `--dir`. */
import type { Command } from 'commander'
import { join, relative } from 'node:path'
import type { CacheJson, EachReports } from '../cli-json.ts'
import { toVarveError } from '../errors.ts'
import { cachesDirectory, projectDirectory } from '../health/directory.ts'
import { readHistory } from '../history/history.ts'
import { FORMAT_FOLDER, SECRET_FOLDER } from '../host/format.ts'
import type { LayerReport, NamespaceStats } from '../reports.ts'
import { command, type CommonOptions } from './command.ts'
import { reportEach, findReadable, inspect, isCache, isFormat } from './open/folder.ts'
import { escapeText } from './output/escape.ts'
import { age, counted, grouped, size, write, writeJson } from './output/output.ts'
import { paint, table } from './output/table.ts'
import { disk } from '../host/disk.ts'

/** Places below a project that Varve chooses for caches, and so does Yarn without node_modules. */
const PROJECT_FOLDERS = ['node_modules/.cache/varve', '.yarn/.cache/varve', '.pnp/.cache/varve', '.cache/varve']

export const statsCommand: Command = command(
  'stats',
  'list the caches of this project and of VARVE_DIR, or, with --dir, sizes and namespaces of each cache there',
).action(run)

async function run(options: CommonOptions): Promise<void> {
  if (options.dir === undefined) return listCaches(options.json === true)
  await reportEach(
    'stats --dir',
    options,
    (dir) =>
      inspect(dir, async ({ session, domain }) => ({ ...(await session.run((store) => store.stats())), domain })),
    textOf,
    findReadable,
  )
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

function textOf(stats: EachReports['stats --dir']): string {
  const files = `${counted(stats.files, 'file')}, ${size(stats.bytes)}`
  const parts = `${counted(stats.tables, 'table')} ${size(stats.tableBytes)}, ${counted(stats.logs, 'log')} ${size(stats.logBytes)}`
  const head = ['namespace', 'version', 'entries', 'keys', 'values', 'on disk', 'age']
  const rows = stats.namespaces.map((namespace) => [
    escapeText(namespace.name),
    escapeText(namespace.version),
    grouped(namespace.entries),
    size(namespace.keyBytes),
    size(namespace.valueBytes),
    size(namespace.tableBytes),
    ages(namespace),
  ])
  const namespaces = rows.length === 0 ? 'no entries\n' : table(head, rows, head.slice(2))
  const domain = stats.domain === 'untrusted' ? UNTRUSTED : ''
  return `${files} (${parts}), manifest ${stats.manifest}\n${domain}${layersText(stats.layers)}${namespaces}`
}

const UNTRUSTED = 'of untrusted scopes: no trusted scope publishes it\n'

/** The ages of the newest and the oldest entry. */
function ages({ newestMs, oldestMs }: NamespaceStats): string {
  const [newest, oldest] = [age(newestMs), age(oldestMs)]
  return newest === oldest ? newest : `${newest} - ${oldest}`
}
