/**
 * Which cache a loader context belongs to: that of the plugin which attached it, or one of its own where the loader is
 * used alone. That one is written when nothing came in for a while, and closed when the process has nothing else to do.
 */
import { FIELDS, type CachedOptions } from '../build/options.ts'
import { checkOptions } from '../build/validate.ts'
import { LoaderCache } from './cache.ts'
import type { ChainContext, LoaderContext } from './context.ts'

/** How long nothing comes in before what is new is written, milliseconds. */
const QUIET_MS = 200

const attached: WeakMap<ChainContext, LoaderCache> = new WeakMap()

/** Caches of loaders that are used alone, by root and options. */
const alone: Map<string, { readonly cache: LoaderCache; timer: NodeJS.Timeout | undefined }> = new Map()

/** Makes `context` one of `cache`. */
export function attach(context: ChainContext, cache: LoaderCache): void {
  attached.set(context, cache)
}

/** The cache of a context; begun, where the loader is used alone. */
export function cacheOf(context: LoaderContext): LoaderCache {
  const known = attached.get(context)
  if (known !== undefined) return known
  const options: CachedOptions = context.getOptions()
  const id = JSON.stringify([context.rootContext, options])
  return alone.get(id)?.cache ?? makeAlone(id, options, context)
}

/** Something came in: what is new is written when it has been quiet for a while. */
export function noteActivity(cache: LoaderCache): void {
  for (const one of alone.values()) {
    if (one.cache !== cache) continue
    clearTimeout(one.timer)
    one.timer = setTimeout(() => void cache.commit(), QUIET_MS).unref()
  }
}

function makeAlone(id: string, options: CachedOptions, context: LoaderContext): LoaderCache {
  checkOptions("loader '@varve/plugins/loader'", options, FIELDS)
  const logger = context.getLogger('varve')
  const cache = new LoaderCache(options)
  cache.begin({ tool: 'loader', root: context.rootContext, inputs: {}, warn: (text) => logger.warn(text) })
  if (alone.size === 0) process.once('beforeExit', () => alone.forEach((one) => void one.cache.end(false)))
  alone.set(id, { cache, timer: undefined })
  return cache
}
