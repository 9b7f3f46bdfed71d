/** Builds with webpack and VarveWebpackPlugin in this process, where a test can choose the moment of each step. */
import { join } from 'node:path'
import { VarveWebpackPlugin, type VarveWebpackOptions, type VarveWebpackStats } from '@varve/plugins/webpack'
import webpack, { type Configuration, type MultiStats, type Stats } from 'webpack'

/** A compiler, or several in one, that a test runs and closes. */
export interface Host {
  readonly stats: VarveWebpackStats
  /** Modules built so far. */
  readonly counts: { built: number }
  /** Warnings of the plugin. */
  readonly complaints: string[]
  run(): Promise<Stats | MultiStats>
  close(): Promise<void>
}

/** `config` may be several; each gets the plugin with a cache in `folder/cache` and the output in `folder/dist`. */
export function makeHost(
  folder: string,
  config: Configuration | Configuration[] = {},
  options: VarveWebpackOptions = {},
): Host {
  const plugin = new VarveWebpackPlugin({ dir: join(folder, 'cache'), ...options })
  const counts = { built: 0 }
  const complaints: string[] = []
  const log = { warn: (text: unknown) => complaints.push(String(text)) }
  const complete = (one: Configuration): Configuration => ({
    mode: 'production',
    context: folder,
    entry: './main.js',
    optimization: { minimize: false },
    cache: { type: 'memory' },
    infrastructureLogging: { level: 'warn', console: Object.assign(Object.create(console), log) },
    ...one,
    output: { path: join(folder, 'dist'), ...one.output },
    plugins: [...(one.plugins ?? []), plugin],
  })
  const compiler = Array.isArray(config) ? webpack(config.map(complete)) : webpack(complete(config))
  if (compiler === null) throw new Error('webpack made no compiler')
  for (const one of 'compilers' in compiler ? compiler.compilers : [compiler]) {
    one.hooks.compilation.tap('count', (compilation) =>
      compilation.hooks.buildModule.tap('count', () => void counts.built++),
    )
  }
  return {
    stats: plugin.stats,
    counts,
    complaints,
    run: () =>
      new Promise((resolve, reject) => {
        const done = (error: Error | null, stats?: Stats | MultiStats): void => {
          if (stats === undefined) reject(error ?? new Error('no stats'))
          else resolve(stats)
        }
        compiler.run(done)
      }),
    close: () => new Promise((resolve, reject) => void compiler.close((error) => (error ? reject(error) : resolve()))),
  }
}

/** One build that is closed; modules built, and the result. */
export async function buildOnce(
  folder: string,
  config?: Configuration | Configuration[],
  options?: VarveWebpackOptions,
): Promise<Host> {
  const host = makeHost(folder, config, options)
  await host.run()
  await host.close()
  return host
}
