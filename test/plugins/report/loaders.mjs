/** A build of the working directory with the caching loader, or with the plugin of webpack: `node loaders.mjs rspack|webpack|loader <options> [level of the log]`. Prints what the tool logs. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { VarveRspackPlugin } from '@varve/plugins/rspack'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { rspack } from '@rspack/core'
import webpack from 'webpack'

const folder = process.cwd()
const [tool, json = '{}', level = 'info'] = process.argv.slice(2)
const options = { ...JSON.parse(json), dir: 'cache' }
const loader = fileURLToPath(import.meta.resolve('@varve/plugins/loader'))
const config = {
  mode: 'development',
  context: folder,
  entry: './main.js',
  output: { path: join(folder, 'dist') },
  cache: false,
  infrastructureLogging: { level, stream: process.stdout },
}
/** @param {unknown} first */
const rules = (first) => ({ rules: [{ test: /\.js$/, use: [first, join(folder, 'loader.cjs')] }] })

const compiler =
  tool === 'rspack'
    ? rspack({ ...config, module: rules(loader), plugins: [new VarveRspackPlugin(options)] })
    : tool === 'webpack'
      ? webpack({ ...config, cache: { type: 'memory' }, plugins: [new VarveWebpackPlugin(options)] })
      : webpack({ ...config, module: rules({ loader, options }) })
compiler.run((error) => {
  if (error) throw error
  compiler.close(() => undefined)
})
