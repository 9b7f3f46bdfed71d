/** The tasks of a cache as they lie on disk: a namespace of records each, with one record per id. */
import * as paths from 'node:path'
import { suggest } from '../../checks/options.ts'
import { VarveError } from '../../errors.ts'
import { projectDirectory } from '../../health/directory.ts'
import type { ChangedInput } from '../../inputs/set.ts'
import type { Disk } from '../../inputs/input.ts'
import { Root } from '../../inputs/root.ts'
import { Generations } from '../../reads/generations.ts'
import type { NamespaceStats } from '../../reports.ts'
import type { Session } from '../../session/session.ts'
import { READS_PREFIX, RECORDS_PREFIX, RESULTS_PREFIX } from '../../host/format.ts'
import { readVariants, resultKey, UNDEFINED_RESULT, type Variant } from '../../task/record.ts'
import { keyOf } from '../../task/request.ts'
import { readText } from '../../values/bytes.ts'
import { parseJson } from '../../values/json.ts'
import { entriesOf, namespacesOf, placeOf, type RawEntry, valueOf } from './entries.ts'
import { disk } from '../../host/disk.ts'

/** What begins the ids of modules in the tasks of `@varve/plugins`. */
const ROOT_MARK = '<varve:root>/'
const CHECKOUT_MARK = '<varve:checkout>/'

export interface IdRecord {
  readonly task: string
  readonly id: string
  readonly variants: readonly Variant[]
}

/** The namespaces of records of all tasks, or of one. Throws INVALID_ARGUMENT if there is no such task. */
export async function tasksOf(session: Session, only: string | undefined): Promise<readonly NamespaceStats[]> {
  const tasks = (await namespacesOf(session, undefined)).filter(({ name }) => name.startsWith(RECORDS_PREFIX))
  if (only === undefined) return tasks
  const found = tasks.filter((namespace) => taskName(namespace) === only)
  if (found.length > 0) return found
  const names = tasks.map(taskName)
  const near = suggest(only, names)
  const wayOut =
    near === undefined
      ? `the cache has ${names.map((name) => `'${name}'`).join(', ') || 'none'}`
      : `did you mean '${near}'?`
  throw new VarveError('INVALID_ARGUMENT', `there is no task '${only}'; ${wayOut}`)
}

/** The name of the task whose records these are. */
function taskName({ name }: NamespaceStats): string {
  return name.slice(RECORDS_PREFIX.length)
}

export function* recordsOf(session: Session, tasks: readonly NamespaceStats[]): Generator<IdRecord> {
  for (const entry of entriesOf(session, tasks)) {
    const record = recordIn(entry)
    if (record !== undefined) yield record
  }
}

/** The record in an entry of such a namespace; undefined if it is none. */
export function recordIn({ namespace, key, value }: RawEntry): IdRecord | undefined {
  const variants = parse(value)
  return typeof key === 'string' && variants.length > 0 ? { task: taskName(namespace), id: key, variants } : undefined
}

/**
 * The keys by which tasks with this root may store an id: plugins of bundlers put a mark in place of the root, or of the checkout around it, which
 * is one of `roots`.
 */
export function keysOf(id: string, root: Root, roots: readonly Root[]): readonly string[] {
  const key = keyOf(id, root)
  const checkouts = roots.filter(({ folder }) => above(root.folder).includes(folder))
  return [key, `${ROOT_MARK}${key}`, ...checkouts.map((checkout) => `${CHECKOUT_MARK}${keyOf(id, checkout)}`)]
}

/** The record of one id; no variants if there is none. */
export function recordOf(session: Session, task: NamespaceStats, id: string): IdRecord {
  const value = valueOf(session, task, id)
  return { task: taskName(task), id, variants: value === undefined ? [] : parse(value) }
}

/** Where the results of variants are, as `placeOf` has it: undefined if eviction or damage has removed them. */
export async function resultsOf(
  session: Session,
  task: string,
): Promise<(id: string, variant: Variant) => string | undefined> {
  const results = (await namespacesOf(session, undefined)).find(({ name }) => name === `${RESULTS_PREFIX}${task}`)
  return (id, { result }) => {
    if (result === UNDEFINED_RESULT) return '' // its record is the result
    return results === undefined ? undefined : placeOf(session, results, resultKey(id, result))
  }
}

