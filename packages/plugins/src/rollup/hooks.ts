/** The plugins of Rollup, Rolldown and Vite as the wrapper uses them, and functions that replace their hooks. */

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
export type OtherHook = 'config' | 'options' | 'resolveDynamicImport' | 'shouldTransformCachedModule' | 'moduleParsed'

/** All hooks that run before the bundle is generated. Results may depend on what these hooks read. */
export const HOOKS: readonly (CachedHook | LifeHook | OtherHook)[] = [
  'config', 'configResolved', 'options', 'buildStart', 'resolveId', 'resolveDynamicImport', 'load', 'shouldTransformCachedModule', 'transform',
  'moduleParsed', 'buildEnd', 'watchChange',
]

/** The hooks that mark the beginning and the end of a build or a server. */
export type LifeHook = 'configResolved' | 'configureServer' | 'configureVitest' | 'buildStart' | 'buildEnd' | 'closeWatcher' | 'watchChange'

/** The function of a hook; `this` is the plugin's context. */
export type Handler = (this: object, ...args: unknown[]) => unknown

/**
 * Replaces the function of a hook by `around(handler)` and returns whether the plugin has this hook. The hook object stays the
 * same, because plugins change the filters of their hooks later and bundlers copy the plugin.
 */
export function wrapHook(plugin: HookedPlugin, name: CachedHook | LifeHook | OtherHook, around: (handler: Handler) => Handler): boolean {
  const hook = plugin[name]
  if (isHandler(hook)) plugin[name] = around(hook)
  else if (isHookObject(hook)) hook.handler = around(hook.handler)
  else return false
  return true
}

/**
 * Calls `before` right before the plugin's own hook, and waits for both. Adds the hook if the plugin does not have it. Tools call the hooks of
 * all plugins in turn and then wait for them, so a hook that is called later runs after those of other plugins.
 */
export function runBefore(plugin: HookedPlugin, name: LifeHook, before: Handler): void {
  const isThere = wrapHook(plugin, name, (handler) => function (...args) {
    const begun = before.apply(this, args)
    if (!(begun instanceof Promise)) return handler.apply(this, args)
    return bothOf(begun, (async () => handler.apply(this, args))())
  })
  if (!isThere) plugin[name] = before
}

/** The result of the second; waits for both even if one of them fails. */
async function bothOf(before: Promise<unknown>, own: Promise<unknown>): Promise<unknown> {
  await Promise.allSettled([before, own])
  await before
  return own
}

/** Runs `after` after the plugin's own hook, even if that throws. Adds the hook if the plugin does not have it. */
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
