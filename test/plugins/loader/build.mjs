// @ts-check
// One build by webpack with the caching loader alone, without any plugin of Varve.
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import webpack from 'webpack'
import { folder, noteWarning, order, report } from '../order.mjs'

const caching = {
  loader: fileURLToPath(import.meta.resolve('@varve/plugins/loader')),
  options: { dir: 'cache', ...order.options },
}
const first = order.isCached ? [caching] : []

await report(async () => {
  const compiler = webpack({
    mode: 'production',
    context: folder,
    entry: `./${order.entry}`,
    output: { path: join(folder, order.output), assetModuleFilename: '[name][ext]' },
    cache: false,
    devtool: 'source-map',
    optimization: { minimize: false, moduleIds: 'natural' },
    module: {
      rules: [
        {
          test: /\.js$/,
          use: [...first, { loader: join(folder, 'loader.cjs'), options: { banner: order.banner, asks: order.asks } }],
        },
        { test: /\.png$/, type: 'asset/resource', use: [...first, join(folder, 'invert.cjs')] },
      ],
    },
  })
  const stats = await new Promise((resolve, reject) =>
    compiler?.run((error, found) => (error ? reject(error) : resolve(found))),
  )
  await new Promise((resolve) => compiler?.close(resolve))
  const { errors = [], warnings = [] } = stats.toJson({ all: false, errors: true, warnings: true })
  for (const { message } of warnings) noteWarning(message)
  if (errors.length > 0) throw new Error(errors[0].message)
})
