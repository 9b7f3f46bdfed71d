// @ts-check
// `node bench/view.mjs`: how soon the page of `varve view` shows something of a cache of 1 million entries, and the memory of its
// server: half of them records of a task, half of them its results.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache } from 'varve'
import { printProcessor } from './processor.mjs'

const ENTRIES = 1_000_000
const COMMIT_ENTRIES = 40_000
const COMMAND = fileURLToPath(new URL('../packages/varve/dist/bundle/cli.js', import.meta.url))

/** @param {string} dir */
async function makeCache(dir) {
  const cache = await openCache({ name: 'view', dir, maxBytes: 8 * 2 ** 30 })
  const records = cache.namespace('task:transform', { version: '1', codec: 'json' })
  const results = cache.namespace('result:transform', { version: '1', codec: 'text' })
  for (let index = 0; index < ENTRIES / 2; index++) {
    const id =
      index % 3 === 0 ? `src/folder-${index % 97}/${index}.js` : `node_modules/package-${index % 1500}/${index}.js`
    const result = index.toString(36).padStart(22, '0')
    const made = { result, timeMs: 1_795_257_075_000, workMs: 3.5 }
    records.put(id, [{ inputs: ['source', result], added: [], env: [], files: [[id, result, 100, 1, 1]], ...made }])
    results.put(`${id}\0${result}`, `export const value = ${index}`.padEnd(200 + (index % 800), ';'))
    if ((2 * index) % COMMIT_ENTRIES === 0) await cache.commit()
  }
  await cache.close()
}

/** @param {string} dir @param {string} engine */
async function measure(dir, engine) {
  const startMs = performance.now()
  const env = { ...process.env, VARVE_ENGINE: engine }
  const child = spawn(process.execPath, [COMMAND, 'view', '--dir', dir], { stdio: ['ignore', 'pipe', 'inherit'], env })
  const [url] = String(await once(child.stdout, 'data')).split('\n')
  for (const path of ['', 'overview', `contents?${new URLSearchParams({ dir })}`]) {
    await (await fetch(`${url}${path}`)).text()
    const [, peakKib = 0] = /VmHWM:\s*(\d+)/.exec(await readFile(`/proc/${child.pid}/status`, 'utf8')) ?? []
    const what = path.split('?', 1)[0] || 'page'
    const afterMs = Math.round(performance.now() - startMs)
    console.log(
      `${engine} ${what.padEnd(9)} ${afterMs} ms after the start, ${Math.round(Number(peakKib) / 1024)} MiB at most`,
    )
  }
  child.kill('SIGTERM')
  await once(child, 'exit')
}

const folder = await mkdtemp(join(tmpdir(), 'varve-view-'))
try {
  const dir = join(folder, 'cache')
  await makeCache(dir)
  printProcessor()
  for (const engine of ['native', 'wasm']) await measure(dir, engine)
} finally {
  await rm(folder, { recursive: true, force: true })
}
