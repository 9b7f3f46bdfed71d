/** Puts a cache around the hooks of a plugin: what each hook is called with becomes an id, inputs and files. */
import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { digest } from '../build/digest.ts'
import type { HookCall, PluginCache } from './cached.ts'
import { type CachedHook, type Handler, HOOKS, type HookedPlugin, runAfter, runBefore, wrapHook } from './hooks.ts'
import { hasHiddenFiles } from './known.ts'

/** The call as it is kept, or in words why it cannot be. */
type Described = Omit<HookCall, 'hook' | 'work'> | string

type Describe = (plugin: string, args: readonly unknown[]) => Described

const DESCRIBE: { readonly [Hook in CachedHook]: Describe } = {
  transform: (plugin, [code, id, options]) => {
    if (typeof code !== 'string' || typeof id !== 'string') return 'is called with something unknown'
    if (hasHiddenFiles(plugin, id, code)) return 'reads files without telling'
    return { id, inputs: { code, call: callDigest(options) }, files: [] }
  },
  load: (plugin, [id, options]) => {
    if (typeof id !== 'string') return 'is called with something unknown'
    const path = fileOf(id)
    if (path === undefined) return 'loads what is no file'
    if (hasHiddenFiles(plugin, id, undefined)) return 'reads files without telling'
    return { id, inputs: { call: callDigest(options) }, files: [path] }
  },
  resolveId: (_, [source, importer = '', options]) => {
    if (typeof source !== 'string' || typeof importer !== 'string') return 'is called with something unknown'
    return { id: `${source} from ${importer}`, inputs: { call: callDigest(options) }, files: [] }
  },
}

/** Answers the plugin's `hooks` from `cache`. Returns those that it has. */
export function wrapCalls(plugin: HookedPlugin, hooks: readonly CachedHook[], cache: PluginCache): CachedHook[] {
  return hooks.filter((hook) => wrapHook(plugin, hook, (handler) => wrapHandler(plugin.name, hook, handler, cache)))
}

/** Has everything recorded that the plugin's other hooks read. */
export function wrapOthers(plugin: HookedPlugin, hooks: readonly CachedHook[], cache: PluginCache): void {
  const wrapped: readonly string[] = hooks
  for (const name of HOOKS) {
    if (wrapped.includes(name)) continue
    wrapHook(plugin, name, (handler) => function (...args) {
      return cache.beside(this, (context) => handler.apply(context, args))
    })
  }
}

/** Opens and closes `cache` with the builds of the plugin. */
export function wrapLife(plugin: HookedPlugin, cache: PluginCache): void {
  runBefore(plugin, 'buildStart', function () {
    return cache.begin((text) => void Reflect.apply(Reflect.get(this, 'warn'), this, [text]))
  })
  runAfter(plugin, 'buildEnd', function () {
    return cache.end(isWatching(this))
  })
  runAfter(plugin, 'closeWatcher', () => cache.close())
}

/** Whether the tool of this context will build again. */
export function isWatching(context: object): boolean {
  const meta: unknown = Reflect.get(context, 'meta')
  return typeof meta === 'object' && meta !== null && 'watchMode' in meta && meta.watchMode === true
}

function wrapHandler(plugin: string, hook: CachedHook, handler: Handler, cache: PluginCache): Handler {
  return function (...args) {
    const described = tryDescribe(hook, plugin, args)
    if (typeof described === 'string') {
      cache.count(described)
      return cache.beside(this, (context) => handler.apply(context, args))
    }
    return cache.run(this, { ...described, hook, work: (context) => handler.apply(context, args) })
  }
}

function tryDescribe(hook: CachedHook, plugin: string, args: readonly unknown[]): Described {
  try {
    return DESCRIBE[hook](plugin, args)
  } catch {
    return 'is called with what cannot be compared'
  }
}

/** Digest of the last argument of a hook: whether for the server, attributes, the type of the module. */
function callDigest(options: unknown): string {
  return options === undefined ? '' : digest(options, 'options')
}

/** The file that an id names, if it names one. */
function fileOf(id: string): string | undefined {
  const [path = ''] = id.split('?', 1)
  return isAbsolute(path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true ? path : undefined
}
