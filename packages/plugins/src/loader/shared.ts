/**
 * Finds the cache of a loader context: the cache of the plugin that attached it, or a separate one if the loader is used alone. The
 * separate cache follows the builds of the compilers whose modules it gets. In a process without a compiler, such as that of
 * thread-loader, it commits when no result has arrived for a while, and is closed on `beforeExit`.
 */
import { closeBeforeExit } from '../build/before-exit.ts'
import { digest } from '../build/digest.ts'
import { type CachedOptions, FIELDS, checkOptions } from '../build/options.ts'
import { infoOf, type LoggingCompiler } from '../build/report.ts'
import { type Build, LoaderCache } from './cache.ts'
import type { ChainContext, LoaderContext, Logger } from './entry.ts'

const NAME = '@varve/plugins/loader'

/** Time without new results before they are committed, in milliseconds. */
const QUIET_MS = 200

const attached: WeakMap<ChainContext, LoaderCache> = new WeakMap()

/** The cache of a loader without a plugin. */
interface Alone {
  readonly cache: LoaderCache
  readonly build: Build
  /** The compilers whose builds it follows. */
  readonly compilers: WeakSet<object>
  timer: NodeJS.Timeout | undefined
}

/** Caches of loaders without a plugin, by root and options. */
const alone: Map<string, Alone> = new Map()

/** The public part of webpack's compiler that is used here. */
interface AnyCompiler extends BuildingCompiler {
  /** The compiler that made this one, or itself. */
  readonly root: AnyCompiler
  readonly options: LoggingCompiler['options']
  getInfrastructureLogger(name: string): Logger
}

export function attach(context: ChainContext, cache: LoaderCache): void {
  attached.set(context, cache)
}

/** The cache of a context. Opens one if the loader is used alone. */
export function cacheOf(context: LoaderContext): LoaderCache {
  const known = attached.get(context)
  if (known !== undefined) return known
  const options: CachedOptions = context.getOptions()
  const id = JSON.stringify([context.rootContext, { ...options, cacheKey: digest(options.cacheKey, 'cacheKey') }])
  const one = alone.get(id) ?? makeAlone(id, options, context)
  const compiler = compilerOf(context)
  if (compiler !== undefined && !one.compilers.has(compiler)) {
    one.compilers.add(compiler)
    followBuilds(NAME, compiler, one.cache, one.build, true)
  }
  return one.cache
}

/** Called for each new result. Delays the commit until no result has arrived for a while. */
export function noteActivity(cache: LoaderCache): void {
  for (const one of alone.values()) {
    if (one.cache !== cache) continue
    clearTimeout(one.timer)
    one.timer = setTimeout(() => void cache.commit(), QUIET_MS).unref()
  }
}

/** The compiler that the program made; undefined in a process without one. */
function compilerOf(context: LoaderContext): AnyCompiler | undefined {
  const compiler: unknown = Reflect.get(context, '_compiler')
  return isCompiler(compiler) ? compiler.root : undefined
}

function isCompiler(value: unknown): value is AnyCompiler {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['root', 'hooks', 'options', 'getInfrastructureLogger'].every((name) => name in value)
  )
}

function makeAlone(id: string, options: CachedOptions, context: LoaderContext): Alone {
  checkOptions(`loader '${NAME}'`, options, FIELDS)
  const compiler = compilerOf(context)
  // A logger whose lines are printed at once: the stats of a build do not have its report, which comes after them.
  const logger = compiler?.getInfrastructureLogger(NAME) ?? context.getLogger(NAME)
  const cache = new LoaderCache(options)
  const warn = (text: string): void => logger.warn(text)
  const info = compiler === undefined ? (text: string): void => logger.info(text) : infoOf(NAME, compiler)
  const build = { tool: 'loader', root: context.rootContext, inputs: {}, warn, info }
  if (compiler === undefined) cache.begin(build)
  closeBeforeExit({ close: () => cache.end(false).then(() => cache.close()) })
  const one: Alone = { cache, build, compilers: new WeakSet(), timer: undefined }
  alone.set(id, one)
  return one
}

// Begins and ends the builds of a cache with those of a compiler. A compiler that watches skips its hook `done` if a file changes while
// it builds, and calls that hook twice for a build with an additional pass.

interface Hook {
  tapPromise(name: string, run: () => Promise<void>): void
}

/** The public part of the compiler of webpack and Rspack that decides when builds begin and end. */
export interface BuildingCompiler {
  readonly watchMode: boolean
  readonly hooks: {
    readonly beforeRun: Hook
    readonly watchRun: Hook
    readonly done: Hook
    readonly failed: { tap(name: string, run: () => void): void }
  }
}

/** Follows the builds of `compiler`; `isBuilding`: a build has begun already. */
export function followBuilds(
  name: string,
  compiler: BuildingCompiler,
  cache: LoaderCache,
  build: Build,
  isBuilding = false,
): void {
  let isOpen = isBuilding
  if (isOpen) cache.begin(build)
  const end = async (isWatching: boolean): Promise<void> => {
    if (!isOpen) return
    isOpen = false
    await cache.end(isWatching)
  }
  const begin = async (): Promise<void> => {
    await end(true)
    isOpen = true
    cache.begin(build)
  }
  const { beforeRun, watchRun, done, failed } = compiler.hooks
  beforeRun.tapPromise(name, begin)
  watchRun.tapPromise(name, begin)
  done.tapPromise(name, () => end(compiler.watchMode))
  failed.tap(name, () => void end(compiler.watchMode))
}
