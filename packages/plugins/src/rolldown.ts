/**
 * Caches the results of expensive Rolldown plugins. Options and rules are those of `@varve/plugins/rollup`.
 *
 * @example
 * // rolldown.config.js
 * import { cached } from '@varve/plugins/rolldown'
 * export default { input: 'src/main.js', plugins: [cached(mdx(options), { cacheKey: options })] }
 */
import type { Plugin } from 'rolldown'
import { installReads } from 'varve/reads'
import type { CachedPluginOptions } from './rollup/hooks.ts'
import { plainTool, wrapPlugin } from './rollup/tool.ts'

export { CONFIG_FILES } from './build/identity.ts'
export type { CachedOptions, CachedStats } from './build/options.ts'
export type { CachedHook } from './rollup/hooks.ts'
export type { CachedPluginOptions } from './rollup/hooks.ts'

// Before a config creates its plugins, so that all that it reads is recorded. In a shared module this would run for each entry point.
installReads()

/** Puts a cache around a plugin and returns it, or a copy of a frozen one. Throws as `cached` of `@varve/plugins/rollup` does. */
export function cached<P extends Plugin>(plugin: P, options: CachedPluginOptions = {}): P {
  return wrapPlugin(plugin, options, plainTool('rolldown')).plugin
}
