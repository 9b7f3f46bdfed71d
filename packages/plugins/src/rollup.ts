/**
 * Caches the results of expensive Rollup plugins.
 *
 * @example
 * // rollup.config.js
 * import { cached } from '@varve/plugins/rollup'
 * const options = { presets: ['@babel/preset-env'], babelHelpers: 'bundled' }
 * export default { input: 'src/main.js', plugins: [cached(babel(options), { cacheKey: options })] }
 */
import type { Plugin } from 'rollup'
import { installReads } from 'varve/reads'
import type { CachedPluginOptions } from './rollup/hooks.ts'
import { plainTool, wrapPlugin } from './rollup/tool.ts'

export { CONFIG_FILES } from './build/identity.ts'
export type { CachedOptions, CachedStats } from './build/options.ts'
export type { CachedHook } from './rollup/hooks.ts'
export type { CachedPluginOptions } from './rollup/hooks.ts'

// Before a config creates its plugins, so that all that it reads is recorded. In a shared module this would run for each entry point.
installReads()

/**
 * Puts a cache around a plugin and returns it, or a copy of a frozen one. The cache answers `load` and `transform` if none of their
 * inputs has changed.
 *
 * Throws INVALID_ARGUMENT for what is not one plugin. Throws INVALID_OPTION for unknown or wrong options, for a `cacheKey` that cannot
 * be compared, and for plugins that are known to keep state between their hooks.
 */
export function cached<P extends Plugin>(plugin: P, options: CachedPluginOptions = {}): P {
  return wrapPlugin(plugin, options, plainTool('rollup')).plugin
}
