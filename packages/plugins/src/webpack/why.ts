/**
 * What `npx varve why` reads: a task with one id for each module of the project, and the id `.` for everything else that a build
 * depends on. A record has no result; it has the dependencies of the entries that webpack stored, with digests of their contents.
 *
 *   why src/a.js   the files that the module depends on, and whether the whole cache was replaced since
 *   why .          configs, loaders, versions of packages, and what loaders and plugins read
 *
 * webpack decides whether an entry is valid. The records explain that decision, and take no part in it.
 */
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import type { Cache, Task, TaskInputs } from 'varve'
import type { Compilation, Module } from 'webpack'
import { isInstalled, manifestOf } from '../build/modules.ts'
import { valuesOf } from './changes.ts'
import type { Identity } from './identity.ts'
import { namesOfKinds } from './recorded.ts'
import { disk } from '../host/files.ts'

type Snapshot = Exclude<NonNullable<Module['buildInfo']>['snapshot'], null | undefined>

/** The id of everything that is no module. */
const EVERYTHING = '.'

/** The input by which the record of a module names the generation of the cache. */
const GENERATION = `the whole cache (id ${EVERYTHING})`

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

  readonly #inputs: TaskInputs
  /** What has changed for all modules, in words. */
  changes: readonly string[] = []

  /** `root` is the compiler's context, to which ids and paths are relative. */
  constructor(cache: Cache, { name, inputs }: Identity, root: string) {
    this.#task = cache.task(`webpack ${name}`, { root, variants: VARIANTS })
    this.#inputs = inputs
  }

  /** Records an environment: the snapshot of its files, and the recorded inputs that webpack does not compare. */
  async putEverything(contents: Snapshot, recorded: Iterable<string>): Promise<void> {
    const inputs = [...recorded]
    const files = new Set([...filesIn(contents), ...namesOfKinds(inputs, 'list', 'tree')])
    await this.#put(EVERYTHING, this.#inputs, files, namesOfKinds(inputs, 'variable'))
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
      this.#built.set(resource, { files: filesIn(snapshot), values: valuesOf(module) })
    }
    for (const child of children) this.note(child)
  }

  /** Records the noted modules in a generation of the cache; with `isIdle`, until it returns false. Returns whether all were put. */
  async putModules(generation: string, isIdle: (() => boolean) | undefined): Promise<boolean> {
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
