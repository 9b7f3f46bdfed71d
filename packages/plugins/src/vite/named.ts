/**
 * The plugin `varve()`, which wraps plugins of a config, those that are known or named, once Vite has resolved it. It also extends Vitest's
 * keys.
 */
import type { VarveError } from 'varve'
import type { Plugin, ResolvedConfig, ViteDevServer } from 'vite'
import { type CachedOptions, FIELDS, checkOptions } from '../build/options.ts'
import { describe, type Fields, unknownName } from 'varve/internal'
import type { PluginCache } from '../rollup/cached.ts'
import {
  type CachedPluginOptions,
  checkPluginOptions,
  type HookedPlugin,
  HOOKS_DEFAULT,
  isChangeable,
  isHook,
} from '../rollup/hooks.ts'
import { isKnownSafe } from '../rollup/state.ts'
import { isWatching, makeCache } from '../rollup/tool.ts'
import { ViteTool } from './config.ts'
import { adviceOf, phraseOf, recordUncached, type Survey, surveyOf } from './survey.ts'
import { noteRequest } from '../build/server.ts'
import { digestOfTexts } from '../build/digest.ts'
import { valueText } from '../build/identity.ts'

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
   * @defaultValue `'auto'`: the plugins of the config that Varve was tested with and that keep nothing between their hooks, such as those of
   * Vue, React with Babel, Solid and MDX
   */
  readonly plugins?: 'auto' | readonly (string | PluginChoice)[] | undefined
}

/** What is used of the context of a hook. */
type LoggingContext = Record<'warn' | 'info', (text: string) => void>

const VARVE_FIELDS: Fields<VarveViteOptions> = {
  ...FIELDS,
  plugins: [
    "'auto', or an array of names such as 'vue', or of { name, cacheKey }",
    (value) => value === 'auto' || (Array.isArray(value) && value.every(isChoice)),
  ],
}

/** The plugin. Throws INVALID_OPTION. */
export function makeVarve(options: VarveViteOptions): Plugin & VitestPlugin {
  checkOptions('varve()', options, VARVE_FIELDS)
  const { plugins: choices = 'auto', ...shared } = options
  const tool = new ViteTool()
  const caches = new Map<HookedPlugin, PluginCache>()
  /** What begins to build without a cache; a config has it once, although each environment begins a build. */
  let survey: Survey | undefined
  const logOf = (context: LoggingContext) => (level: 'warn' | 'info') => (text: string) => {
    // Vite 5, which has no environments, puts a prefix before that of Rollup.
    const isPrefixed = Reflect.get(context, 'environment') === undefined
    // A report was asked for, so it is printed even if the config hides the log.
    if (level === 'info' && tool.isInfoHidden()) process.stderr.write(`[plugin varve] ${text}\n`)
    else if (!isPrefixed || !tool.log(level, text)) context[level](text)
  }
  const all = (work: (cache: PluginCache) => Promise<void>): Promise<unknown> =>
    Promise.all([...caches.values()].map(work))
  return {
    name: 'varve',
    configResolved: {
      // Other plugins may still replace their hooks in their own `configResolved`.
      order: 'post',
      handler(config) {
        tool.takeConfig(config)
        if (choices === 'auto') wrapAll(config.plugins.filter(isCacheable), shared, tool, caches)
        else for (const choice of choices) wrapNamed(config, choice, shared, tool, caches)
      },
    },
    configureServer: watchRequests,
    configureVitest(context) {
      addToKeys(context, tool, () => caches.values())
    },
    async buildStart() {
      const logged = logOf(this)
      if (caches.size === 0 && choices === 'auto' && survey === undefined) {
        survey = surveyOf(tool.plugins())
        logged('warn')(adviceOf(survey))
      }
      await all((cache) => cache.begin(logged('warn'), logged('info')))
    },
    async buildEnd(error) {
      if (survey !== undefined && error === undefined && !tool.isServer() && !isWatching(this)) {
        const logged = logOf(this)
        const build = { modules: [...this.getModuleIds()].length, reason: phraseOf(survey), root: tool.root() }
        await recordUncached({ ...build, options: shared, warn: logged('warn'), info: logged('info') })
      }
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
  if (found.length === 0) throw notFound(name, config.plugins)
  const options = { ...shared, ...own }
  checkPluginOptions(options)
  wrapAll(found, options, tool, caches)
}

function wrapAll(
  plugins: readonly HookedPlugin[],
  options: CachedPluginOptions,
  tool: ViteTool,
  caches: Map<HookedPlugin, PluginCache>,
): void {
  for (const plugin of plugins) if (!caches.has(plugin)) caches.set(plugin, makeCache(plugin, options, tool))
}

/** Whether a plugin is cached without its name in the options. */
function isCacheable(plugin: HookedPlugin): boolean {
  return isKnownSafe(plugin) && isChangeable(plugin) && HOOKS_DEFAULT.some((hook) => isHook(plugin, hook))
}

/** A package has plugins with other names: that of `@vitejs/plugin-react` is `vite:react-babel`. */
function notFound(name: string, plugins: readonly HookedPlugin[]): VarveError {
  const word = name.toLowerCase()
  const isPart = (one: HookedPlugin): boolean => shortName(one.name).toLowerCase().split(/[-:/]/).includes(word)
  const part = plugins.find((one) => isKnownSafe(one) && isPart(one)) ?? plugins.find(isPart)
  const names = plugins.map((plugin) => shortName(plugin.name)).filter((one) => one !== 'varve')
  const advice = part === undefined ? undefined : `did you mean '${shortName(part.name)}'?`
  return unknownName(`varve() finds no plugin ${describe(name)}`, name, names, advice)
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

/** The hook `configureServer`: notes each request before the server answers it. */
export function watchRequests(server: unknown): void {
  if (!isServer(server)) return
  server.middlewares.use((_request, _response, next) => {
    noteRequest()
    next()
  })
}

function isServer(server: unknown): server is ViteDevServer {
  return typeof server === 'object' && server !== null && 'middlewares' in server
}

// Vitest's own cache of modules, option `experimental.fsModuleCache`. Its keys have the source of a module, the config and the lock file. Varve
// adds the inputs that all results of its plugins in an environment share, so that a change of one of them is a miss in that cache, too.

/** A plugin with the hook that Vitest calls before it runs tests. */
export interface VitestPlugin {
  configureVitest(context: unknown): void
}

/** Vitest calls it for each module: a text for the key, false for a module that its cache must not have. */
type KeyGenerator = (module: { readonly environment: object }) => string | false | undefined

type Define = (generator: KeyGenerator) => void

/** The hook `configureVitest`. Versions of Vitest without keys of this kind are left as they are. */
export function addToKeys(context: unknown, tool: ViteTool, caches: () => Iterable<PluginCache>): void {
  if (!hasKeys(context)) return
  context.experimental_defineCacheKeyGenerator(({ environment }) => {
    if (!tool.hasEnvironment(environment)) return undefined // of another project, whose plugins answer
    const all = [...caches()].map((cache) => cache.inputsIn({ environment }))
    // An input that changed while the process runs may be in memory of a plugin, as it was.
    return all.every((inputs) => inputs !== undefined)
      ? digestOfTexts(
          all.flatMap((inputs) => Object.entries(inputs).flatMap(([name, value]) => [name, valueText(value)])),
        )
      : false
  })
}

function hasKeys(context: unknown): context is { readonly experimental_defineCacheKeyGenerator: Define } {
  return (
    typeof context === 'object' &&
    context !== null &&
    typeof Reflect.get(context, 'experimental_defineCacheKeyGenerator') === 'function'
  )
}
