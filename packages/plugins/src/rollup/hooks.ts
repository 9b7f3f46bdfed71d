/** The plugins of Rollup, Rolldown and Vite as the wrapper uses them, and functions that replace their hooks. */
import { VarveError } from 'varve'
import { digest } from '../build/digest.ts'
import { type CachedOptions, FIELDS, type StatelessOption, checkOptions } from '../build/options.ts'
import { BOOLEAN, type Fields } from 'varve/internal'

/** A plugin. A hook is a function, or an object with a function and a filter, an order or other settings. */
export interface HookedPlugin {
  readonly name: string
  readonly version?: string | undefined
  resolveId?: unknown
  load?: unknown
  transform?: unknown
  configResolved?: unknown
  configureServer?: unknown
  configureVitest?: unknown
  buildStart?: unknown
  buildEnd?: unknown
  closeWatcher?: unknown
  closeBundle?: unknown
  config?: unknown
  options?: unknown
  outputOptions?: unknown
  resolveDynamicImport?: unknown
  shouldTransformCachedModule?: unknown
  moduleParsed?: unknown
  watchChange?: unknown
  handleHotUpdate?: unknown
  hotUpdate?: unknown
}

/** The hooks whose results can be cached. */
export type CachedHook = 'resolveId' | 'load' | 'transform'
export const HOOKS_CACHED: readonly CachedHook[] = ['resolveId', 'load', 'transform']

/** Other hooks in which plugins may read inputs of later results. */
export type OtherHook =
  | 'config'
  | 'options'
  | 'resolveDynamicImport'
  | 'shouldTransformCachedModule'
  | 'moduleParsed'
  | 'closeBundle'

type HookName = CachedHook | LifeHook | OtherHook

/** All hooks that run before the bundle is generated. Results may depend on what these hooks read. */
export const HOOKS: readonly HookName[] = [
  'config',
  'configResolved',
  'options',
  'buildStart',
  'resolveId',
  'resolveDynamicImport',
  'load',
  'shouldTransformCachedModule',
  'transform',
  'moduleParsed',
  'buildEnd',
  'watchChange',
]

/** The hooks that mark the beginning and the end of a build or a server. */
export type LifeHook =
  | 'configResolved'
  | 'configureServer'
  | 'configureVitest'
  | 'buildStart'
  | 'buildEnd'
  | 'closeWatcher'
  | 'watchChange'

/** The function of a hook; `this` is the plugin's context. */
export type Handler = (this: object, ...args: unknown[]) => unknown

/** The hooks that plugins have only because of their cache. */
const added: WeakSet<Handler> = new WeakSet()

/**
 * Replaces the function of a hook by `around(handler)` and returns whether the plugin has this hook. The hook object stays the
 * same, because plugins change the filters of their hooks later and bundlers copy the plugin.
 */
export function wrapHook(plugin: HookedPlugin, name: HookName, around: (handler: Handler) => Handler): boolean {
  const hook = plugin[name]
  if (isHandler(hook)) setHook(plugin, name, around(hook))
  else if (!isHookObject(hook)) return false
  else if (!define(hook, 'handler', around(hook.handler)))
    setHook(plugin, name, { ...hook, handler: around(hook.handler) })
  return true
}

function addHook(plugin: HookedPlugin, name: HookName, hook: Handler): void {
  added.add(hook)
  setHook(plugin, name, hook)
}

/** Defines a hook, also in place of a getter or of a method of the plugin's class. */
function setHook(plugin: HookedPlugin, name: HookName, hook: unknown): void {
  if (!define(plugin, name, hook)) throw unchangeable(plugin)
}

function define(target: object, name: PropertyKey, value: unknown): boolean {
  return Reflect.defineProperty(target, name, { value, configurable: true, enumerable: true, writable: true })
}

/** The error for a plugin whose hooks cannot be replaced in place. */
export function unchangeable({ name }: HookedPlugin): VarveError {
  return new VarveError(
    'INVALID_OPTION',
    `the hooks of plugin '${name}' cannot be replaced, for example because it is frozen. Wrap it with cached()`,
  )
}

