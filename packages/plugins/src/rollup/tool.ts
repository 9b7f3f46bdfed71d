/** Wraps plugins, for Rollup, Rolldown and Vite: a cache around their hooks, whose arguments become an id, inputs and files. */
import { VarveError } from 'varve'
import { checkPlugin } from '../build/options.ts'
import { type HookCall, PluginCache, type Tool } from './cached.ts'
import {
  type CachedHook,
  type CachedPluginOptions,
  checkPluginOptions,
  copyOf,
  type Handler,
  type HookedPlugin,
  HOOKS,
  HOOKS_DEFAULT,
  isChangeable,
  runAfter,
  runBefore,
  unchangeable,
  wrapHook,
} from './hooks.ts'
import { isAbsolute } from 'node:path'
import { digest } from '../build/digest.ts'
import { isFile } from '../host/files.ts'
import { hasMark } from '../build/root.ts'
import { uncachedContext } from './contexts.ts'
import { hasHiddenFiles } from './state.ts'

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

/** The description of a call, or the reason why it cannot be cached. */
type Described = Omit<HookCall, 'hook' | 'work'> | string

/** `relative` puts a mark in place of the root. */
type Describe = (plugin: string, args: readonly unknown[], relative: (text: string) => string) => Described

const DESCRIBE: { readonly [Hook in CachedHook]: Describe } = {
  transform: (plugin, [code, id, options], relative) => {
    if (typeof code !== 'string' || typeof id !== 'string') return 'is called with something unknown'
    if (hasHiddenFiles(plugin, id, code)) return 'reads files that it does not report'
    if (hasMark(code)) return 'holds the mark of the root'
    // A plugin may make a part of a file with what it knows of the whole.
    const whole = id.includes('?') ? fileOf(id) : undefined
    const inputs = { code: relative(code), call: callDigest(options, relative) }
    return { id, code, inputs, files: whole === undefined ? [] : [whole] }
  },
  load: (plugin, [id, options], relative) => {
    if (typeof id !== 'string') return 'is called with something unknown'
    const path = fileOf(id)
    if (path === undefined) return 'does not load a file'
    if (hasHiddenFiles(plugin, id, undefined)) return 'reads files that it does not report'
    return { id, inputs: { call: callDigest(options, relative) }, files: [path] }
  },
  resolveId: (_, [source, importer = '', options], relative) => {
    if (typeof source !== 'string' || typeof importer !== 'string') return 'is called with something unknown'
    return { id: `${source} from ${importer}`, inputs: { call: callDigest(options, relative) }, files: [] }
  },
}

/** Answers the plugin's `hooks` from `cache`. Returns those hooks that the plugin has. */
function wrapCalls(plugin: HookedPlugin, hooks: readonly CachedHook[], cache: PluginCache): CachedHook[] {
  return hooks.filter((hook) => wrapHook(plugin, hook, (handler) => wrapHandler(plugin.name, hook, handler, cache)))
}

/** Records what the plugin's other hooks read. */
function wrapOthers(plugin: HookedPlugin, hooks: readonly CachedHook[], cache: PluginCache): void {
  const wrapped: readonly string[] = hooks
  for (const name of HOOKS) {
    if (wrapped.includes(name)) continue
    wrapHook(
      plugin,
      name,
      (handler) =>
        function (...args) {
          return cache.runUncached(this, (context) => handler.apply(context, args))
        },
    )
  }
  // After the build nothing is recorded, but a plugin may look up what it keeps by context.
  for (const name of ['closeBundle', 'closeWatcher'] as const) {
    wrapHook(
      plugin,
      name,
      (handler) =>
        function (...args) {
          return handler.apply(uncachedContext(this), args)
        },
    )
  }
}

/** Opens and closes `cache` with the builds of the plugin. */
function wrapLife(plugin: HookedPlugin, cache: PluginCache): void {
  runBefore(plugin, 'buildStart', function (options) {
    const logged = (level: 'warn' | 'info') => (text: string) =>
      void Reflect.apply(Reflect.get(this, level), this, [text])
    return cache.begin(logged('warn'), logged('info'), options)
  })
  runAfter(plugin, 'buildEnd', function () {
    return cache.end(isWatching(this))
  })
  runBefore(plugin, 'watchChange', (path) => void (typeof path === 'string' && cache.noteChange(path)))
  runAfter(plugin, 'closeWatcher', () => cache.close())
}

/** Whether the tool of this context will build again. */
export function isWatching(context: object): boolean {
  const meta: unknown = Reflect.get(context, 'meta')
  return typeof meta === 'object' && meta !== null && 'watchMode' in meta && meta.watchMode === true
}

function wrapHandler(plugin: string, hook: CachedHook, handler: Handler, cache: PluginCache): Handler {
  const answer: Handler = function (...args) {
    const described = tryDescribe(hook, plugin, args, (text) => cache.relative(text))
    if (typeof described === 'string') {
      cache.count(described)
      return cache.runUncached(this, (context) => handler.apply(context, args))
    }
    return cache.run(this, { ...described, hook, work: (context) => handler.apply(context, args) })
  }
  return function (...args) {
    // Rollup calls hooks for modules that plugins emit in `buildStart` while other plugins are in theirs.
    const run = (): unknown => answer.apply(this, args)
    return cache.beginning === undefined ? run() : cache.beginning.then(run, run)
  }
}

function tryDescribe(hook: CachedHook, ...call: Parameters<Describe>): Described {
  try {
    return DESCRIBE[hook](...call)
  } catch {
    return 'has arguments that cannot be compared'
  }
}

/** Digest of the last argument of a hook: server or client, import attributes, the type of the module, the source map so far. */
function callDigest(options: unknown, relative: (text: string) => string): string {
  return options === undefined ? '' : digest(options, 'options', relative)
}

/** The file that an id names; undefined if there is no such file. */
function fileOf(id: string): string | undefined {
  const [path = ''] = id.split('?', 1)
  return isAbsolute(path) && isFile(path) ? path : undefined
}
