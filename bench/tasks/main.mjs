// @ts-check
// `node bench/tasks/main.mjs`: the cost of a task's hit next to a plain get, native and WebAssembly, in microseconds of CPU time,
// the median of rounds in turn. --quick: fewer rounds. --json prints one array.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCache } from 'varve'
import { median } from '../median.mjs'
import { cpuMs, printProcessor } from '../processor.mjs'
import { inTurn, readArguments } from '../turns.mjs'

const { options } = readArguments({ quick: false, json: false })
const ROUNDS = options.quick ? 3 : 15
const RUNS = 20_000
const IDS = Array.from({ length: 1000 }, (_, index) => `src/components/module-${index}.tsx`)
const RESULT = 'y'.repeat(2000)
const SOURCE = 'export const x = 1\n'.repeat(100)
const FILES = ['src/a.css', 'src/b.css', 'src/c.css']

/** @type {Record<string, (id: string) => import('varve').TaskRequest>} */
const SHAPES = {
  'run, no inputs': (id) => ({ id }),
  'run, a source of 1.9 KB': (id) => ({ id: `${id}?source`, inputs: { source: SOURCE } }),
  'run, the same and 3 files': (id) => ({ id: `${id}?files`, inputs: { source: SOURCE }, files: FILES }),
}

/** Microseconds of CPU time per call, over RUNS calls. @param {(id: string) => unknown} call */
async function perRun(call) {
  const before = process.cpuUsage()
  for (let index = 0; index < RUNS; index++) await call(IDS[index % IDS.length] ?? '')
  return (cpuMs(before) * 1000) / RUNS
}

/** @param {'native' | 'wasm'} engine @param {string} root */
async function measure(engine, root) {
  const cache = await openCache({ name: 'bench', dir: join(root, engine), engine })
  const bare = cache.namespace('bare', { codec: 'text' })
  const task = cache.task('bench', { root, codec: 'text' })
  for (const id of IDS) {
    bare.put(id, RESULT)
    for (const shape of Object.values(SHAPES)) await task.run(shape(id), () => RESULT)
  }
  await cache.commit()
  /** @type {Record<string, (id: string) => unknown>} */
  const calls = { 'get alone, awaited': (id) => bare.get(id) }
  for (const [name, shape] of Object.entries(SHAPES)) {
    calls[name] = (id) => task.run(shape(id), () => Promise.reject(new Error(`${id} is not a hit`)))
  }
  const times = await inTurn(calls, ROUNDS, perRun)
  await cache.close()
  return Object.entries(times).map(([id, all]) => ({ id, engine, value: Number(median(all).toFixed(2)), unit: 'us' }))
}

printProcessor()
const root = mkdtempSync(join(tmpdir(), 'varve-bench-tasks-'))
try {
  mkdirSync(join(root, 'src'))
  for (const file of FILES) writeFileSync(join(root, file), file.repeat(300))
  await new Promise((resolve) => setTimeout(resolve, 100)) // recently changed files would be hashed
  const figures = [...(await measure('native', root)), ...(await measure('wasm', root))]
  if (options.json) process.stdout.write(`${JSON.stringify(figures)}\n`)
  else
    for (const { id, engine, value, unit } of figures)
      process.stdout.write(`${engine.padEnd(8)}${id.padEnd(28)}${value} ${unit}\n`)
} finally {
  rmSync(root, { recursive: true, force: true })
}
