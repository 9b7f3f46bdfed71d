// @ts-check
// `node bench/reads.mjs [modules] [pairs] [functions]`: the cost of recording reads in a Rolldown build with Babel and preset-env, as
// CPU time of the whole process. Pairs of builds with and without `trackReads` take turns, each in its own process: one cold pair,
// then WARM_PAIRS warm ones. A module has 20 functions by default; with one, a cold build of many modules takes little time.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from './median.mjs'
import { printProcessor } from './processor.mjs'

/** Warm builds take so little time that many of them cost less than one cold build. */
const WARM_PAIRS = 5
/** @type {readonly ('cold' | 'warm')[]} */
const KINDS = ['cold', ...Array.from({ length: WARM_PAIRS }, () => /** @type {const} */ ('warm'))]

const own = fileURLToPath(new URL('..', import.meta.url))
const [first, second = '5', third = '20'] = process.argv.slice(2)

if (first === '--run') console.log(JSON.stringify(await build(third, second === 'on')))
else compare(Number(first ?? 2000), Number(second), Number(third))

/** @param {number} modules @param {number} pairs @param {number} functions */
function compare(modules, pairs, functions) {
  printProcessor()
  const project = makeProject(modules, functions)
  /** @type {Record<'cold' | 'warm', Record<'on' | 'off', number[]>>} */
  const times = { cold: { on: [], off: [] }, warm: { on: [], off: [] } }
  for (let pair = 0; pair < pairs; pair++) {
    for (const kind of KINDS) {
      for (const way of pair % 2 === 0 ? /** @type {const} */ (['on', 'off']) : /** @type {const} */ (['off', 'on'])) {
        if (kind === 'cold') rmSync(join(project, way), { recursive: true, force: true })
        const out = execFileSync(process.execPath, [fileURLToPath(import.meta.url), '--run', way, project], { cwd: project, encoding: 'utf8' })
        const { hits, cpuMs } = JSON.parse(out.trim().split('\n').at(-1) ?? '')
        if (kind === 'cold' ? hits > 0 : hits <= modules) throw new Error(`a ${kind} build had ${hits} hits`)
        times[kind][way].push(cpuMs)
      }
    }
  }
  rmSync(project, { recursive: true })
  console.log(JSON.stringify({ modules, functions, pairs, cold: summary(times.cold), warm: summary(times.warm) }))
}

/**
 * The median of the differences in each pair, and the difference of the least times, since other programs only add to a time.
 * @param {{ on: readonly number[], off: readonly number[] }} times
 */
function summary({ on, off }) {
  const moreMs = median(on.map((ms, pair) => ms - (off[pair] ?? Number.NaN)))
  const offMs = median(off)
  const leastMs = Math.min(...on) - Math.min(...off)
  return { offMs: Math.round(offMs), moreMs: rounded(moreMs), percent: rounded((moreMs / offMs) * 100), leastMs: rounded(leastMs) }
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
  return { hits, cpuMs: (user + system) / 1000 }
}
