// @ts-check
// Builds with each plugin, and uses each adapter, in a process without WebAssembly whose engine is WebAssembly. Prints a line of JSON each.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { build } from 'esbuild'
import { rollup } from 'rollup'
import webpack from 'webpack'
import { cached as cachedEsbuild } from '../../packages/plugins/dist/esbuild.js'
import { VarveKeyv } from '../../packages/plugins/dist/keyv.js'
import { cached as cachedRollup } from '../../packages/plugins/dist/rollup.js'
import { varveDriver } from '../../packages/plugins/dist/unstorage.js'
import { VarveWebpackPlugin } from '../../packages/plugins/dist/webpack.js'

const [, , folder = ''] = process.argv
mkdirSync(join(folder, 'src'), { recursive: true })
process.chdir(folder)
writeFileSync('package.json', '{}')
writeFileSync('src/main.js', "import { word } from './word.js'\nconsole.log(word)\n")
writeFileSync('src/word.js', "export const word = 'WORD'\n")

/** @param {string} code */
const done = (code) => code.replace('WORD', 'DONE')
/** @param {string} tool @param {string} output @param {readonly string[]} warnings */
const report = (tool, output, warnings) =>
  console.log(JSON.stringify({ tool, isRight: output.includes('DONE'), warnings }))

/** @type {string[]} */
const logged = []
const bundle = await rollup({
  input: 'src/main.js',
  plugins: [cachedRollup({ name: 'words', transform: done }, { cacheKey: 1 })],
  onLog: (_, { message }) => void logged.push(message),
})
report('rollup', (await bundle.generate({})).output[0].code, logged)
await bundle.close()

/** @type {import('esbuild').Plugin} */
const words = {
  name: 'words',
  setup: ({ onLoad }) => onLoad({ filter: /word\.js$/ }, () => ({ contents: "export const word = 'DONE'" })),
}
const built = await build({
  absWorkingDir: folder,
  entryPoints: ['src/main.js'],
  bundle: true,
  write: false,
  logLevel: 'silent',
  plugins: [cachedEsbuild(words, { cacheKey: 1 })],
})
report(
  'esbuild',
  built.outputFiles[0]?.text ?? '',
  built.warnings.map(({ text }) => text),
)

writeFileSync('src/word.js', "export const word = 'DONE'\n")
const stream = new PassThrough()
/** @type {string[]} */
const printed = []
stream.on('data', (text) => void printed.push(String(text)))
await new Promise((resolve, reject) => {
  const compiler = webpack({
    mode: 'production',
    cache: { type: 'memory' },
    context: folder,
    entry: './src/main.js',
    output: { path: join(folder, 'dist'), hashFunction: 'sha256' }, // webpack's own default needs WebAssembly
    infrastructureLogging: { stream: Object.assign(stream, { isTTY: false }), colors: false },
    plugins: [new VarveWebpackPlugin()],
  })
  compiler.run((error, stats) => {
    if (error !== null) return reject(error)
    report('webpack', stats?.hasErrors() === false ? readFileSync('dist/main.js', 'utf8') : '', printed)
    compiler.close(resolve)
  })
})

/** @type {string[]} */
const told = []
/** @param {import('varve').VarveError} warning */
const onWarning = ({ message }) => void told.push(message)
const keyv = new VarveKeyv({ onWarning })
await keyv.set('key', 'DONE')
report('keyv', String(await keyv.get('key')), told.splice(0))
const driver = varveDriver({ onWarning })
await driver.setItem?.('key', 'DONE', {})
report('unstorage', String(await driver.getItem('key')), told.splice(0))
