/** Wraps whole plugins, for Rollup, Rolldown and Vite. */
import { VarveError } from 'varve'
import { checkPlugin } from '../build/validate.ts'
import { PluginCache, type Tool } from './cached.ts'
import { copyOf, type HookedPlugin, isChangeable, unchangeable } from './hooks.ts'
import { type CachedPluginOptions, checkPluginOptions, HOOKS_DEFAULT } from './options.ts'
import { wrapCalls, wrapLife, wrapOthers } from './wrap.ts'

/** A tool whose config is not visible to plugins. Its version is in the context; its root is the working directory. */
export function plainTool(name: string): Tool {
  return {
    name,
    isOn: () => true,
    isServer: () => false,
    root: () => process.cwd(),
    key: () => undefined,
    modules: () => [],
    inputs: (context) => ({ tool: versionsOf(context) }),
  }
}

/** Versions and mode of the tool, from its context. */
export function versionsOf(context: object): string {
  const meta: unknown = Reflect.get(context, 'meta')
  if (typeof meta !== 'object' || meta === null) return ''
  const names = ['rollupVersion', 'rolldownVersion', 'viteVersion', 'watchMode']
  return names.map((name) => String(Reflect.get(meta, name) ?? '-')).join(' ')
}

/** A plugin with its cache. */
interface Wrapped<P> {
  readonly plugin: P
  readonly cache: PluginCache
}

/**
 * Puts a cache around a plugin, or around a copy of one that cannot be changed. The builds of the plugin open and close the cache. Throws
 * INVALID_OPTION.
 */
export function wrapPlugin<P extends HookedPlugin>(given: P, options: CachedPluginOptions, tool: Tool): Wrapped<P> {
  checkPlugin(given)
  checkPluginOptions(options)
  const plugin = isChangeable(given) ? given : copyOf(given)
  const cache = makeCache(plugin, options, tool)
  wrapLife(plugin, cache)
  return { plugin, cache }
}

/** Puts a cache around the hooks of a plugin and returns it. Throws INVALID_OPTION if the plugin cannot be wrapped. */
export function makeCache(plugin: HookedPlugin, options: CachedPluginOptions, tool: Tool): PluginCache {
  if (!isChangeable(plugin)) throw unchangeable(plugin)
  const cache = new PluginCache(plugin, options, tool)
  if (wrapCalls(plugin, options.hooks ?? HOOKS_DEFAULT, cache).length === 0) {
    const problem = `plugin '${plugin.name}' cannot be cached: it has none of these hooks`
    throw new VarveError('INVALID_OPTION', `${problem}. Use it without Varve`)
  }
  wrapOthers(plugin, options.hooks ?? HOOKS_DEFAULT, cache)
  return cache
}
