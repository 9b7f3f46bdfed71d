/**
 * Keeps what expensive plugins of Vite make of each module, for the next build and the next process.
 *
 * @example
 * // vite.config.js
 * import { varve } from '@varve/plugins/vite'
 * export default { plugins: [vue(), varve({ plugins: ['vue'] })] }
 */
import type { Plugin } from 'vite'
import { runBefore } from './rollup/hooks.ts'
import type { CachedPluginOptions } from './rollup/options.ts'
import { wrapPlugin } from './rollup/tool.ts'
import { ViteTool } from './vite/config.ts'
import { makeVarve, type VarveViteOptions } from './vite/named.ts'

export { CONFIG_FILES } from './build/identity.ts'
export type { CachedOptions, CachedStats } from './build/options.ts'
export type { CachedHook } from './rollup/hooks.ts'
export type { CachedPluginOptions } from './rollup/options.ts'
export type { PluginChoice, VarveViteOptions } from './vite/named.ts'

/**
 * Keeps the results of the plugins of these names. Where a plugin has no `cacheKey`, the text of the Vite config and of all
 * it imports stands for its options.
 *
 * Throws INVALID_OPTION for options that are unknown or wrong; for plugins that are not there or cannot be wrapped once
 * the config is resolved.
 */
export function varve(options: VarveViteOptions): Plugin {
  return makeVarve(options)
}

/**
 * The same plugin, its `load` and `transform` answered from the cache where nothing they depend on has changed. Throws
 * as `cached` of Rollup does.
 */
export function cached<P extends Plugin>(plugin: P, options: CachedPluginOptions = {}): P {
  const tool = new ViteTool()
  wrapPlugin(plugin, options, tool)
  runBefore(plugin, 'configResolved', (config) => {
    tool.takeConfig(config)
  })
  return plugin
}
