/**
 * What `npx varve why` reads: a task with one id for each module of the project, and the id `.` for everything else that a build
 * depends on. A record has no result; it has the dependencies of the entries that webpack stored, with digests of their contents.
 *
 *   why src/a.js   the files that the module depends on, and whether the whole cache was replaced since
 *   why .          configs, loaders, versions of packages, and what loaders and plugins read
 *
 * webpack decides whether an entry is valid. The records explain that decision, and take no part in it.
 *
 * What has changed since webpack stored something, in words: versions of packages, values of DefinePlugin, inputs of a compiler.
 */
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import type { Cache, Task, TaskInputs } from 'varve'
import { digestOfInput, readSet, type StoredInput } from 'varve/internal'
import type { Compilation, Module } from 'webpack'
import { isInstalled, manifestOf } from '../build/modules.ts'
import { changeOf } from '../build/digest.ts'
import { disk } from '../host/files.ts'
import type { Identity, NamedDigests } from './identity.ts'
import { LEADS_TO, linkOf } from './packages.ts'
import { ownInputsOf } from './reads.ts'

type Snapshot = Exclude<NonNullable<Module['buildInfo']>['snapshot'], null | undefined>

/** The id of everything that is no module. */
const EVERYTHING = '.'

/** The input by which the record of a module names the generation of the cache. */
const GENERATION = `the whole cache (id ${EVERYTHING})`

/** The kinds of inputs that the record of everything has, besides variables and what is missing. */
const SHOWN: ReadonlySet<string> = new Set(['content', 'module', 'list', 'tree'])

/** Changes that the record of a module names. */
const CHANGES_MAX = 3

/** Records per id: the newest one, and the one that it replaced. */
const VARIANTS = 2

/** Time between two checks whether webpack is still idle, in milliseconds. */
const SLICE_MS = 10

/** What a built module depends on. */
interface Built {
  readonly files: ReadonlySet<string>
  /** Values of DefinePlugin. */
  readonly values: TaskInputs
}

/** The records of one compiler. */
export class Why {
  readonly #task: Task<unknown>
  /** Dependencies of the modules that were built since the last write, by resource. */
  readonly #built: Map<string, Built> = new Map()

  /** The environment that was recorded last, until the next write. */
  #everything: readonly StoredInput[] | undefined

  readonly #inputs: TaskInputs
  /** What has changed for all modules, in words. */
  changes: readonly string[] = []

  readonly #pathOf: (name: string) => string

  /** `root` is the compiler's context, to which ids and paths are relative; `pathOf` returns the path of an input in a set. */
  constructor(cache: Cache, { name, inputs }: Identity, root: string, pathOf: (name: string) => string) {
    this.#pathOf = pathOf
    this.#task = cache.task(`webpack ${name}`, { root, variants: VARIANTS })
    this.#inputs = inputs
  }

  /** Notes an environment. One that the same build replaces, because a package was loaded late, has no record. */
  noteEverything(set: readonly StoredInput[]): void {
    this.#everything = set
  }

