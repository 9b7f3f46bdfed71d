/**
 * Keeps what expensive plugins of esbuild load, for the next build and the next process.
 *
 * @example
 * import { cached } from '@varve/plugins/esbuild'
 * const options = { jsx: 'automatic' }
 * await esbuild.build({ entryPoints: ['main.js'], bundle: true, plugins: [cached(mdx(options), { cacheKey: options })] })
 */
import type { Plugin } from 'esbuild'
import { digest } from './build/digest.ts'
import { type CachedOptions, FIELDS } from './build/options.ts'
import { checkOptions } from './build/validate.ts'
import { wrapPlugin } from './esbuild/cached.ts'

export { CONFIG_FILES } from './build/identity.ts'
export type { CachedOptions, CachedStats } from './build/options.ts'

/**
 * A plugin like this one, its `onLoad` answered from the cache where nothing it depends on has changed.
 *
 * Throws INVALID_OPTION for options that are unknown or wrong, and for a `cacheKey` that cannot be compared.
 */
export function cached(plugin: Plugin, options: CachedOptions = {}): Plugin {
  checkOptions('cached()', options, FIELDS)
  digest(options.cacheKey, 'cacheKey')
  return wrapPlugin(plugin, options)
}
