// @ts-check
// `node bench/webpack/css.mjs [rounds]`: builds of two large style sheets with webpack's own CSS, one as a CSS module, like `css/large` of webpack's
// test suites. CPU time of the first build, of closing it, which stores everything, and of a warm build with its closing. Varve and
// webpack's filesystem cache take turns, each build in a process of its own; outputs have to be equal.
import { strict as assert } from 'node:assert'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { digestOf } from '../../scripts/common/digest.mjs'
import { cpuMs } from '../processor.mjs'
import { inTurn, mediansOf, runBench, sampleOf } from '../turns.mjs'

/** @typedef {'varve' | 'webpack'} Cache */
/** @typedef {'development' | 'production'} Mode */
/** @typedef {{ built: number, closed: number, output: string }} Sample CPU time in ms */

/** Classes of each style sheet, which are some 1.7 MB. */
const CLASSES = 40_000
const own = fileURLToPath(import.meta.url)

await runBench(build, compare)

async function compare() {
  const rounds = Number(process.argv[2] ?? 5)
  const folder = mkdtempSync(join(tmpdir(), 'varve-bench-css-'))
  try {
    writeSources(folder)
    for (const mode of /** @type {const} */ (['development', 'production'])) {
      console.log(JSON.stringify({ mode, rounds, ...(await measure(folder, mode, rounds)) }))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** @param {string} folder @param {Mode} mode @param {number} rounds */
async function measure(folder, mode, rounds) {
  let expected = ''
  const found = await inTurn(/** @type {const} */ ({ varve: 'varve', webpack: 'webpack' }), rounds, (cache) => {
    rmSync(join(folder, cache), { recursive: true, force: true })
    /** @type {[Sample, Sample]} */
    const [cold, warm] = [sampleOf({ folder, cache, mode }), sampleOf({ folder, cache, mode })]
    expected ||= cold.output
    assert.deepEqual([cold.output, warm.output], [expected, expected], `${cache} changed the output`)
    return { built: cold.built, closed: cold.closed, warm: warm.built + warm.closed }
  })
  const medians = (/** @type {Cache} */ cache) =>
    Object.fromEntries(Object.entries(mediansOf(found[cache])).map(([name, ms]) => [name, Math.round(ms)]))
  return { varve: medians('varve'), webpack: medians('webpack') }
}

/** @param {string} folder */
function writeSources(folder) {
  const colourOf = (/** @type {number} */ index) => (index * 7919).toString(16).slice(-6).padStart(6, '0')
  const bodyOf = (/** @type {number} */ index) => `{margin:${index % 97}px;color:#${colourOf(index)}}`
  const rules = (/** @type {string} */ name) =>
    Array.from({ length: CLASSES }, (_, index) => `.${name}-${index}:hover${bodyOf(index)}`)
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'package.json'), '{ "name": "styles", "version": "1.0.0" }\n')
  writeFileSync(join(folder, 'src/own.module.css'), rules('own').join('\n'))
  writeFileSync(join(folder, 'src/all.css'), rules('all').join('\n'))
  writeFileSync(
    join(folder, 'src/main.js'),
    "import('./own.module.css').then((own) => console.log(own['own-1']))\nimport('./all.css')\n",
  )
}

/** @param {{ folder: string, cache: Cache, mode: Mode }} order @returns {Promise<Sample>} */
async function build({ folder, cache, mode }) {
  const { default: webpack } = await import('webpack')
  const output = join(folder, 'dist')
  const compiler = webpack({
    mode,
    context: folder,
    entry: './src/main.js',
    output: { path: output, clean: true },
    performance: false,
    experiments: { css: true },
    ...(await cacheConfig(join(folder, cache), cache)),
  })
  if (compiler === null) throw new Error('webpack created no compiler')
  await new Promise((resolve, reject) => {
    compiler.run((error, stats) => {
      const failure = error ?? (stats?.hasErrors() ? new Error(stats.toString({ all: false, errors: true })) : null)
      if (failure) reject(failure)
      else resolve(undefined)
    })
  })
  const built = cpuMs()
  await new Promise((resolve, reject) => void compiler.close((error) => (error ? reject(error) : resolve(undefined))))
  return { built, closed: cpuMs() - built, output: digestOf(output) }
}

/** @param {string} place @param {Cache} cache @returns {Promise<import('webpack').Configuration>} */
async function cacheConfig(place, cache) {
  const buildDependencies = { config: [own] }
  if (cache === 'webpack') return { cache: { type: 'filesystem', cacheDirectory: place, buildDependencies } }
  const { VarveWebpackPlugin } = await import('@varve/plugins/webpack')
  return { cache: { type: 'memory' }, plugins: [new VarveWebpackPlugin({ dir: place, buildDependencies })] }
}
