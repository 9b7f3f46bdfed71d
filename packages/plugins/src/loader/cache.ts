/**
 * Caches the chains of loaders after the caching loader. Its pitch function looks up the result, its normal function stores it.
 *
 *   pitch -> hit: the result, and no other loader runs
 *         -> miss: the other loaders run -> normal -> stored
 */
import { isAbsolute, relative } from 'node:path'
import { startWork } from 'varve'
import { type ReadCall, recordedFiles } from 'varve/reads'
import type { Call } from '../build/call.ts'
import { Calls } from '../build/calls.ts'
import { digest, lenientDigest, type Parts, valueParts } from '../build/digest.ts'
import { isFile, runForeign } from '../host/files.ts'
import type { Identity } from '../build/identity.ts'
import { callers, isInstalled } from '../build/modules.ts'
import type { CachedOptions } from '../build/options.ts'
import { Root } from '../build/root.ts'
import type { Warn } from '../build/session.ts'
import { plainMap } from '../build/source-map.ts'
import {
  type ChainContext,
  type Result,
  addDependencies,
  dependenciesOf,
  type Entry,
  entryShape,
  Recording,
  replayCalls,
  watchedBy,
} from './entry.ts'

/** Thrown instead of running the chain, which the tool runs between pitch and normal. */
class Miss extends Error {}

/** The description of a build when it begins. */
export interface Build {
  readonly tool: string
  readonly root: string
  readonly inputs: Identity
  readonly warn: Warn
  readonly info: Warn
}

/**
 * The chains of one compiler. Chains with the same loaders share their calls and recorded reads, so a change of the
 * configuration of one loader does not invalidate the results of others.
 */
export class LoaderCache {
  readonly #options: CachedOptions
  readonly #callers: readonly string[] = callers()
  #build: Build | undefined
  /** Number of running builds. */
  #builds = 0
  /** The calls of each chain, by the names of its loaders. */
  readonly #chains: Map<string, Calls> = new Map()
  /** The chains that have begun since the last build ended. */
  readonly #begun: Map<string, Promise<void>> = new Map()
  readonly #reads: WeakMap<Recording, ReadCall> = new WeakMap()
  /** Ends the work of each running chain, and returns what it cost. */
  readonly #works: Map<Recording, () => number> = new Map()
  /** Recordings of running modules, by identifier. A module may have several contexts, one after another. */
  readonly #recordings: Map<string, Recording> = new Map()
  readonly #recordingOf: WeakMap<ChainContext, Recording> = new WeakMap()

  constructor(options: CachedOptions) {
    this.#options = options
  }

  /** Called when a build begins; builds of one compiler may overlap. */
  begin(build: Build): void {
    this.#build = build
    this.#builds += 1
  }