/** What differs from the reads of a generation, whichever task it belongs to; undefined of a generation that is not stored. */
export async function readChangesOf(
  session: Session,
  host: Disk,
  root: Root,
): Promise<(generation: string) => readonly ChangedInput[] | undefined> {
  const namespaces = (await namespacesOf(session, undefined)).filter(({ name }) => name.startsWith(READS_PREFIX))
  const stores = namespaces.map((namespace) => {
    const generations = new Generations(root, host)
    generations.attach({ get: (key) => jsonOf(valueOf(session, namespace, key)), put: () => undefined })
    return generations
  })
  return (generation) => {
    const store = stores.find((one) => one.verdict(generation, true) !== 'unknown')
    return store?.changes(generation)
  }
}

function jsonOf(value: Uint8Array | undefined): unknown {
  try {
    return value === undefined ? undefined : parseJson(readText(value, 0, value.length))
  } catch {
    return undefined
  }
}

function parse(value: Uint8Array): readonly Variant[] {
  try {
    return readVariants(parseJson(readText(value, 0, value.length)))
  } catch {
    return [] // as for a run: a miss
  }
}

/** Files of a record that are looked for. */
const FILES_MAX = 100

/**
 * The one that is given; otherwise that of the project, the directories above the working directory and above a file, and the packages of a
 * workspace.
 */
export function candidateRoots(given: string | undefined, file?: string): readonly Root[] {
  const project = projectDirectory()
  const near = (): string[] => [
    project,
    ...above(process.cwd()),
    ...(file === undefined ? [] : above(paths.dirname(file))),
    ...packagesOf(project),
  ]
  return [...new Set(given === undefined ? near() : [paths.resolve(given)])].map((folder) => new Root(folder, paths))
}

/** How far the packages of a workspace are below it, as in `packages/<scope>/<name>`. */
const PACKAGE_DEPTH_MAX = 3
const PACKAGES_MAX = 500

/** The directories below a workspace that have a package.json, without installed packages. */
function packagesOf(workspace: string): string[] {
  const isWorkspace =
    ['pnpm-workspace.yaml', 'nx.json'].some((name) => disk.existsSync(paths.join(workspace, name))) ||
    /"workspaces"\s*:/.test(textOf(paths.join(workspace, 'package.json')))
  return isWorkspace ? packagesBelow(workspace, PACKAGE_DEPTH_MAX).slice(0, PACKAGES_MAX) : []
}

function textOf(path: string): string {
  try {
    return disk.readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function packagesBelow(folder: string, depthMax: number): string[] {
  return foldersIn(folder).flatMap((path) => {
    const own = disk.existsSync(paths.join(path, 'package.json')) ? [path] : []
    return depthMax > 1 ? [...own, ...packagesBelow(path, depthMax - 1)] : own
  })
}

function foldersIn(folder: string): string[] {
  try {
    const entries = disk.readdirSync(folder, { withFileTypes: true })
    const isShown = (name: string): boolean => name !== 'node_modules' && !name.startsWith('.')
    return entries.flatMap((entry) =>
      entry.isDirectory() && isShown(entry.name) ? [paths.join(folder, entry.name)] : [],
    )
  } catch {
    return [] // not readable, or removed since
  }
}

/** The roots that the task of a record may have: those that have most of its files. */
export function rootsOf({ variants }: IdRecord, roots: readonly Root[]): readonly Root[] {
  const files = [...new Set(variants.flatMap((variant) => variant.files.map(([path]) => path)))].slice(0, FILES_MAX)
  const counts = roots.map((root) => files.filter((path) => disk.existsSync(root.absolute(path))).length)
  const most = Math.max(...counts)
  return roots.filter((_, index) => counts[index] === most)
}

/** A directory and those above it. */
function above(folder: string): string[] {
  const parent = paths.dirname(folder)
  return parent === folder ? [folder] : [folder, ...above(parent)]
}
