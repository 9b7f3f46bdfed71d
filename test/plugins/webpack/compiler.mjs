// @ts-check
// The compiler of programs that test how a process makes, runs and ends one: a production build of `main.js` in a folder,
// which counts the modules that it builds.
import { join } from 'node:path'
import webpack from 'webpack'

/**
 * @param {string} folder
 * @param {import('webpack').Configuration} config
 * @returns {{ compiler: import('webpack').Compiler, counts: { built: number } }}
 */
export function makeCompiler(folder, config) {
  const compiler = webpack({
    mode: 'production',
    context: folder,
    entry: './main.js',
    output: { path: join(folder, 'dist') },
    cache: { type: 'memory' },
    ...config,
  })
  if (compiler === null) throw new Error('webpack made no compiler')
  const counts = { built: 0 }
  compiler.hooks.compilation.tap('count', (compilation) =>
    compilation.hooks.buildModule.tap('count', () => void counts.built++),
  )
  return { compiler, counts }
}
