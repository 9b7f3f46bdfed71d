// @ts-check
// `node bench/webpack/css.mjs [rounds]`: builds of two large style sheets with webpack's own CSS, one as a CSS module, like `css/large` of webpack's
// test suites. CPU time of the first build, of closing it, which stores everything, and of a warm build with its closing. Varve and
// webpack's filesystem cache take turns, each build in a process of its own; outputs have to be equal.
import { strict as assert } from 'node:assert'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { digestOf } from '../../scripts/common/digest.mjs'
import { median } from '../median.mjs'
import { printProcessor } from '../processor.mjs'

/** @typedef {'varve' | 'webpack'} Cache */
/** @typedef {'development' | 'production'} Mode */
/** @typedef {{ built: number, closed: number, output: string }} Sample CPU time in ms */

/** Classes of each style sheet, which are some 1.7 MB. */
const CLASSES = 40_000
const own = fileURLToPath(import.meta.url)
const [first, ...rest] = process.argv.slice(2)

if (first === '--run') {
  const [folder = '', cache, mode] = rest
  process.stdout.write(JSON.stringify(await build(folder, /** @type {Cache} */ (cache), /** @type {Mode} */ (mode))))
} else compare(Number(first ?? 5))

/** @param {number} rounds */
function compare(rounds) {
  printProcessor()
  const folder = mkdtempSync(join(tmpdir(), 'varve-bench-css-'))
  try {
    writeSources(folder)
    for (const mode of /** @type {const} */ (['development', 'production'])) {
      console.log(JSON.stringify({ mode, rounds, ...measure(folder, mode, rounds) }))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** @param {string} folder @param {Mode} mode @param {number} rounds */
function measure(folder, mode, rounds) {
  /** @type {Record<Cache, Record<'built' | 'closed' | 'warm', number[]>>} */
  const times = { varve: { built: [], closed: [], warm: [] }, webpack: { built: [], closed: [], warm: [] } }
  /** @param {Cache} cache @returns {Sample} */
  const run = (cache) => JSON.parse(execFileSync(process.execPath, [own, '--run', folder, cache, mode], { encoding: 'utf8' }))
  let expected = ''
  for (let round = 0; round < rounds; round++) {
    for (const cache of round % 2 === 0 ? /** @type {const} */ (['varve', 'webpack']) : /** @type {const} */ (['webpack', 'varve'])) {
      rmSync(join(folder, cache), { recursive: true, force: true })
      const [cold, warm] = [run(cache), run(cache)]
      expected ||= cold.output
      assert.deepEqual([cold.output, warm.output], [expected, expected], `${cache} changed the output`)
      times[cache].built.push(cold.built)
      times[cache].closed.push(cold.closed)
      times[cache].warm.push(warm.built + warm.closed)
    }
  }
  const medians = (/** @type {Cache} */ cache) =>
    Object.fromEntries(Object.entries(times[cache]).map(([name, all]) => [name, Math.round(median(all))]))
  return { varve: medians('varve'), webpack: medians('webpack') }
}

/** @param {string} folder */
function writeSources(folder) {
  const colourOf = (/** @type {number} */ index) => (index * 7919).toString(16).slice(-6).padStart(6, '0')
  const bodyOf = (/** @type {number} */ index) => `{margin:${index % 97}px;color:#${colourOf(index)}}`
  const rules = (/** @type {string} */ name) => Array.from({ length: CLASSES }, (_, index) => `.${name}-${index}:hover${bodyOf(index)}`)
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'package.json'), '{ "name": "styles", "version": "1.0.0" }\n')
  writeFileSync(join(folder, 'src/own.module.css'), rules('own').join('\n'))
  writeFileSync(join(folder, 'src/all.css'), rules('all').join('\n'))
  writeFileSync(join(folder, 'src/main.js'), "import('./own.module.css').then((own) => console.log(own['own-1']))\nimport('./all.css')\n")
}

/** @param {string} folder @param {Cache} cache @param {Mode} mode @returns {Promise<Sample>} */
async function build(folder, cache, mode) {
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

function cpuMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
