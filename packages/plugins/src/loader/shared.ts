/**
 * Finds the cache of a loader context: the cache of the plugin that attached it, or a separate one if the loader is used alone. The
 * separate cache commits when no result has arrived for a while, and is closed on `beforeExit`.
 */
import { closeBeforeExit } from '../build/before-exit.ts'
import { digest } from '../build/digest.ts'
import { FIELDS, type CachedOptions } from '../build/options.ts'
import { checkOptions } from '../build/validate.ts'
import { LoaderCache } from './cache.ts'
import type { ChainContext, LoaderContext, Logger } from './context.ts'

const NAME = '@varve/plugins/loader'

/** Time without new results before they are committed, in milliseconds. */
const QUIET_MS = 200

const attached: WeakMap<ChainContext, LoaderCache> = new WeakMap()

/** Caches of loaders without a plugin, by root and options. */
const alone: Map<string, { readonly cache: LoaderCache; timer: NodeJS.Timeout | undefined }> = new Map()

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
  return alone.get(id)?.cache ?? makeAlone(id, options, context)
}

/** Called for each new result. Delays the commit until no result has arrived for a while. */
export function noteActivity(cache: LoaderCache): void {
  for (const one of alone.values()) {
    if (one.cache !== cache) continue
    clearTimeout(one.timer)
    one.timer = setTimeout(() => void cache.commit(), QUIET_MS).unref()
  }
}

/** A logger whose lines are printed at once: the stats of a build do not have its report, which comes after them. */
function loggerOf(context: LoaderContext): Logger {
  const compiler: unknown = Reflect.get(context, '_compiler')
  return hasLogger(compiler) ? compiler.getInfrastructureLogger(NAME) : context.getLogger(NAME)
}

function hasLogger(compiler: unknown): compiler is { getInfrastructureLogger(name: string): Logger } {
  return typeof compiler === 'object' && compiler !== null && typeof Reflect.get(compiler, 'getInfrastructureLogger') === 'function'
}

function makeAlone(id: string, options: CachedOptions, context: LoaderContext): LoaderCache {
  checkOptions(`loader '${NAME}'`, options, FIELDS)
  const logger = loggerOf(context)
  const cache = new LoaderCache(options)
  cache.begin({ tool: 'loader', root: context.rootContext, inputs: {}, warn: (text) => logger.warn(text), info: (text) => logger.info(text) })
  closeBeforeExit({ close: () => cache.end(false) })
  alone.set(id, { cache, timer: undefined })
  return cache
}
