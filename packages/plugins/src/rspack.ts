/**
 * Caches the results of expensive loaders in Rspack. Rspack's own cache cannot be replaced by a plugin, so this cache works on
 * the level of loaders: put `@varve/plugins/loader` before the loaders to cache.
 *
 * @example
 * // rspack.config.js
 * import { VarveRspackPlugin } from '@varve/plugins/rspack'
 * export default {
 *   module: { rules: [{ test: /\.jsx?$/, use: ['@varve/plugins/loader', 'babel-loader'] }] },
 *   plugins: [new VarveRspackPlugin()],
 * }
 */
import { createRequire } from 'node:module'
import type { Compiler } from '@rspack/core'
import { noteOutput } from 'varve/internal'
import { installReads } from 'varve/reads'
import { type CachedOptions, FIELDS, checkOptions } from './build/options.ts'
import { digest } from './build/digest.ts'
import { infoOf } from './build/report.ts'
import { attach, followBuilds } from './loader/shared.ts'
import { LoaderCache } from './loader/cache.ts'
import type { ChainContext } from './loader/entry.ts'

export { CONFIG_FILES } from './build/identity.ts'
export type { CachedOptions, CachedStats } from './build/options.ts'

// Before a config creates its plugins, so that all that it reads is recorded. In a shared module this would run for each entry point.
installReads()

const NAME = 'VarveRspackPlugin'
// Config loaders that make CommonJS of modules (jiti) support `import.meta.url`, and no other property.
const LOADER = createRequire(import.meta.url).resolve('@varve/plugins/loader')

/** Opens and closes the cache of `@varve/plugins/loader` with the builds of a compiler. */
export class VarveRspackPlugin {
  readonly #options: CachedOptions

  /** Throws INVALID_OPTION if an option is unknown or of the wrong kind, or if the `cacheKey` cannot be compared. */
  constructor(options: CachedOptions = {}) {
    checkOptions(NAME, options, FIELDS)
    digest(options.cacheKey, 'cacheKey')
    this.#options = options
  }

  /** Called by Rspack. */
  apply(compiler: Compiler): void {
    const cache = new LoaderCache(this.#options)
    const logger = compiler.getInfrastructureLogger(NAME)
    const inputs = { tool: `rspack ${compiler.rspack.rspackVersion}` }
    const warn = (text: string): void => logger.warn(text)
    const info = infoOf(NAME, compiler)
    const build = { tool: 'rspack', root: compiler.context, inputs, warn, info }
    compiler.hooks.initialize.tap(NAME, () => noteOutput(compiler.outputPath, compiler.context))
    followBuilds(NAME, compiler, cache, build)
    compiler.hooks.thisCompilation.tap(NAME, (compilation) => {
      const hooks = compiler.rspack.NormalModule.getCompilationHooks(compilation)
      hooks.loader.tap(NAME, (context, module) => {
        const chainContext: ChainContext = context
        if (!context.loaders.some(({ path }) => path === LOADER)) return
        attach(chainContext, cache)
        cache.listen(chainContext, module.identifier())
        cache.surround(chainContext, LOADER)
      })
    })
    compiler.hooks.watchClose.tap(NAME, () => void cache.close())
    compiler.hooks.shutdown.tapPromise(NAME, () => cache.close())
  }
}
