// @ts-check
// `node bench/tasks/reads.mjs [hits] [pairs]`: what recording costs a warm build, apart from the bundler: CPU time of installing the
// recorder, of so many hits in a build, and of so many calls of a hook that is not cached, with and without it, each in its own process
// in turns. The least of all counts, since other programs only add to it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache } from 'varve'

const WAYS = /** @type {const} */ (['off', 'on'])
/** @typedef {{ installMs: number, hitsMs: number, callsMs: number }} Sample */

const [first = '2000', second = '15', count = ''] = process.argv.slice(2)
if (first === 'off' || first === 'on') console.log(JSON.stringify(await run(first, second, Number(count))))
else compare(Number(first), Number(second))

/** @param {number} hits @param {number} pairs */
function compare(hits, pairs) {
  const home = mkdtempSync(join(tmpdir(), 'varve-bench-reads-'))
  /** @type {Record<'on' | 'off', Sample[]>} */
  const samples = { on: [], off: [] }
  const once = (/** @type {'on' | 'off'} */ way) =>
    JSON.parse(execFileSync(process.execPath, [fileURLToPath(import.meta.url), way, home, String(hits)], { encoding: 'utf8' }))
  for (const way of WAYS) once(way)
  for (let pair = 0; pair < pairs; pair++) for (const way of pair % 2 === 0 ? WAYS : WAYS.toReversed()) samples[way].push(once(way))
  rmSync(home, { recursive: true })
  const least = (/** @type {'on' | 'off'} */ way, /** @type {keyof Sample} */ name) => Math.min(...samples[way].map((one) => one[name]))
  const more = (/** @type {keyof Sample} */ name) => rounded(least('on', name) - least('off', name))
  const ms = { installMs: rounded(least('on', 'installMs')), offMs: rounded(least('off', 'hitsMs')), onMs: rounded(least('on', 'hitsMs')) }
  console.log(JSON.stringify({ hits, pairs, ...ms, moreMs: more('hitsMs'), moreOfCallsMs: more('callsMs') }))
}

/** @param {'on' | 'off'} way @param {string} home @param {number} hits @returns {Promise<Sample>} */
async function run(way, home, hits) {
  const { installReads, ReadScope } = await import('varve/reads')
  const start = process.cpuUsage()
  if (way === 'on') installReads()
  const installMs = msSince(start)
  const cache = await openCache({ name: 'bench', dir: join(home, 'cache') })
  const scope = way === 'on' ? new ReadScope({ name: way, root: home }) : undefined
  const task = cache.task(way, { root: home, codec: 'text', trackReads: scope ?? false })
  scope?.begin()
  const isFull = task.stats().misses === 0 && (await task.why('src/module-0.js', { code: 'code 0' })).outcome === 'hit'
  const hitsStart = process.cpuUsage()
  const text = 'x'.repeat(2000)
  for (let index = 0; index < hits; index++) await task.run({ id: `src/module-${index}.js`, inputs: { code: `code ${index}` } }, () => text)
  const hitsMs = msSince(hitsStart)
  if (isFull && task.stats().misses > 0) throw new Error('a hit was a miss')
  const callsStart = process.cpuUsage()
  const call = () => null
  for (let index = 0; index < hits; index++) await (scope === undefined ? call() : scope.run(call))
  const callsMs = msSince(callsStart)
  await cache.close()
  return { installMs, hitsMs, callsMs }
}

/** @param {NodeJS.CpuUsage} start */
function msSince(start) {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/** @param {number} ms */
function rounded(ms) {
  return Math.round(ms * 10) / 10
}
