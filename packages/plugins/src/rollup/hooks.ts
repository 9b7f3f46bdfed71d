/** The plugins of Rollup, Rolldown and Vite as far as a wrapper sees them, and how their hooks are replaced. */

/** A plugin; its hooks are functions, or objects with a function and a filter, an order and the like. */
export interface HookedPlugin {
  readonly name: string
  readonly version?: string | undefined
  resolveId?: unknown
  load?: unknown
  transform?: unknown
  configResolved?: unknown
  buildStart?: unknown
  buildEnd?: unknown
  closeWatcher?: unknown
  config?: unknown
  options?: unknown
  outputOptions?: unknown
  resolveDynamicImport?: unknown
  shouldTransformCachedModule?: unknown
  moduleParsed?: unknown
  watchChange?: unknown
}

/** The hooks whose results are kept. */
export type CachedHook = 'resolveId' | 'load' | 'transform'

/** Hooks in which plugins may read what decides later ones. */
export type OtherHook = 'config' | 'options' | 'resolveDynamicImport' | 'shouldTransformCachedModule' | 'moduleParsed' | 'watchChange'

/** All hooks that run before the results of plugins are put together: what they read may decide those. */
export const HOOKS: readonly (CachedHook | LifeHook | OtherHook)[] = [
  'config', 'configResolved', 'options', 'buildStart', 'resolveId', 'resolveDynamicImport', 'load', 'shouldTransformCachedModule', 'transform',
  'moduleParsed', 'buildEnd', 'watchChange',
]

/** The hooks that say when a build begins and ends. */
export type LifeHook = 'configResolved' | 'buildStart' | 'buildEnd' | 'closeWatcher'

/** The function of a hook; `this` is the plugin's context. */
export type Handler = (this: object, ...args: unknown[]) => unknown

/**
 * Puts `around(handler)` in the place of a hook's function, in the hook itself: plugins change their hooks' filters
 * later, and bundlers copy the plugin. Returns whether there is such a hook.
 */
export function wrapHook(plugin: HookedPlugin, name: CachedHook | LifeHook | OtherHook, around: (handler: Handler) => Handler): boolean {
  const hook = plugin[name]
  if (isHandler(hook)) plugin[name] = around(hook)
  else if (isHookObject(hook)) hook.handler = around(hook.handler)
  else return false
  return true
}

/** Runs `before` before the plugin's own hook, and makes the hook where there is none. */
export function runBefore(plugin: HookedPlugin, name: LifeHook, before: Handler): void {
  const isThere = wrapHook(plugin, name, (handler) => async function (...args) {
    await before.apply(this, args)
    return handler.apply(this, args)
  })
  if (!isThere) plugin[name] = before
}

/** Runs `after` after the plugin's own hook, even where that throws, and makes the hook where there is none. */
export function runAfter(plugin: HookedPlugin, name: LifeHook, after: Handler): void {
  const isThere = wrapHook(plugin, name, (handler) => async function (...args) {
    try {
      return await handler.apply(this, args)
    } finally {
      await after.apply(this, args)
    }
  })
  if (!isThere) plugin[name] = after
}

function isHandler(hook: unknown): hook is Handler {
  return typeof hook === 'function'
}

function isHookObject(hook: unknown): hook is { handler: Handler } {
  return typeof hook === 'object' && hook !== null && 'handler' in hook && typeof hook.handler === 'function'
}
