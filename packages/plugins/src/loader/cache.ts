/**
 * The chains of loaders behind the caching loader: looked up when it pitches, kept when their result comes back to it.
 *
 *   pitch -> hit: the result, and nothing behind it runs
 *         -> miss: the other loaders run -> normal -> kept
 */
import { statSync } from 'node:fs'
import { isAbsolute, relative } from 'node:path'
import type { ReadCall } from 'varve/reads'
import { type Call, Calls } from '../build/calls.ts'
import { digest, lenientDigest } from '../build/digest.ts'
import type { Identity } from '../build/identity.ts'
import { callers } from '../build/modules.ts'
import type { CachedOptions } from '../build/options.ts'
import { Root } from '../build/root.ts'
import type { Warn } from '../build/warnings.ts'
import { plainMap } from '../rollup/entry.ts'
import type { ChainContext, Result } from './context.ts'
import { addDependencies, dependenciesOf, watchedBy } from './dependencies.ts'
import { type Entry, entryShape } from './entry.ts'
import { Recording, tell } from './record.ts'

/** Thrown in the place of work: the chain runs by itself, between pitch and normal. */
class Miss extends Error {}

/** A build, as known when it begins. */
interface Build {
  readonly tool: string
  readonly root: string
  readonly inputs: Identity
  readonly warn: Warn
}

/**
 * The chains of one compiler. Chains of the same loaders share their calls and what those loaders read: a change of the one
 * loader's configuration leaves results of the others alone.
 */
export class LoaderCache {
  readonly #options: CachedOptions
  readonly #callers: readonly string[] = callers()
  #build: Build | undefined
  /** Builds under way. */
  #builds = 0
  /** The calls of each chain, by the names of its loaders. */
  readonly #chains: Map<string, Calls> = new Map()
  /** Those that have begun since the last build ended. */
  readonly #begun: Map<string, Promise<void>> = new Map()
  readonly #reads: WeakMap<Recording, ReadCall> = new WeakMap()
  /** Of modules under way, by their identifiers: a module may have several contexts, one after another. */
  readonly #recordings: Map<string, Recording> = new Map()
  readonly #recordingOf: WeakMap<ChainContext, Recording> = new WeakMap()

  constructor(options: CachedOptions) {
    this.#options = options
  }

  /** A build begins, perhaps beside another one of the same compiler. */
  begin(build: Build): void {
    this.#build = build
    this.#builds += 1
  }

