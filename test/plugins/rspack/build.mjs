// @ts-check
// One build by Rspack, with a loader that does all that can be replayed.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { VarveRspackPlugin } from '@varve/plugins/rspack'
import { rspack } from '@rspack/core'
import { cacheOptions, folder, noteEnd, noteWarning, order, report } from '../order.mjs'

const loader = join(folder, 'loader.cjs')
const expensive = { loader, options: { banner: order.banner, asks: order.asks } }
// Warnings count the loaders of a rule, so a build without a cache has another loader in the same place.
const first = fileURLToPath(
  order.isCached ? import.meta.resolve('@varve/plugins/loader') : new URL('pass.cjs', import.meta.url),
)
const log = { warn: noteWarning }

await report(async () => {
  const options = { version: order.version, ...cacheOptions, cacheKey: undefined }
  const compiler = rspack({
    mode: 'production',
    context: folder,
    entry: `./${order.entry}`,
    output: { path: join(folder, order.output) },
    devtool: 'source-map',
    // Other ids are made of the names of the loaders, and one loader is another.
    optimization: { minimize: false, moduleIds: 'natural' },
    module: { rules: [{ test: /\.(?:js|text)$/, use: [first, expensive] }] },
    infrastructureLogging: { level: 'warn', console: Object.assign(Object.create(console), log) },
    plugins: order.isCached ? [new VarveRspackPlugin(options)] : [],
    ...order.config,
  })
  existsSync(compiler.outputPath) // Rsbuild looks for it, to empty it
  if (order.watches) {
    // A file that changed a moment before its loaders run might change again unseen, and would not be kept.
    compiler.watch({ aggregateTimeout: 200 }, () => noteEnd())
    await new Promise(() => undefined)
  }
  const stats = await new Promise((resolve, reject) =>
    compiler.run((error, found) => (error ? reject(error) : resolve(found))),
  )
  await new Promise((resolve) => compiler.close(resolve))
  const { errors = [], warnings = [] } = stats.toJson({ all: false, errors: true, warnings: true })
  for (const { message } of warnings) noteWarning(message)
  if (errors.length === 0) return
  rmSync(join(folder, order.output), { recursive: true, force: true })
  throw new Error(errors[0].message)
})
