/**
 * Replaces webpack's filesystem cache. The plugin uses public hooks only: webpack's memory cache stays in front, and Varve is
 * the disk layer behind it.
 *
 * @example
 * // webpack.config.js
 * import { VarveWebpackPlugin } from '@varve/plugins/webpack'
 * export default { cache: { type: 'memory' }, plugins: [new VarveWebpackPlugin()] }
 */
import { VarveError } from 'varve'
import type { Compiler } from 'webpack'
import { installReads } from 'varve/reads'
import { BuildReport } from './webpack/build-report.ts'
import { callersOf, makersOf } from './webpack/identity.ts'
import { DiskLayer } from './webpack/layer.ts'
import { checkWebpackOptions, type VarveWebpackOptions, type VarveWebpackStats } from './webpack/options.ts'
import { BuildReads } from './webpack/reads.ts'

export type { VarveWebpackOptions } from './webpack/options.ts'
export type { VarveWebpackStats } from './webpack/options.ts'

// Before a config creates its plugins, so that all that it reads is recorded. In a shared module this would run for each entry point.
installReads()

const NAME = 'VarveWebpackPlugin'

/** Compilers that have the plugin. Of two, one would not see what loaders read. */
const compilers: WeakSet<Compiler> = new WeakSet()

/** Persists webpack's cache in Varve. Use it together with `cache: { type: 'memory' }`. */
export class VarveWebpackPlugin {
  /** Counts of all compilers since the plugin was constructed. */
  readonly stats: VarveWebpackStats = { hits: 0, misses: 0, stored: 0, skipped: [], bytesWritten: 0, changed: [] }
  readonly #options: VarveWebpackOptions
  readonly #makers: readonly string[] = makersOf(VarveWebpackPlugin)

  /** Throws INVALID_OPTION if an option is unknown or of the wrong kind. */
  constructor(options: VarveWebpackOptions = {}) {
    checkWebpackOptions(options)
    this.#options = options
  }

  /** Called by webpack. Throws INVALID_ARGUMENT in another bundler. */
  apply(compiler: Compiler): void {
    if (!('Cache' in compiler.webpack)) {
      throw new VarveError(
        'INVALID_ARGUMENT',
        "VarveWebpackPlugin needs webpack 5; for Rspack use VarveRspackPlugin from '@varve/plugins/rspack'",
      )
    }
    if (compilers.has(compiler)) {
      compiler
        .getInfrastructureLogger(NAME)
        .warn(`${NAME} is in the config twice, so the second one does nothing; remove it`)
      return
    }
    compilers.add(compiler)
    const makers = [...this.#makers, ...callersOf(this.apply)]
    const reads = new BuildReads(compiler, this.#options.trackReads !== false)
    const layer = new DiskLayer(compiler, this.#options, this.stats, makers, reads)
    const report = new BuildReport(compiler, this.#options.report, layer.changes)
    layer.counting.counts = () => report.counts
    report.remote = () => layer.counting.remote
    compiler.hooks.initialize.tap(NAME, () => {
      warnOfOtherCaches(compiler)
      layer.initialize()
      reads.noteOutput(compiler.outputPath)
    })
    const start = (_: unknown, build: () => void): void => {
      layer.open()
      reads.run(build)
    }
    compiler.hooks.beforeRun.tapAsync(NAME, start)
    compiler.hooks.watchRun.tapAsync(NAME, start)
    compiler.hooks.compilation.tap(NAME, (compilation) => {
      reads.begin(compilation)
      layer.follow(compilation)
    })
    compiler.hooks.failed.tap(NAME, (error) => layer.failed(error))
    // Child compilers use this compiler's cache, so they do not get a layer of their own.
    compiler.hooks.thisCompilation.tap(NAME, (compilation) => layer.begin(compilation))
    const tap = { name: NAME, stage: compiler.webpack.Cache.STAGE_DISK }
    const { hooks } = compiler.cache
    hooks.get.tapAsync(tap, (identifier, etag, gotHandlers, callback) => {
      layer.get(identifier, etag, gotHandlers, (error, value) => {
        if (value === undefined) report.missed(identifier)
        callback(error, value)
      })
    })
    hooks.store.tap(tap, (identifier, etag, data) => layer.store(identifier, etag, data))
    hooks.storeBuildDependencies.tap(tap, (...found: readonly Iterable<string>[]) => {
      layer.addBuildDependencies(found[0] ?? [], found[1])
    })
    hooks.beginIdle.tap(tap, () => layer.beginIdle())
    hooks.endIdle.tap(tap, () => layer.endIdle())
    hooks.shutdown.tapPromise(tap, () => layer.shutdown())
  }
}

/** A second disk cache does the same work twice; without a memory cache webpack does not cache resolver results. */
function warnOfOtherCaches(compiler: Compiler): void {
  const { cache } = compiler.options
  if (typeof cache === 'object' && cache.type === 'memory') return
  const found = typeof cache === 'object' ? `{ type: '${cache.type}' }` : String(cache)
  const way = "set cache: { type: 'memory' } beside VarveWebpackPlugin"
  compiler
    .getInfrastructureLogger(NAME)
    .warn(`cache is ${found}, so part of the work is done twice or not cached; ${way}`)
}
