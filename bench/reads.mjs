// @ts-check
// `node bench/reads.mjs [modules] [pairs] [functions] [warm]`: the cost of recording reads in a Rolldown build with Babel and preset-env, as
// CPU time of the whole process and, on Linux, of its main thread, which the kernel counts in steps of 10 ms. Pairs of builds with and
// without `trackReads` take turns, each in its own process: one cold pair, then five warm ones by default. A module has 20 functions by
// default; with one, a cold build of many modules takes little time.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from './median.mjs'
import { printProcessor } from './processor.mjs'

const own = fileURLToPath(new URL('..', import.meta.url))
// Warm builds take so little time that many of them cost less than one cold build.
const [first, second = '5', third = '20', fourth = '5'] = process.argv.slice(2)

if (first === '--run') console.log(JSON.stringify(await build(third, second === 'on')))
else compare(Number(first ?? 2000), Number(second), Number(third), Number(fourth))

/** @param {number} modules @param {number} pairs @param {number} functions @param {number} warmPairs */
function compare(modules, pairs, functions, warmPairs) {
  printProcessor()
  const project = makeProject(modules, functions)
  /** @type {Record<'cold' | 'warm' | 'main', Record<'on' | 'off', number[]>>} */
  const times = { cold: { on: [], off: [] }, warm: { on: [], off: [] }, main: { on: [], off: [] } }
  for (let pair = 0; pair < pairs; pair++) {
    for (let turn = 0; turn <= warmPairs; turn++) {
      const kind = turn === 0 ? 'cold' : 'warm'
      for (const way of (pair + turn) % 2 === 0 ? /** @type {const} */ (['on', 'off']) : /** @type {const} */ (['off', 'on'])) {
        if (kind === 'cold') rmSync(join(project, way), { recursive: true, force: true })
        const out = execFileSync(process.execPath, [fileURLToPath(import.meta.url), '--run', way, project], { cwd: project, encoding: 'utf8' })
        const { hits, cpuMs, mainMs } = JSON.parse(out.trim().split('\n').at(-1) ?? '')
        if (kind === 'cold' ? hits > 0 : hits <= modules) throw new Error(`a ${kind} build had ${hits} hits`)
        times[kind][way].push(cpuMs)
        if (kind === 'warm') times.main[way].push(mainMs ?? Number.NaN)
      }
    }
  }
  rmSync(project, { recursive: true })
  const summaries = { cold: summary(times.cold), warm: summary(times.warm), main: summary(times.main) }
  console.log(JSON.stringify({ node: process.version, modules, functions, pairs, ...summaries }))
}

/**
 * The median and the mean of the differences in each pair, and the difference of the least times, since other programs only add to a time.
 * @param {{ on: readonly number[], off: readonly number[] }} times
 */
function summary({ on, off }) {
  const moreMs = median(on.map((ms, pair) => ms - (off[pair] ?? Number.NaN)))
  const offMs = median(off)
  const meanMs = on.reduce((sum, ms, pair) => sum + ms - (off[pair] ?? Number.NaN), 0) / on.length
  const leastMs = Math.min(...on) - Math.min(...off)
  const percent = rounded((moreMs / offMs) * 100)
  return { offMs: Math.round(offMs), moreMs: rounded(moreMs), percent, meanMs: rounded(meanMs), leastMs: rounded(leastMs) }
}

/** @param {number} value */
function rounded(value) {
  return Math.round(value * 10) / 10
}

/** @param {number} modules @param {number} functions */
function makeProject(modules, functions) {
  const project = mkdtempSync(join(tmpdir(), 'varve-bench-reads-'))
  symlinkSync(join(own, 'node_modules'), join(project, 'node_modules'))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(project, 'babel.config.json'), '{ "presets": [["@babel/preset-env", { "modules": false }]] }')
  writeFileSync(join(project, '.browserslistrc'), 'ie 11')
  for (let index = 0; index < modules; index++) {
    const folder = join(project, 'src', `folder-${index % 40}`)
    mkdirSync(folder, { recursive: true })
    const line = (/** @type {number} */ at) => `export const f${at} = async ({ a = ${at}, ...rest }) => [...rest.list, a?.b ?? ${index}]`
    const lines = Array.from({ length: functions }, (_, at) => line(at))
    writeFileSync(join(folder, `module-${index}.js`), lines.join('\n'))
  }
  const imports = Array.from({ length: modules }, (_, index) => `export * as m${index} from './folder-${index % 40}/module-${index}.js'`)
  writeFileSync(join(project, 'src/main.js'), imports.join('\n'))
  return project
}

/** @param {string} project @param {boolean} trackReads */
async function build(project, trackReads) {
  const { cached } = await import('@varve/plugins/rolldown')
  const { babel } = await import('@rollup/plugin-babel')
  const { rolldown } = await import('rolldown')
  let hits = 0
  const onStats = (/** @type {{ hits: number }} */ stats) => void (hits = stats.hits)
  const options = { cacheKey: 'bench', trackReads, dir: trackReads ? 'on' : 'off', onStats }
  // Plugins of Rollup run in Rolldown, whose types differ from Rollup's.
  const plugin = /** @type {import('rolldown').Plugin} */ (/** @type {unknown} */ (babel({ babelHelpers: 'bundled', cwd: project })))
  const bundle = await rolldown({ input: join(project, 'src/main.js'), plugins: [cached(plugin, options)], onLog() {} })
  await bundle.generate()
  await bundle.close()
  const { user, system } = process.cpuUsage()
  return { hits, cpuMs: (user + system) / 1000, mainMs: mainThreadMs() }
}

/** CPU time of the main thread: the 14th and 15th field of its line, in hundredths of a second; null if the host has no such file. */
function mainThreadMs() {
  const path = `/proc/self/task/${process.pid}/stat`
  if (!existsSync(path)) return null
  const fields = readFileSync(path, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return 10 * (Number(fields[11]) + Number(fields[12]))
}
