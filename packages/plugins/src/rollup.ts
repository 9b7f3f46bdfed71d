/**
 * Keeps what expensive plugins of Rollup make of each module, for the next build and the next process.
 *
 * @example
 * // rollup.config.js
 * import { cached } from '@varve/plugins/rollup'
 * const options = { presets: ['@babel/preset-env'], babelHelpers: 'bundled' }
 * export default { input: 'src/main.js', plugins: [cached(babel(options), { cacheKey: options })] }
 */
import type { Plugin } from 'rollup'
import type { CachedPluginOptions } from './rollup/options.ts'
import { plainTool, wrapPlugin } from './rollup/tool.ts'

export { CONFIG_FILES } from './build/identity.ts'
export type { CachedOptions, CachedStats } from './build/options.ts'
export type { CachedHook } from './rollup/hooks.ts'
export type { CachedPluginOptions } from './rollup/options.ts'

/**
 * The same plugin, its `load` and `transform` answered from the cache where nothing they depend on has changed.
 *
 * Throws INVALID_OPTION for options that are unknown or wrong, for a `cacheKey` that cannot be compared, and for plugins that
 * are known to remember things between their hooks.
 */
export function cached<P extends Plugin>(plugin: P, options: CachedPluginOptions = {}): P {
  wrapPlugin(plugin, options, plainTool('rollup'))
  return plugin
}
