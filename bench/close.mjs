// @ts-check
// `node bench/close.mjs [checkout]`: the cost of a cache for a build besides lookups: opening it, a commit of 100 entries, and
// closing it, in milliseconds. Each figure is the median over separate processes. If another built checkout is given, the two
// take turns. `--dir <directory>` sets where the caches are (default: below the home directory).
//
//   first    the directory is empty         again    one earlier build has left its log
//   ten      ten earlier builds have left their files, some of them compacted
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { median } from './median.mjs'
import { printProcessor } from './processor.mjs'

const RUNS = 15
const ENTRIES = 100
const BUILDS = { first: 0, again: 1, ten: 10 }
const own = fileURLToPath(new URL('..', import.meta.url))

/** @typedef {{ open: number, commit: number, close: number }} Phases */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { build: { type: 'string' }, durability: { type: 'string', default: 'relaxed' }, dir: { type: 'string', default: homedir() } },
})
if (values.build !== undefined) console.log(JSON.stringify(await build(positionals[0] ?? own, values.build, values.durability)))
else compare(positionals[0] === undefined ? [own] : [resolve(positionals[0]), own])

/** One build, in a process of its own. @param {string} checkout @param {string} dir @param {string} durability @returns {Promise<Phases>} */
async function build(checkout, dir, durability) {
  const { openCache } = await import(pathToFileURL(join(checkout, 'packages/varve/dist/bundle/index.js')).href)
  const begun = performance.now()
  const cache = await openCache({ name: 'bench', dir, durability })
  const opened = performance.now()
  const namespace = cache.namespace('n')
  const value = Buffer.alloc(1000, 7)
  for (let index = 0; index < ENTRIES; index++) namespace.put(`key ${index} of ${process.pid}`, value)
  const filled = performance.now()
  await cache.commit()
  const committed = performance.now()
  await cache.close()
  return { open: opened - begun, commit: committed - filled, close: performance.now() - committed }
}

/** @param {readonly string[]} checkouts */
function compare(checkouts) {
  printProcessor()
  /** @type {Record<string, Phases[]>} */
  const found = {}
  for (let run = 0; run < RUNS; run++) {
    for (const durability of ['relaxed', 'durable']) {
      for (const [title, before] of Object.entries(BUILDS)) {
        for (const checkout of run % 2 === 0 ? checkouts : checkouts.toReversed()) {
          const dir = mkdtempSync(join(values.dir, '.varve-bench-close-'))
          for (let round = 0; round < before; round++) child(checkout, dir, durability)
          const name = `${checkout} ${durability} ${title}`
          found[name] = [...(found[name] ?? []), child(checkout, dir, durability)]
          rmSync(dir, { recursive: true })
        }
      }
    }
  }
  for (const [name, phases] of Object.entries(found)) {
    const of = (/** @type {keyof Phases} */ phase) => median(phases.map((one) => one[phase])).toFixed(2)
    console.log(`${name}: open ${of('open')}, commit ${of('commit')}, close ${of('close')} ms`)
  }
}

/** @param {string} checkout @param {string} dir @param {string} durability @returns {Phases} */
function child(checkout, dir, durability) {
  const args = [fileURLToPath(import.meta.url), checkout, '--build', dir, '--durability', durability]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
}
