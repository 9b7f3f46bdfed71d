// @ts-check
// `node bench/reads.mjs [modules] [pairs] [functions] [warm]`: the cost of recording reads in a Rolldown build with Babel and preset-env, as
// CPU time of the whole process and, on Linux, of its main thread, which the kernel counts in steps of 10 ms. Pairs of builds with and
// without `trackReads` take turns, each in its own process: one cold pair, then five warm ones by default. A module has 20 functions by
// default; with one, a cold build of many modules takes little time.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../scripts/common/root.mjs'
import { median } from './median.mjs'
import { cpuMs } from './processor.mjs'
import { inTurn, runBench, sampleOf } from './turns.mjs'

/** @typedef {{ hits: number, cpuMs: number, mainMs: number }} Sample */

await runBench(build, compare)

async function compare() {
  // Warm builds take so little time that many of them cost less than one cold build.
  const [modules = 2000, pairs = 5, functions = 20, warmPairs = 5] = process.argv.slice(2).map(Number)
  const project = makeProject(modules, functions)
  const ways = /** @type {const} */ ({ on: 'on', off: 'off' })
  const cold = await inTurn(ways, pairs, (way) => {
    rmSync(join(project, way), { recursive: true, force: true })
    return sampleWith(project, way, (hits) => hits === 0)
  })
  const warm = await inTurn(ways, pairs * warmPairs, (way) => sampleWith(project, way, (hits) => hits > modules))
  rmSync(project, { recursive: true })
  const summaries = { cold: summary(cold, 'cpuMs'), warm: summary(warm, 'cpuMs'), main: summary(warm, 'mainMs') }
  console.log(JSON.stringify({ node: process.version, modules, functions, pairs, ...summaries }))
}

/**
 * One build, whose hits are checked.
 * @param {string} project @param {'on' | 'off'} way @param {(hits: number) => boolean} isRight @returns {Sample}
 */
function sampleWith(project, way, isRight) {
  /** @type {Sample} */
  const sample = sampleOf({ project, way }, { cwd: project })
  if (!isRight(sample.hits)) throw new Error(`a build had ${sample.hits} hits`)
  return sample
}

/**
 * The median and the mean of the differences in each pair, and the difference of the least times, since other programs only add to a time.
 * @param {{ on: readonly Sample[], off: readonly Sample[] }} samples
 * @param {'cpuMs' | 'mainMs'} time
 */
function summary(samples, time) {
  const [on, off] = [samples.on.map((one) => one[time]), samples.off.map((one) => one[time])]
  const moreMs = median(on.map((ms, pair) => ms - (off[pair] ?? Number.NaN)))
  const offMs = median(off)
  const meanMs = on.reduce((sum, ms, pair) => sum + ms - (off[pair] ?? Number.NaN), 0) / on.length
  const leastMs = Math.min(...on) - Math.min(...off)
  const percent = rounded((moreMs / offMs) * 100)
  return {
    offMs: Math.round(offMs),
    moreMs: rounded(moreMs),
    percent,
    meanMs: rounded(meanMs),
    leastMs: rounded(leastMs),
  }
}

/** @param {number} value */
function rounded(value) {
  return Math.round(value * 10) / 10
}

/** @param {number} modules @param {number} functions */
function makeProject(modules, functions) {
  const project = mkdtempSync(join(tmpdir(), 'varve-bench-reads-'))
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(project, 'babel.config.json'), '{ "presets": [["@babel/preset-env", { "modules": false }]] }')
  writeFileSync(join(project, '.browserslistrc'), 'ie 11')
  for (let index = 0; index < modules; index++) {
    const folder = join(project, 'src', `folder-${index % 40}`)
    mkdirSync(folder, { recursive: true })
    const line = (/** @type {number} */ at) =>
      `export const f${at} = async ({ a = ${at}, ...rest }) => [...rest.list, a?.b ?? ${index}]`
    const lines = Array.from({ length: functions }, (_, at) => line(at))
    writeFileSync(join(folder, `module-${index}.js`), lines.join('\n'))
  }
  const imports = Array.from(
    { length: modules },
    (_, index) => `export * as m${index} from './folder-${index % 40}/module-${index}.js'`,
  )
  writeFileSync(join(project, 'src/main.js'), imports.join('\n'))
  return project
}

/** @param {{ project: string, way: 'on' | 'off' }} order @returns {Promise<Sample>} */
async function build({ project, way }) {
  const { cached } = await import('@varve/plugins/rolldown')
  const { babel } = await import('@rollup/plugin-babel')
  const { rolldown } = await import('rolldown')
  let hits = 0
  const onStats = (/** @type {{ hits: number }} */ stats) => void (hits = stats.hits)
  const options = { cacheKey: 'bench', trackReads: way === 'on', dir: way, onStats }
  // Plugins of Rollup run in Rolldown, whose types differ from Rollup's.
  const plugin = /** @type {import('rolldown').Plugin} */ (
    /** @type {unknown} */ (babel({ babelHelpers: 'bundled', cwd: project }))
  )
  const bundle = await rolldown({ input: join(project, 'src/main.js'), plugins: [cached(plugin, options)], onLog() {} })
  await bundle.generate()
  await bundle.close()
  return { hits, cpuMs: cpuMs(), mainMs: mainThreadMs() }
}

/** CPU time of the main thread: the 14th and 15th field of its line, in hundredths of a second; NaN if the host has no such file. */
function mainThreadMs() {
  const path = `/proc/self/task/${process.pid}/stat`
  if (!existsSync(path)) return Number.NaN
  const fields = readFileSync(path, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return 10 * (Number(fields[11]) + Number(fields[12]))
}
