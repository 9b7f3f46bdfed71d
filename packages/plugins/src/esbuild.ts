/**
 * Caches what expensive esbuild plugins load.
 *
 * @example
 * import { cached } from '@varve/plugins/esbuild'
 * const options = { jsx: 'automatic' }
 * await esbuild.build({ entryPoints: ['main.js'], bundle: true, plugins: [cached(mdx(options), { cacheKey: options })] })
 */
import type { Plugin } from 'esbuild'
import { installReads } from 'varve/reads'
import { digest } from './build/digest.ts'
import { type CachedOptions, FIELDS, type StatelessOption } from './build/options.ts'
import { BOOLEAN, checkOptions, checkPlugin, type Fields } from './build/validate.ts'
import { wrapPlugin } from './esbuild/cached.ts'

export { CONFIG_FILES } from './build/identity.ts'
export type { CachedOptions, CachedStats } from './build/options.ts'

// Before a config creates its plugins, so that all that it reads is recorded. In a shared module this would run for each entry point.
installReads()

/** Options of `cached` for the plugins of esbuild. */
export interface CachedEsbuildOptions extends CachedOptions, StatelessOption {}

const PLUGIN_FIELDS: Fields<CachedEsbuildOptions> = { ...FIELDS, stateless: BOOLEAN }

/**
 * Returns a copy of a plugin with a cache around it. The cache answers `onLoad` if none of its inputs has changed.
 *
 * Throws INVALID_ARGUMENT for what is not one plugin. Throws INVALID_OPTION for unknown or wrong options, and for a `cacheKey` that
 * cannot be compared.
 */
export function cached(plugin: Plugin, options: CachedEsbuildOptions = {}): Plugin {
  checkPlugin(plugin)
  checkOptions('cached()', options, PLUGIN_FIELDS)
  digest(options.cacheKey, 'cacheKey')
  return wrapPlugin(plugin, options)
}