/** Whether the hooks of a plugin can be replaced in place. Vite fails to copy an object with a property that is a getter of its class. */
export function isChangeable(plugin: object): boolean {
  const own = Object.values(Object.getOwnPropertyDescriptors(plugin))
  const inherited = inheritedBy(plugin).flatMap((from) => Object.values(Object.getOwnPropertyDescriptors(from)))
  return (
    Object.isExtensible(plugin) &&
    own.every(({ configurable }) => configurable) &&
    inherited.every(({ get }) => get === undefined)
  )
}

/** A copy of a plugin with everything that its class has. */
export function copyOf<P extends object>(plugin: P): P {
  const copy: P = Object.create(Object.prototype)
  for (const from of [plugin, ...inheritedBy(plugin)]) {
    for (const name of Reflect.ownKeys(from))
      if (name !== 'constructor' && !Object.hasOwn(copy, name)) define(copy, name, Reflect.get(plugin, name))
  }
  return copy
}

function inheritedBy(plugin: object): object[] {
  const from = Reflect.getPrototypeOf(plugin)
  return from === null || from === Object.prototype ? [] : [from, ...inheritedBy(from)]
}

/**
 * Calls `before` right before the plugin's own hook, and waits for both. Adds the hook if the plugin does not have it. Tools call the hooks of
 * all plugins in turn and then wait for them, so a hook that is called later runs after those of other plugins.
 */
export function runBefore(plugin: HookedPlugin, name: LifeHook, before: Handler): void {
  const isThere = wrapHook(
    plugin,
    name,
    (handler) =>
      function (...args) {
        const begun = before.apply(this, args)
        if (!(begun instanceof Promise)) return handler.apply(this, args)
        return bothOf(begun, (async () => handler.apply(this, args))())
      },
  )
  if (!isThere) addHook(plugin, name, before)
}

/** The result of the second; waits for both even if one of them fails. */
async function bothOf(before: Promise<unknown>, own: Promise<unknown>): Promise<unknown> {
  await Promise.allSettled([before, own])
  await before
  return own
}

/** Runs `after` after the plugin's own hook, even if that throws. Adds the hook if the plugin does not have it. */
export function runAfter(plugin: HookedPlugin, name: LifeHook, after: Handler): void {
  const isThere = wrapHook(
    plugin,
    name,
    (handler) =>
      async function (...args) {
        try {
          return await handler.apply(this, args)
        } finally {
          await after.apply(this, args)
        }
      },
  )
  if (!isThere) addHook(plugin, name, after)
}

/** Whether a plugin has a hook of its own: a function, also in an object. */
export function isHook(plugin: HookedPlugin, name: string): boolean {
  const hook: unknown = Reflect.get(plugin, name)
  const { handler, transform }: { handler?: unknown; transform?: unknown } =
    typeof hook === 'object' && hook !== null ? hook : {}
  return [hook, handler, transform].some((one) => isHandler(one) && !added.has(one))
}

function isHandler(hook: unknown): hook is Handler {
  return typeof hook === 'function'
}

function isHookObject(hook: unknown): hook is { handler: Handler } {
  return typeof hook === 'object' && hook !== null && 'handler' in hook && typeof hook.handler === 'function'
}

/** Options of `cached` for the plugins of Rollup, Rolldown and Vite. */
export interface CachedPluginOptions extends CachedOptions, StatelessOption {
  /**
   * Hooks whose results are cached. Results of `resolveId` usually depend on which files exist, which plugins do not report.
   * Include it only for a plugin that resolves by name alone.
   * @defaultValue `['load', 'transform']`
   */
  readonly hooks?: readonly CachedHook[] | undefined
}

export const HOOKS_DEFAULT: readonly CachedHook[] = ['load', 'transform']

/** The checks of these options. */
const PLUGIN_FIELDS: Fields<CachedPluginOptions> = {
  ...FIELDS,
  stateless: BOOLEAN,
  hooks: [
    "an array of 'resolveId', 'load' and 'transform'",
    (value) => Array.isArray(value) && value.every((hook) => HOOKS_CACHED.some((name) => name === hook)),
  ],
}

/** Throws INVALID_OPTION if an option is unknown or of the wrong kind, or if the `cacheKey` cannot be compared. */
export function checkPluginOptions(options: CachedPluginOptions): void {
  checkOptions('cached()', options, PLUGIN_FIELDS)
  digest(options.cacheKey, 'cacheKey')
}