  /** Called when a build is over. Commits new results, and closes the cache unless another build will follow. */
  async end(isWatching: boolean): Promise<void> {
    if (this.#builds === 0) return
    this.#builds -= 1
    if (this.#builds > 0) return
    this.#recordings.clear()
    // A chain that failed has no result, so `keep` was not called.
    for (const recording of this.#works.keys()) this.#endWork(recording)
    const begun = [...this.#begun.keys()]
    this.#begun.clear()
    for (const name of begun) await this.#chains.get(name)?.end(isWatching)
  }

  /** Commits new results. */
  async commit(): Promise<void> {
    for (const calls of this.#chains.values()) await calls.commit()
  }

  async close(): Promise<void> {
    for (const calls of this.#chains.values()) await calls.close()
  }

  /** Starts to record the calls of a context, before its loaders run. The module may have more contexts. */
  listen(context: ChainContext, module?: string): void {
    const recording = this.#recordings.get(module ?? '') ?? new Recording()
    if (module !== undefined) this.#recordings.set(module, recording)
    this.#recordingOf.set(context, recording)
    recording.install(context)
    if (context.fs !== undefined) context.fs = recordedFiles(context.fs)
  }

  /** Records what the loaders of a context read, for a tool that calls them outside of the chain around them; `first` is the caching one. */
  surround(context: ChainContext, first: string): void {
    const recording = this.#recordingOf.get(context)
    if (recording === undefined) return
    const run: Run = (work) => {
      const reads = this.#reads.get(recording)
      return reads === undefined ? work() : reads.run(work)
    }
    const areSurrounded = context.loaders.every((loader) => loader.path === first || surroundLoader(loader, run))
    if (!areSurrounded) recording.refuse('has loaders whose reads cannot be recorded')
  }

  /** Whether the calls of this context are recorded. */
  isListening(context: ChainContext): boolean {
    return this.#recordingOf.has(context)
  }

  /** The result of the chain after the current loader; undefined if the chain has to run. */
  async find(context: ChainContext): Promise<Result | undefined> {
    if (typeof context.data === 'object' && context.data !== null) Reflect.set(context.data, 'startMs', Date.now())
    this.#recordingOf.get(context)?.reset()
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
          replayCalls(context, entry.calls)
          return entry
        },
      })
    } catch (error) {
      if (error instanceof Miss) return undefined
      throw error
    }
  }

  /** Runs the chain after the current loader, and records what its loaders read and cost until `keep`. */
  runChain(context: ChainContext, chain: () => void): void {
    const recording = this.#recordingOf.get(context)
    if (recording !== undefined) {
      this.#endWork(recording)
      this.#works.set(recording, startWork())
    }
    const reads = this.#chains.get(nameOf(context))?.reads.call(context.resourcePath)
    if (recording === undefined || reads === undefined) return chain()
    this.#reads.set(recording, reads)
    reads.run(chain)
  }

  /** Stores the result of the chain after the current loader. */
  async keep(context: ChainContext, { content, map, meta }: Result): Promise<void> {
    const recording = this.#recordingOf.get(context)
    const workMs = recording === undefined ? 0 : this.#endWork(recording)
    const calls = this.#chains.get(nameOf(context))
    if (calls?.isOpen !== true || recording === undefined || this.#reasonAgainst(context) !== undefined) return
    const startMs = startOf(context)
    const result: Result = { content, map: plainMap(map), meta }
    // What Varve does is no work of the chain, in whose context it runs: the file of the call would be read once more.
    await runForeign(() =>
      calls.run<Result, Entry>({
        ...this.#callOf(context, calls),
        reads: this.#reads.get(recording),
        work: () => Promise.resolve(result),
        keep: () => {
          const dependencies = dependenciesOf(context)
          const entry: Entry = { ...result, dependencies, calls: recording.calls }
          const built = entry.calls.flatMap((call) => (call.method === 'addBuildDependency' ? [call.path] : []))
          const watched = [...watchedBy(dependencies, startMs), ...built]
          return { entry, watched, workMs }
        },
        shape: entryShape(context.loaders.length),
        replay: () => result,
      }),
    )
    this.#reads.delete(recording)
  }

  /** Ends the work of a chain and returns its cost; 0 if none runs. */
  #endWork(recording: Recording): number {
    const end = this.#works.get(recording)
    this.#works.delete(recording)
    return end?.() ?? 0
  }

  /** The calls of a chain, once they have begun; undefined outside of builds. */
  async #begin(context: ChainContext): Promise<Calls | undefined> {
    if (this.#build === undefined || this.#builds === 0) return undefined
    const name = nameOf(context)
    const calls = this.#chains.get(name) ?? new Calls(this.#options)
    this.#chains.set(name, calls)
    const { warn, ...build } = this.#build
    const modules = [...this.#callers, ...localLoaders(context)]
    // The options of the loaders are part of each call, so the plugin needs no key.
    const beginning = this.#begun.get(name) ?? calls.begin({ ...build, name, keyOf: () => '', modules }, warn)
    this.#begun.set(name, beginning)
    await beginning
    return calls
  }

  /** The reason why the chain cannot be cached, if it is known before the chain runs. */
  #reasonAgainst({ resourcePath, loaders, loaderIndex }: ChainContext): string | undefined {
    if (!isAbsolute(resourcePath) || !isFile(resourcePath)) return 'does not load a file'
    const behind = loaders.slice(loaderIndex + 1)
    if (behind.some(({ path }) => path.startsWith('builtin:')))
      return 'has a builtin loader, whose calls cannot be recorded'
    if (this.#options.cacheKey !== undefined) return undefined
    try {
      digest(behind.map(optionsOf), 'options')
      return undefined
    } catch {
      return "has a loader whose options cannot be compared; give them a name as option 'cacheKey'"
    }
  }

  #callOf(
    context: ChainContext,
    calls: Calls,
  ): Pick<Call<Result, Entry>, 'kind' | 'id' | 'inputs' | 'parts' | 'files' | 'about'> {
    const { resource, resourcePath, loaders, loaderIndex, mode, target, sourceMap, hot } = context
    const root = calls.root ?? new Root(context.rootContext)
    const chain = loaders.map((loader, index) => [loader.path, index > loaderIndex ? optionsOf(loader) : ''] as const)
    const toRelative = (text: string): string => root.toRelative(text)
    const parts = (): Parts =>
      valueParts(Object.fromEntries(chain.map(([path, options]) => [loaderName(path, context), options])), toRelative)
    return {
      kind: 'chain',
      id: resource,
      parts: (input) => {
        if (input === 'config') return { key: 'config', parts: () => settingsParts(context, toRelative) }
        return input === 'loaders' ? { key: `loaders ${nameOf(context)}`, parts } : undefined
      },
      inputs: {
        loaders: lenientDigest([loaderIndex, chain], toRelative),
        config: digest([mode, target, sourceMap, hot, settingsOf(context, toRelative)], 'config'),
      },
      files: [resourcePath, ...localLoaders(context)],
      about: resourcePath,
    }
  }
}

/** The name of a chain, which `onStats` and `varve why` show: the packages or paths of the loaders after the current one. */
function nameOf({ loaders, loaderIndex, rootContext }: ChainContext): string {
  return (
    loaders
      .slice(loaderIndex + 1)
      .map(({ path }) => loaderName(path, { rootContext }))
      .join(' + ') || 'no loader'
  )
}

/** The package of a loader, or its path. */
function loaderName(path: string, { rootContext }: Pick<ChainContext, 'rootContext'>): string {
  return packageOf(path) ?? relative(rootContext, path).replaceAll('\\', '/')
}

/** The name of the installed package to which a file belongs. */
function packageOf(path: string): string | undefined {
  return /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(path)?.[1]?.replace('\\', '/')
}

/** Files of the loaders after the current one that belong to the project. */
function localLoaders({ loaders, loaderIndex }: ChainContext): string[] {
  return loaders.slice(loaderIndex + 1).flatMap(({ path }) => (isAbsolute(path) && !isInstalled(path) ? [path] : []))
}

/** The time of the pitch function. If it is unknown, every file counts as changed since. */
function startOf({ data }: ChainContext): number {
  const startMs: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, 'startMs') : undefined
  return typeof startMs === 'number' ? startMs : 0
}

/** The options of a loader: the object, or the query of its request. */
function optionsOf({ options, query }: { readonly options?: unknown; readonly query: string }): unknown {
  return options ?? query
}

/** Options of the output that loaders read. Where the output goes decides no module. */
const OUTPUT = [
  'environment',
  'uniqueName',
  'publicPath',
  'module',
  'hashFunction',
  'hashDigest',
  'hashDigestLength',
  'hashSalt',
]

const known: WeakMap<object, string> = new WeakMap()

/**
 * The digest of what `this.resolve` finds, of the code that the output may contain, and of what the config adds to the context of all
 * loaders. Empty in a process without a compiler. A function in these options counts as its kind.
 */
export function settingsOf(context: ChainContext, toRelative: (text: string) => string): string {
  const options = optionsIn(context)
  if (options === undefined) return ''
  const made = known.get(options) ?? lenientDigest(deciding(options), toRelative)
  known.set(options, made)
  return made
}

/** The parts of that digest. */
function settingsParts(context: ChainContext, toRelative: (text: string) => string): Parts {
  return valueParts(deciding(optionsIn(context) ?? {}), toRelative)
}

function deciding(options: object): Readonly<Record<string, unknown>> {
  const output = objectIn(options, 'output') ?? {}
  const read = OUTPUT.map((name): [string, unknown] => [name, Reflect.get(output, name)])
  return {
    resolve: Reflect.get(options, 'resolve'),
    loader: Reflect.get(options, 'loader'),
    output: Object.fromEntries(read),
  }
}

function optionsIn(context: ChainContext): object | undefined {
  return objectIn(objectIn(context, '_compiler'), 'options')
}

function objectIn(value: object | undefined, name: string): object | undefined {
  const found: unknown = value === undefined ? undefined : Reflect.get(value, name)
  return typeof found === 'object' && found !== null ? found : undefined
}

// Runs the functions of loaders inside of what surrounds their chain. webpack calls them from the callback of the loader before, so
// they are inside anyway. Rspack calls them from its native code, once to pitch and once for the results, with objects of its own.

/** Calls work, and returns its result. */
export type Run = <T>(work: () => T) => T

/** Replaces the functions of a loader, also those that the tool sets when it has loaded the loader. False if the tool does not allow that. */
function surroundLoader(loader: object, run: Run): boolean {
  return ['pitch', 'normal'].every((name) => surroundFunction(loader, name, run))
}

function surroundFunction(loader: object, name: string, run: Run): boolean {
  const surrounded = (given: unknown): unknown => {
    if (typeof given !== 'function') return given
    return function (this: unknown, ...args: unknown[]): unknown {
      return run(() => Reflect.apply(given, this, args))
    }
  }
  let current = surrounded(Reflect.get(loader, name))
  return Reflect.defineProperty(loader, name, {
    configurable: true,
    enumerable: true,
    get: () => current,
    set: (given: unknown) => {
      current = surrounded(given)
    },
  })
}
