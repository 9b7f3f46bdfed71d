/** Wraps whole plugins, for Rollup and Rolldown as they are and for Vite with what it adds. */
import { VarveError } from 'varve'
import { PluginCache, type Tool } from './cached.ts'
import type { HookedPlugin } from './hooks.ts'
import { refusalOf } from './known.ts'
import { type CachedPluginOptions, checkPluginOptions, HOOKS_DEFAULT } from './options.ts'
import { wrapCalls, wrapLife, wrapOthers } from './wrap.ts'

/** A tool whose config nobody sees: the version is in the context, the root is the working directory. */
export function plainTool(name: string): Tool {
  return {
    name,
    isOn: () => true,
    root: () => process.cwd(),
    key: () => undefined,
    modules: () => [],
    inputs: (context) => ({ tool: versionsOf(context) }),
  }
}

/** Versions and mode of the tool, as its context tells them. */
export function versionsOf(context: object): string {
  const meta: unknown = Reflect.get(context, 'meta')
  if (typeof meta !== 'object' || meta === null) return ''
  const names = ['rollupVersion', 'rolldownVersion', 'viteVersion', 'watchMode']
  return names.map((name) => String(Reflect.get(meta, name) ?? '-')).join(' ')
}

/** Puts a cache around a plugin, in place; the plugin's builds open and close it. Throws INVALID_OPTION. */
export function wrapPlugin(plugin: HookedPlugin, options: CachedPluginOptions, tool: Tool): void {
  checkPluginOptions(options)
  wrapLife(plugin, makeCache(plugin, options, tool))
}

/** The cache around the hooks of a plugin. Throws INVALID_OPTION for one that cannot be wrapped. */
export function makeCache(plugin: HookedPlugin, options: CachedPluginOptions, tool: Tool): PluginCache {
  const refuse = (reason: string): VarveError =>
    new VarveError('INVALID_OPTION', `plugin '${plugin.name}' cannot be cached: ${reason}; take it out of the list`)
  const refusal = refusalOf(plugin.name)
  if (refusal !== undefined) throw refuse(refusal)
  const cache = new PluginCache(plugin, options, tool)
  if (wrapCalls(plugin, options.hooks ?? HOOKS_DEFAULT, cache).length === 0) throw refuse('it has none of these hooks')
  wrapOthers(plugin, options.hooks ?? HOOKS_DEFAULT, cache)
  return cache
}
