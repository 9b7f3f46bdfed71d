// @ts-check
// `node bench/tasks/reads.mjs [hits] [pairs]`: what recording costs a warm build, apart from the bundler: CPU time of installing the
// recorder, of so many hits in a build, and of so many calls of a hook that is not cached, with and without it, each in its own process
// in turns. The least of all counts, since other programs only add to it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCache } from 'varve'
import { cpuMs } from '../processor.mjs'
import { inTurn, runBench, sampleOf } from '../turns.mjs'

/** @typedef {'on' | 'off'} Way */
/** @typedef {{ installMs: number, hitsMs: number, callsMs: number }} Sample */

await runBench(run, compare)

async function compare() {
  const [hits = 2000, pairs = 15] = process.argv.slice(2).map(Number)
  const home = mkdtempSync(join(tmpdir(), 'varve-bench-reads-'))
  const once = (/** @type {Way} */ way) => /** @type {Sample} */ (sampleOf({ way, home, hits }))
  const ways = /** @type {const} */ ({ off: 'off', on: 'on' })
  await inTurn(ways, 1, once)
  const samples = await inTurn(ways, pairs, once)
  rmSync(home, { recursive: true })
  const least = (/** @type {Way} */ way, /** @type {keyof Sample} */ name) =>
    Math.min(...samples[way].map((one) => one[name]))
  const more = (/** @type {keyof Sample} */ name) => rounded(least('on', name) - least('off', name))
  const ms = {
    installMs: rounded(least('on', 'installMs')),
    offMs: rounded(least('off', 'hitsMs')),
    onMs: rounded(least('on', 'hitsMs')),
  }
  console.log(JSON.stringify({ hits, pairs, ...ms, moreMs: more('hitsMs'), moreOfCallsMs: more('callsMs') }))
}

/** @param {{ way: Way, home: string, hits: number }} order @returns {Promise<Sample>} */
async function run({ way, home, hits }) {
  const { installReads, ReadScope } = await import('varve/reads')
  const start = process.cpuUsage()
  if (way === 'on') installReads()
  const installMs = cpuMs(start)
  const cache = await openCache({ name: 'bench', dir: join(home, 'cache') })
  const scope = way === 'on' ? new ReadScope({ name: way, root: home }) : undefined
  const task = cache.task(way, { root: home, codec: 'text', trackReads: scope ?? false })
  scope?.begin()
  const isFull = task.stats().misses === 0 && (await task.why('src/module-0.js', { code: 'code 0' })).outcome === 'hit'
  const hitsStart = process.cpuUsage()
  const text = 'x'.repeat(2000)
  for (let index = 0; index < hits; index++)
    await task.run({ id: `src/module-${index}.js`, inputs: { code: `code ${index}` } }, () => text)
  const hitsMs = cpuMs(hitsStart)
  if (isFull && task.stats().misses > 0) throw new Error('a hit was a miss')
  const callsStart = process.cpuUsage()
  const call = () => null
  for (let index = 0; index < hits; index++) await (scope === undefined ? call() : scope.run(call))
  const callsMs = cpuMs(callsStart)
  await cache.close()
  return { installMs, hitsMs, callsMs }
}

/** @param {number} ms */
function rounded(ms) {
  return Math.round(ms * 10) / 10
}
