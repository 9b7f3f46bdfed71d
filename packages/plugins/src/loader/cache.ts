/**
 * The chains of loaders behind the caching loader: looked up when it pitches, kept when their result comes back to it.
 *
 *   pitch -> hit: the result, and nothing behind it runs
 *         -> miss: the other loaders run -> normal -> kept
 */
import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
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

/** The chains of one compiler. */
export class LoaderCache {
  readonly #options: CachedOptions
  readonly #calls: Calls
  readonly #callers: readonly string[] = callers()
  /** Loaders whose modules are noted. */
  readonly #noted: Set<string> = new Set()
  readonly #reads: WeakMap<Recording, ReadCall> = new WeakMap()
  /** Of modules under way, by their identifiers: a module may have several contexts, one after another. */
  readonly #recordings: Map<string, Recording> = new Map()
  readonly #recordingOf: WeakMap<ChainContext, Recording> = new WeakMap()

  constructor(options: CachedOptions) {
    this.#options = options
    this.#calls = new Calls(options)
  }

  begin(tool: string, root: string, inputs: Identity, warn: Warn): Promise<void> {
    // Nothing is hidden: the options of the loaders are part of each call.
    return this.#calls.begin({ tool, name: 'loaders', root, keyOf: () => '', inputs, modules: this.#callers }, warn)
  }

  end(isWatching: boolean): Promise<void> {
    this.#recordings.clear()
    return this.#calls.end(isWatching)
  }

  /** Writes what is new. */
  commit(): Promise<void> {
    return this.#calls.commit()
  }

  close(): Promise<void> {
    return this.#calls.close()
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

  /** The result of the chain behind the current loader, undefined where it has to run. */
  async find(context: ChainContext): Promise<Result | undefined> {
    if (typeof context.data === 'object' && context.data !== null) Reflect.set(context.data, 'startMs', Date.now())
    this.#recordingOf.get(context)?.forget()
    const reason = this.#calls.isOpen ? this.#reasonAgainst(context) : undefined
    if (reason !== undefined) this.#calls.count(reason)
    if (reason !== undefined || !this.#calls.isOpen) return undefined
    const call = this.#callOf(context)
    try {
      return await this.#calls.run<Result, Entry>({
        ...call,
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
    const local = this.#localLoaders(context).filter((path) => !this.#noted.has(path))
    for (const path of local) this.#noted.add(path)
    if (local.length > 0) this.#calls.reads.noteModules(local)
    const reads = this.#calls.reads.call(context.resourcePath)
    if (recording === undefined || reads === undefined) return chain()
    this.#reads.set(recording, reads)
    reads.run(chain)
  }

  /** Keeps the result of the chain behind the current loader. */
  async keep(context: ChainContext, { content, map, meta }: Result): Promise<void> {
    const recording = this.#recordingOf.get(context)
    if (!this.#calls.isOpen || recording === undefined || this.#reasonAgainst(context) !== undefined) return
    const startMs = startOf(context)
    const result: Result = { content, map: plainMap(map), meta }
    await this.#calls.run<Result, Entry>({
      ...this.#callOf(context),
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

  /** Why the chain cannot be kept, as far as can be told before it runs. */
  #reasonAgainst({ resourcePath, loaders, loaderIndex }: ChainContext): string | undefined {
    const isFile = isAbsolute(resourcePath) && statSync(resourcePath, { throwIfNoEntry: false })?.isFile() === true
    if (!isFile) return 'loads what is no file'
    const behind = loaders.slice(loaderIndex + 1)
    if (behind.some(({ path }) => path.startsWith('builtin:'))) return 'has a builtin loader, which nobody can listen to'
    if (this.#options.key !== undefined) return undefined
    try {
      digest(behind.map(optionsOf), 'options')
      return undefined
    } catch {
      return "has a loader whose options cannot be compared; give them a name as option 'key'"
    }
  }

  #callOf(context: ChainContext): Pick<Call<Result, Entry>, 'kind' | 'id' | 'inputs' | 'files' | 'about'> {
    const { resource, resourcePath, loaders, loaderIndex, mode, target, sourceMap, hot } = context
    const root = this.#calls.root ?? new Root(context.rootContext)
    const chain = loaders.map((loader, index) => [loader.path, index > loaderIndex ? optionsOf(loader) : ''])
    return {
      kind: 'chain',
      id: resource,
      inputs: {
        loaders: lenientDigest([loaderIndex, chain], (text) => root.toRelative(text)),
        config: digest([mode, target, sourceMap, hot], 'config'),
      },
      files: [resourcePath, ...this.#localLoaders(context)],
      about: resourcePath,
    }
  }

  /** Files of the loaders behind the current one that are of the project. */
  #localLoaders({ loaders, loaderIndex }: ChainContext): string[] {
    return loaders.slice(loaderIndex + 1).flatMap(({ path }) => (isAbsolute(path) && !/[\\/]node_modules[\\/]/.test(path) ? [path] : []))
  }
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
