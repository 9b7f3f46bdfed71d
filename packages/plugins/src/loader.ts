/**
 * A loader that keeps what the loaders behind it make, for webpack and Rspack. In Rspack add `VarveRspackPlugin`; in
 * webpack it works alone, for those who cannot have `VarveWebpackPlugin`.
 *
 * @example
 * // webpack.config.js
 * export default { module: { rules: [{ test: /\.jsx?$/, use: ['@varve/plugins/loader', 'babel-loader'] }] } }
 */
import type { LoaderContext } from './loader/context.ts'
import { attach, cacheOf, noteActivity } from './loader/shared.ts'

export type { CachedOptions, CachedStats } from './build/options.ts'

/** Content comes as bytes, so that images stay what they are. */
export const raw = true

/** Called before the loaders behind this one; gives their result where it is kept. */
export function pitch(this: LoaderContext): void {
  const callback = this.async()
  const find = async (): Promise<void> => {
    const cache = await cacheOf(this)
    if (!cache.isListening(this)) {
      attach(this, cache)
      cache.listen(this, this.resource)
    }
    const found = await cache.find(this)
    if (found === undefined) callback(null)
    else callback(null, Buffer.from(found.content), found.map ?? undefined, found.meta ?? undefined)
  }
  find().catch(callback)
}

/** Called with the result of the loaders behind this one; keeps it and passes it on. */
export default function keep(this: LoaderContext, content: Buffer, map: unknown, meta: unknown): void {
  const callback = this.async()
  const put = async (): Promise<void> => {
    const cache = await cacheOf(this)
    await cache.keep(this, { content, map, meta })
    noteActivity(cache)
  }
  put().then(() => callback(null, content, map, meta), callback)
}
