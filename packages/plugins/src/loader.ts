/**
 * A loader for webpack and Rspack that caches the result of the loaders after it. Rspack also needs `VarveRspackPlugin`. In webpack
 * the loader works alone, for builds that cannot use `VarveWebpackPlugin`.
 *
 * @example
 * // webpack.config.js
 * export default { module: { rules: [{ test: /\.jsx?$/, use: ['@varve/plugins/loader', 'babel-loader'] }] } }
 */
import { installReads } from 'varve/reads'
import { runForeign } from './host/files.ts'
import type { LoaderCache } from './loader/cache.ts'
import type { LoaderContext, Result } from './loader/entry.ts'
import { attach, cacheOf, noteActivity } from './loader/shared.ts'

export type { CachedOptions, CachedStats } from './build/options.ts'
export { pitch, normal as default }

// Before a config creates its plugins, so that all that it reads is recorded. In a shared module this would run for each entry point.
installReads()

/** The loader gets content as bytes, so that images stay unchanged. */
export const raw = true

/** Called before the loaders after this one. Returns their result if it is cached. */
const pitch = function (this: LoaderContext): void {
  void answer(this)
}

/** Called with the result of the loaders after this one. Stores it and passes it on. */
const normal = function (this: LoaderContext, content: Buffer, map: unknown, meta: unknown): void {
  void passOn(this, content, map, meta)
}

async function answer(context: LoaderContext): Promise<void> {
  const callback = context.async()
  let cache: LoaderCache
  let found: Result | undefined
  try {
    cache = cacheOf(context)
    if (!cache.isListening(context)) {
      attach(context, cache)
      cache.listen(context)
    }
    found = await cache.find(context)
  } catch (error) {
    callback(asError(error))
    return
  }
  if (found === undefined) cache.runChain(context, () => callback(null))
  else callback(null, Buffer.from(found.content), found.map ?? undefined, found.meta ?? undefined)
}

async function passOn(context: LoaderContext, content: Buffer, map: unknown, meta: unknown): Promise<void> {
  const callback = context.async()
  try {
    const cache = cacheOf(context)
    await cache.keep(context, { content, map, meta })
    noteActivity(cache)
  } catch (error) {
    callback(asError(error))
    return
  }
  // What the tool does next, such as watching files, is not work of these loaders.
  runForeign(() => callback(null, content, map, meta))
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
