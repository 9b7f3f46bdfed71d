// @ts-check
// Removes the outputs of two configs, as build scripts do, and builds both at a time. Prints the counts of both as JSON.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'

const { folder } = JSON.parse(process.argv[2] ?? '')
const plugins = ['one', 'two'].map((name) => ({
  name,
  plugin: new VarveWebpackPlugin({ dir: join(folder, 'cache'), name }),
}))

const compiler = webpack(
  plugins.map(({ name, plugin }) => ({
    mode: 'production',
    context: folder,
    entry: './main.js',
    output: { path: join(folder, 'dist', name, name === 'two' ? '/' : '') }, // ends with a slash in some projects
    cache: { type: 'memory' },
    plugins: [plugin],
  })),
)
for (const { name } of plugins) rmSync(join(folder, 'dist', name), { recursive: true, force: true })
compiler?.run((error, stats) => {
  if (error || stats?.hasErrors()) throw error ?? new Error(stats?.toString('errors-only'))
  const counts = plugins.map(({ plugin }) => plugin.stats)
  compiler.close(() =>
    process.stdout.write(
      JSON.stringify({ all: counts.map(({ hits, misses, changed }) => ({ hits, misses, changed })) }),
    ),
  )
})
