/** The plugin `varve({ plugins })`, which wraps the plugins of a config by name once Vite has resolved it. */
import type { Plugin, ResolvedConfig } from 'vite'
import { type CachedOptions, FIELDS } from '../build/options.ts'
import { checkOptions, describe, type Fields, unknownName } from '../build/validate.ts'
import type { PluginCache } from '../rollup/cached.ts'
import type { HookedPlugin } from '../rollup/hooks.ts'
import { type CachedPluginOptions, checkPluginOptions } from '../rollup/options.ts'
import { makeCache } from '../rollup/tool.ts'
import { isWatching } from '../rollup/wrap.ts'
import { ViteTool } from './config.ts'
import { watchRequests } from './requests.ts'
import { addToKeys, type VitestPlugin } from './vitest.ts'

/** A plugin with its own options, which override the shared ones. */
export interface PluginChoice extends Omit<
  CachedPluginOptions,
  'root' | 'dir' | 'engine' | 'maxBytes' | 'readOnly' | 'report'
> {
  /** As in `VarveViteOptions.plugins`. */
  readonly name: string
}

/** Options of `varve`. All but `plugins` apply to each of the plugins. */
export interface VarveViteOptions extends CachedOptions {
  /**
   * Names of the plugins to cache, such as `'vite:vue'`. The prefixes `vite:`, `vite-plugin-`, `rollup-plugin-` and `unplugin-`
   * may be left out. A name that is not found fails the build.
   */
  readonly plugins: readonly (string | PluginChoice)[]
}

const VARVE_FIELDS: Fields<VarveViteOptions> = {
  ...FIELDS,
  plugins: [
    "an array of names such as 'vue', or of { name, cacheKey }",
    (value) => Array.isArray(value) && value.every(isChoice),
  ],
}

/** The plugin. Throws INVALID_OPTION. */
export function makeVarve(options: VarveViteOptions): Plugin & VitestPlugin {
  checkOptions('varve()', options, VARVE_FIELDS)
  const { plugins: choices, ...shared } = options
  const tool = new ViteTool()
  const caches = new Map<HookedPlugin, PluginCache>()
  const all = (work: (cache: PluginCache) => Promise<void>): Promise<unknown> =>
    Promise.all([...caches.values()].map(work))
  return {
    name: 'varve',
    configResolved: {
      // Other plugins may still replace their hooks in their own `configResolved`.
      order: 'post',
      handler(config) {
        tool.takeConfig(config)
        for (const choice of choices) wrapNamed(config, choice, shared, tool, caches)
      },
    },
    configureServer: watchRequests,
    configureVitest(context) {
      addToKeys(context, tool, () => caches.values())
    },
    async buildStart() {
      await all((cache) =>
        cache.begin(
          (text) => this.warn(text),
          (text) => this.info(text),
        ),
      )
    },
    async buildEnd() {
      await all((cache) => cache.end(isWatching(this)))
    },
    watchChange(path) {
      for (const cache of caches.values()) cache.noteChange(path)
    },
    async closeWatcher() {
      await all((cache) => cache.close())
    },
  }
}

function wrapNamed(
  config: ResolvedConfig,
  choice: string | PluginChoice,
  shared: CachedOptions,
  tool: ViteTool,
  caches: Map<HookedPlugin, PluginCache>,
): void {
  const { name, ...own } = typeof choice === 'string' ? { name: choice } : choice
  const found = config.plugins.filter((plugin) => plugin.name === name || shortName(plugin.name) === name)
  if (found.length === 0) {
    const names = config.plugins.map((plugin) => shortName(plugin.name)).filter((one) => one !== 'varve')
    throw unknownName(`varve() finds no plugin ${describe(name)}`, name, names)
  }
  const options = { ...shared, ...own }
  checkPluginOptions(options)
  for (const plugin of found) if (!caches.has(plugin)) caches.set(plugin, makeCache(plugin, options, tool))
}

function shortName(name: string): string {
  return name.replace(/^(?:vite:|vite-plugin-|rollup-plugin-|unplugin-)/, '')
}

function isChoice(value: unknown): boolean {
  return (
    typeof value === 'string' ||
    (typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string')
  )
}
