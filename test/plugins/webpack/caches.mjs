// @ts-check
// Builds one config after the other, each with a cache directory of its own, and reads every file of the first cache in
// between, as scripts do that save caches. Prints the counts of the second as JSON. `first`: options of the first plugin;
// then this build has the loader of the project.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'

const { folder, first } = JSON.parse(process.argv[2] ?? '')

/** @param {string} name @param {object} [options] */
async function build(name, options) {
  const plugin = new VarveWebpackPlugin({ dir: join(folder, 'caches', name), ...options })
  const output = { path: join(folder, 'dist', name) }
  const module = { rules: options === undefined ? [] : [{ test: /\.js$/, loader: join(folder, 'loader.cjs') }] }
  const compiler = webpack({
    mode: 'production',
    context: folder,
    entry: './main.js',
    output,
    module,
    cache: { type: 'memory' },
    plugins: [plugin],
  })
  await new Promise((resolve, reject) =>
    compiler?.run((error, stats) => (error || stats?.hasErrors() ? reject(error ?? stats) : resolve(stats))),
  )
  await new Promise((resolve) => compiler?.close(resolve))
  return plugin.stats
}

await build('one', first)
const files = readdirSync(join(folder, 'caches/one'), { recursive: true, withFileTypes: true }).filter((entry) =>
  entry.isFile(),
)
for (const { parentPath, name } of files) readFileSync(join(parentPath, name))
const { hits, misses, changed } = await build('two')
process.stdout.write(JSON.stringify({ hits, misses, changed }))
