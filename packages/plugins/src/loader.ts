/**
 * A loader that keeps what the loaders behind it make, for webpack and Rspack. In Rspack add `VarveRspackPlugin`; in
 * webpack it works alone, for those who cannot have `VarveWebpackPlugin`.
 *
 * @example
 * // webpack.config.js
 * export default { module: { rules: [{ test: /\.jsx?$/, use: ['@varve/plugins/loader', 'babel-loader'] }] } }
 */
import { unrecorded } from 'varve/reads'
import type { LoaderCache } from './loader/cache.ts'
import type { LoaderContext, Result } from './loader/context.ts'
import { attach, cacheOf, noteActivity } from './loader/shared.ts'

export type { CachedOptions, CachedStats } from './build/options.ts'
export { pitch, keep as default }

/** Content comes as bytes, so that images stay what they are. */
export const raw = true

/** Called before the loaders behind this one; gives their result where it is kept. */
const pitch = function (this: LoaderContext): void {
  void answer(this)
}

/** Called with the result of the loaders behind this one; keeps it and passes it on. */
const keep = function (this: LoaderContext, content: Buffer, map: unknown, meta: unknown): void {
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
  // What the tool does next, such as watching files, is no work of these loaders.
  unrecorded(() => callback(null, content, map, meta))
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
