// @ts-check
// One build of the small application with webpack and a Varve cache.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'

/** @typedef {{ failure: string | null, digest: string, built: number }} Answer */

/**
 * @param {string} app @param {string} dir of the cache @param {'native' | 'wasm'} engine
 * @returns {Promise<Answer>}
 */
export function build(app, dir, engine) {
  const output = `${dir}-dist`
  const compiler = webpack({
    mode: 'production',
    context: app,
    entry: './main.js',
    output: { path: output, clean: true },
    cache: { type: 'memory' },
    optimization: { minimize: false },
    infrastructureLogging: { level: 'none' },
    plugins: [new VarveWebpackPlugin({ dir, engine })],
  })
  if (compiler === null) throw new Error('webpack made no compiler')
  let built = 0
  compiler.hooks.compilation.tap('count', (compilation) => void compilation.hooks.buildModule.tap('count', () => void built++))
  return new Promise((resolve) => {
    compiler.run((error, stats) => {
      const failure = error?.message ?? (stats?.hasErrors() ? stats.toString({ all: false, errors: true }) : null)
      compiler.close((closing) => {
        const hash = createHash('sha256')
        if (failure === null) for (const name of readdirSync(output).sort()) hash.update(name).update(readFileSync(join(output, name)))
        rmSync(output, { recursive: true, force: true })
        resolve({ failure: failure ?? closing?.message ?? null, digest: hash.digest('hex'), built })
      })
    })
  })
}
