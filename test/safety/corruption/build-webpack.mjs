// @ts-check
// One build of the small application by webpack.
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'

/** @type {import('./build-child.mjs').Build} */
export function build({ app, output, cache }) {
  const compiler = webpack({
    mode: 'production',
    context: app,
    entry: './main.js',
    output: { path: output },
    cache: { type: 'memory' },
    optimization: { minimize: false },
    plugins: cache === undefined ? [] : [new VarveWebpackPlugin(cache)],
  })
  if (compiler === null) throw new Error('webpack made no compiler')
  /** @type {string[]} */
  const reports = []
  let worked = 0
  compiler.hooks.infrastructureLog.tap('tell', (name, type, args) => {
    if (type === 'warn' || type === 'error') reports.push(`${name}: ${args?.[0]}`)
    return true
  })
  compiler.hooks.compilation.tap(
    'count',
    (compilation) => void compilation.hooks.buildModule.tap('count', () => void worked++),
  )
  return new Promise((resolve, reject) => {
    compiler.run((error, stats) => {
      const complaints = stats?.compilation.warnings.map(String) ?? []
      const failure =
        error ?? (stats?.hasErrors() ? new Error(stats.toString({ all: false, errors: true })) : undefined)
      compiler.close((closing) => {
        if (failure ?? closing) reject(failure ?? closing)
        else resolve({ worked, reports, complaints })
      })
    })
  })
}
