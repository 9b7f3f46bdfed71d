/**
 * Vitest's own cache of modules, option `experimental.fsModuleCache`. Its keys have the source of a module, the config and the lock file. Varve
 * adds the inputs that all results of its plugins in an environment share, so that a change of one of them is a miss in that cache, too.
 */
import { digestOfTexts } from '../build/digest.ts'
import type { PluginCache } from '../rollup/cached.ts'
import type { ViteTool } from './config.ts'
import { valueText } from '../build/identity.ts'

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
