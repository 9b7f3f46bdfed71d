/**
 * Caches the results of expensive Vite plugins.
 *
 * @example
 * // vite.config.js
 * import { varve } from '@varve/plugins/vite'
 * export default { plugins: [vue(), varve()] }
 */
import type { Plugin } from 'vite'
import { installReads } from 'varve/reads'
import { type CachedPluginOptions, runBefore } from './rollup/hooks.ts'
import { wrapPlugin } from './rollup/tool.ts'
import { ViteTool } from './vite/config.ts'
import { addToKeys, makeVarve, type VarveViteOptions, watchRequests } from './vite/named.ts'
export { CONFIG_FILES } from './build/identity.ts'
export type { CachedOptions, CachedStats } from './build/options.ts'
export type { CachedHook } from './rollup/hooks.ts'
export type { CachedPluginOptions } from './rollup/hooks.ts'
export type { PluginChoice, VarveViteOptions } from './vite/named.ts'

// Before a config creates its plugins, so that all that it reads is recorded. In a shared module this would run for each entry point.
installReads()

/**
 * Caches the results of the plugins that Varve knows, or of the named ones. For a plugin without `cacheKey`, the text of the Vite config and of all its imports
 * replaces its options.
 *
 * Throws INVALID_OPTION for unknown or wrong options. Once the config is resolved, also for a plugin that does not exist or
 * cannot be wrapped.
 */
export function varve(options: VarveViteOptions = {}): Plugin {
  return makeVarve(options)
}

/**
 * Puts a cache around a plugin and returns it, or a copy of a frozen one. The cache answers `load` and `transform` if none of their
 * inputs has changed. Throws as `cached` of `@varve/plugins/rollup` does.
 */
export function cached<P extends Plugin>(given: P, options: CachedPluginOptions = {}): P {
  const tool = new ViteTool()
  const { plugin, cache } = wrapPlugin(given, options, tool)
  runBefore(plugin, 'configResolved', (config) => {
    tool.takeConfig(config)
  })
  runBefore(plugin, 'configureServer', watchRequests)
  runBefore(plugin, 'configureVitest', (context) => {
    addToKeys(context, tool, () => [cache])
  })
  return plugin
}
