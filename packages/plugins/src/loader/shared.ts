/**
 * Finds the cache of a loader context: the cache of the plugin that attached it, or a separate one if the loader is used alone. The
 * separate cache follows the builds of the compilers whose modules it gets. In a process without a compiler, such as that of
 * thread-loader, it commits when no result has arrived for a while, and is closed on `beforeExit`.
 */
import { closeBeforeExit } from '../build/before-exit.ts'
import { digest } from '../build/digest.ts'
import { FIELDS, type CachedOptions } from '../build/options.ts'
import { checkOptions } from '../build/validate.ts'
import { type BuildingCompiler, followBuilds } from './builds.ts'
import { type Build, LoaderCache } from './cache.ts'
import type { ChainContext, LoaderContext, Logger } from './context.ts'

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
  getInfrastructureLogger(name: string): Logger
}

/** Attaches `context` to `cache`. */
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
    ['root', 'hooks', 'getInfrastructureLogger'].every((name) => name in value)
  )
}

function makeAlone(id: string, options: CachedOptions, context: LoaderContext): Alone {
  checkOptions(`loader '${NAME}'`, options, FIELDS)
  const compiler = compilerOf(context)
  // A logger whose lines are printed at once: the stats of a build do not have its report, which comes after them.
  const logger = compiler?.getInfrastructureLogger(NAME) ?? context.getLogger(NAME)
  const cache = new LoaderCache(options)
  const warn = (text: string): void => logger.warn(text)
  const info = (text: string): void => logger.info(text)
  const build = { tool: 'loader', root: context.rootContext, inputs: {}, warn, info }
  if (compiler === undefined) cache.begin(build)
  closeBeforeExit({ close: () => cache.end(false).then(() => cache.close()) })
  const one: Alone = { cache, build, compilers: new WeakSet(), timer: undefined }
  alone.set(id, one)
  return one
}