  async #putEverything(set: readonly StoredInput[]): Promise<void> {
    const isShown = ([kind, , digest]: StoredInput): boolean => SHOWN.has(kind) || digest === 'missing'
    const files = new Set(set.filter(isShown).map(([, name]) => this.#pathOf(name)))
    const variables = set.flatMap(([kind, name]) => (kind === 'env' ? [name] : []))
    await this.#put(EVERYTHING, this.#inputs, files, variables)
  }

  /** Notes the modules of the project that a compilation and its children built. */
  note({ modules, builtModules, children }: Compilation): void {
    for (const module of partsOf(modules)) {
      const resource: unknown = Reflect.get(module, 'resource')
      const snapshot = module.buildInfo?.snapshot
      if (
        typeof resource !== 'string' ||
        resource === '' ||
        !snapshot ||
        !builtModules.has(module) ||
        isInstalled(resource)
      )
        continue
      const files = filesIn(snapshot)
      for (const [, name] of readSet(ownInputsOf(module.buildInfo)) ?? []) files.add(this.#pathOf(name))
      this.#built.set(resource, { files, values: valuesOf(module) })
    }
    for (const child of children) this.note(child)
  }

  /**
   * Records the noted environment, and the noted modules in a generation of the cache; with `isIdle`, until it returns false. Returns
   * whether all were put.
   */
  async putAll(generation: string, isIdle: (() => boolean) | undefined): Promise<boolean> {
    const set = this.#everything
    this.#everything = undefined
    if (set !== undefined) await this.#putEverything(set)
    let startMs = performance.now()
    for (const [resource, { files, values }] of this.#built) {
      this.#built.delete(resource)
      await this.#put(resource, { ...values, [GENERATION]: generation }, files, [])
      if (isIdle === undefined || performance.now() - startMs < SLICE_MS) continue
      await setImmediate()
      if (!isIdle()) return false
      startMs = performance.now()
    }
    return true
  }

  /** Puts a record unless the newest one still holds. A failure costs an explanation, never an entry. */
  async #put(id: string, inputs: TaskInputs, files: ReadonlySet<string>, env: readonly string[]): Promise<void> {
    const explain = (input: string, before: string | undefined, after: string | undefined): string | undefined =>
      input === GENERATION
        ? this.changes.slice(0, CHANGES_MAX).join(', ')
        : before && after && `${input} ${before} -> ${after}`
    await this.#task.run({ id, inputs, files: [...files], env, explain }, () => undefined).catch(() => undefined)
  }
}

/** The modules themselves. webpack lists only the result of a concatenation, which has its parts. */
export function* partsOf(modules: Iterable<Module>): Generator<Module> {
  for (const module of modules) {
    const parts: unknown = Reflect.get(module, 'modules')
    if (Array.isArray(parts)) yield* partsOf(parts)
    else yield module
  }
}

/**
 * The files and directories of a snapshot. A file of a package counts as the package's version, as it does for webpack. Of a path that
 * webpack only looked for, the record has that it is missing.
 */
function filesIn(snapshot: Snapshot): Set<string> {
  const found = new Set<string>()
  for (const path of snapshot.getFileIterable()) found.add(manifestOf(path) ?? path)
  for (const path of snapshot.getContextIterable()) found.add(manifestOf(path) ?? path)
  for (const path of snapshot.getMissingIterable()) if (!isInstalled(path) && !disk.existsSync(path)) found.add(path)
  return found
}

/** Packages of a snapshot whose versions are compared, and nested snapshots. */
const PACKAGES_MAX = 5000
const DEPTH_MAX = 50

/** Begins the names that DefinePlugin gives to values. */
const DEFINED = 'webpack/DefinePlugin '

/** The changes of named inputs. */
export function changesOf(before: NamedDigests, now: NamedDigests): string[] {
  const names = Object.keys(now).filter((name) => before[name] !== undefined && before[name] !== now[name])
  return names.map((name) => changeOf(name, before[name], now[name]))
}

/** Packages in a snapshot that are installed in another version, by path. */
function changedPackages(snapshot: unknown): Map<string, string> {
  const changed = new Map<string, string>()
  let count = 0
  for (const [path, before] of packagesIn(snapshot, 0)) {
    if (typeof before !== 'string' || !before.includes('@')) continue
    const now = installedAt(path)
    if (now !== before) changed.set(path, wordsOf(before, now))
    if (++count === PACKAGES_MAX) break
  }
  return changed
}

/** The values of DefinePlugin that a module uses. */
export function valuesOf({ buildInfo }: Module): Readonly<Record<string, string>> {
  const values: unknown = buildInfo && Reflect.get(buildInfo, 'valueDependencies')
  return values instanceof Map ? Object.fromEntries([...values].flatMap(([key]) => definedValue(key, values))) : {}
}

/** Why a module that was restored is built again; undefined if it is not known here. Call it before the module is built. */
export function causeOf(module: Module, { valueCacheVersions }: Compilation): string | undefined {
  const before = valuesOf(module)
  for (const [name, old] of Object.entries(before)) {
    const now = valueCacheVersions.get(`${DEFINED}${name.slice('define '.length)}`)
    if (typeof now === 'string' && now !== old)
      return changeOf(name, digestOfInput(old, name), digestOfInput(now, name))
  }
  const resource: unknown = Reflect.get(module, 'resource')
  if (typeof resource !== 'string' || !isInstalled(resource)) return undefined
  return [...changedPackages(module.buildInfo?.snapshot).values()][0]
}

function definedValue(key: unknown, values: ReadonlyMap<unknown, unknown>): [name: string, text: string][] {
  const text = values.get(key)
  return typeof key === 'string' && key.startsWith(DEFINED) && typeof text === 'string'
    ? [[`define ${key.slice(DEFINED.length)}`, text]]
    : []
}

/** What a snapshot and those that it shares have of each installed package, by path. */
function* packagesIn(snapshot: unknown, depth: number): Generator<[path: string, found: unknown]> {
  if (typeof snapshot !== 'object' || snapshot === null || depth > DEPTH_MAX) return
  const found: unknown = Reflect.get(snapshot, 'managedItemInfo')
  for (const [path, one] of found instanceof Map ? found : []) if (typeof path === 'string') yield [path, one]
  const children: unknown = Reflect.get(snapshot, 'children')
  for (const child of children instanceof Set ? children : []) yield* packagesIn(child, depth + 1)
}

/** Name and version of an installed package, as webpack writes them; empty if there is none. */
function installedAt(path: string): string {
  try {
    const { name, version }: { name?: unknown; version?: unknown } = JSON.parse(
      disk.readFileSync(join(path, 'package.json'), 'utf8'),
    )
    return `${String(name ?? '')}@${String(version ?? '')}${linkOf(path)}`
  } catch {
    return ''
  }
}

function wordsOf(before: string, now: string): string {
  const [name, old] = nameAndVersion(before)
  const [, version] = nameAndVersion(now)
  if (now === '') return `${name} is gone`
  return old === version ? `${name} ${old} is another copy` : `${name} ${old} -> ${version}`
}

function nameAndVersion(info: string): [name: string, version: string] {
  const [identity = ''] = info.split(LEADS_TO, 1)
  const at = identity.lastIndexOf('@')
  return [identity.slice(0, at), identity.slice(at + 1, at + 40)]
}