  /** A build is over: writes what is new and, unless another build is to follow, closes the cache. */
  async end(isWatching: boolean): Promise<void> {
    this.#builds -= 1
    if (this.#builds > 0) return
    this.#recordings.clear()
    const begun = [...this.#begun.keys()]
    this.#begun.clear()
    for (const name of begun) await this.#chains.get(name)?.end(isWatching)
  }

  /** Writes what is new. */
  async commit(): Promise<void> {
    for (const calls of this.#chains.values()) await calls.commit()
  }

  async close(): Promise<void> {
    for (const calls of this.#chains.values()) await calls.close()
  }

  /** Listens to a context before its loaders run. A module of that name may have another context before or after it. */
  listen(context: ChainContext, module?: string): void {
    const recording = this.#recordings.get(module ?? '') ?? new Recording()
    if (module !== undefined) this.#recordings.set(module, recording)
    this.#recordingOf.set(context, recording)
    recording.install(context)
  }

  /** Whether somebody listens to this context. */
  isListening(context: ChainContext): boolean {
    return this.#recordingOf.has(context)
  }

  /** The result of the chain behind the current loader; undefined if it has to run. */
  async find(context: ChainContext): Promise<Result | undefined> {
    if (typeof context.data === 'object' && context.data !== null) Reflect.set(context.data, 'startMs', Date.now())
    this.#recordingOf.get(context)?.forget()
    const calls = await this.#begin(context)
    if (calls?.isOpen !== true) return undefined
    const reason = this.#reasonAgainst(context)
    if (reason !== undefined) {
      calls.count(reason)
      return undefined
    }
    try {
      return await calls.run<Result, Entry>({
        ...this.#callOf(context, calls),
        work: () => Promise.reject(new Miss()),
        keep: () => undefined,
        shape: entryShape(context.loaders.length),
        replay: (entry) => {
          addDependencies(context, entry.dependencies)
          tell(context, entry.told)
          return entry
        },
      })
    } catch (error) {
      if (error instanceof Miss) return undefined
      throw error
    }
  }

  /** Runs the chain behind the current loader: what its loaders read is recorded until `keep`. */
  runChain(context: ChainContext, chain: () => void): void {
    const recording = this.#recordingOf.get(context)
    const reads = this.#chains.get(nameOf(context))?.reads.call(context.resourcePath)
    if (recording === undefined || reads === undefined) return chain()
    this.#reads.set(recording, reads)
    reads.run(chain)
  }

  /** Keeps the result of the chain behind the current loader. */
  async keep(context: ChainContext, { content, map, meta }: Result): Promise<void> {
    const recording = this.#recordingOf.get(context)
    const calls = this.#chains.get(nameOf(context))
    if (calls?.isOpen !== true || recording === undefined || this.#reasonAgainst(context) !== undefined) return
    const startMs = startOf(context)
    const result: Result = { content, map: plainMap(map), meta }
    await calls.run<Result, Entry>({
      ...this.#callOf(context, calls),
      reads: this.#reads.get(recording),
      work: () => Promise.resolve(result),
      keep: () => {
        const dependencies = dependenciesOf(context)
        const entry: Entry = { ...result, dependencies, told: recording.told }
        const built = recording.told.flatMap((one) => (one.method === 'addBuildDependency' ? [one.path] : []))
        const watched = [...watchedBy(dependencies, startMs), ...built]
        return { entry, watched }
      },
      shape: entryShape(context.loaders.length),
      replay: () => result,
    })
  }

  /** The calls of a chain, once they have begun; undefined outside of builds. */
  async #begin(context: ChainContext): Promise<Calls | undefined> {
    if (this.#build === undefined || this.#builds === 0) return undefined
    const name = nameOf(context)
    const calls = this.#chains.get(name) ?? new Calls(this.#options)
    this.#chains.set(name, calls)
    const { warn, ...build } = this.#build
    const modules = [...this.#callers, ...localLoaders(context)]
    // Nothing is hidden: the options of the loaders are part of each call.
    const beginning = this.#begun.get(name) ?? calls.begin({ ...build, name, keyOf: () => '', modules }, warn)
    this.#begun.set(name, beginning)
    await beginning
    return calls
  }

  /** Why the chain cannot be kept, as far as can be told before it runs. */
  #reasonAgainst({ resourcePath, loaders, loaderIndex }: ChainContext): string | undefined {
    const isFile = isAbsolute(resourcePath) && statSync(resourcePath, { throwIfNoEntry: false })?.isFile() === true
    if (!isFile) return 'loads what is no file'
    const behind = loaders.slice(loaderIndex + 1)
    if (behind.some(({ path }) => path.startsWith('builtin:'))) return 'has a builtin loader, which nobody can listen to'
    if (this.#options.cacheKey !== undefined) return undefined
    try {
      digest(behind.map(optionsOf), 'options')
      return undefined
    } catch {
      return "has a loader whose options cannot be compared; give them a name as option 'cacheKey'"
    }
  }

  #callOf(context: ChainContext, calls: Calls): Pick<Call<Result, Entry>, 'kind' | 'id' | 'inputs' | 'files' | 'about'> {
    const { resource, resourcePath, loaders, loaderIndex, mode, target, sourceMap, hot } = context
    const root = calls.root ?? new Root(context.rootContext)
    const chain = loaders.map((loader, index) => [loader.path, index > loaderIndex ? optionsOf(loader) : ''])
    return {
      kind: 'chain',
      id: resource,
      inputs: {
        loaders: lenientDigest([loaderIndex, chain], (text) => root.toRelative(text)),
        config: digest([mode, target, sourceMap, hot], 'config'),
      },
      files: [resourcePath, ...localLoaders(context)],
      about: resourcePath,
    }
  }
}

/** The loaders behind the current one, by package or path: the name of a chain, as `onStats` and `varve why` show it. */
function nameOf({ loaders, loaderIndex, rootContext }: ChainContext): string {
  const names = loaders.slice(loaderIndex + 1).map(({ path }) => packageOf(path) ?? relative(rootContext, path).replaceAll('\\', '/'))
  return names.join(' + ') || 'no loader'
}

/** The name of the installed package that a file is of. */
function packageOf(path: string): string | undefined {
  return /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(path)?.[1]?.replace('\\', '/')
}

/** Files of the loaders behind the current one that are of the project. */
function localLoaders({ loaders, loaderIndex }: ChainContext): string[] {
  return loaders.slice(loaderIndex + 1).flatMap(({ path }) => (isAbsolute(path) && packageOf(path) === undefined ? [path] : []))
}

/** When the chain pitched; where that is not known, every file counts as changed since. */
function startOf({ data }: ChainContext): number {
  const startMs: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, 'startMs') : undefined
  return typeof startMs === 'number' ? startMs : 0
}

/** The options of a loader: the object, or what stands in the request. */
function optionsOf({ options, query }: { readonly options?: unknown; readonly query: string }): unknown {
  return options ?? query
}
