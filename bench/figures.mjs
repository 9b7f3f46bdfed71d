// @ts-check
// `npm run bench -- --figures`: measures the figures of docs/benchmarks.md. Each is a median of wall time on this machine, so compare
// columns, not machines. `--json` prints one array.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { at } from '../scripts/common/root.mjs'
import { setup } from '../scripts/setup.mjs'
import { run, runMain } from '../scripts/common/steps.mjs'
import { median } from './median.mjs'
import { printProcessor } from './processor.mjs'

const ENTRIES = 10_000
const VALUE = new Uint8Array(128).fill(7)
const KEYS = Array.from({ length: ENTRIES }, (_, index) =>
  `/project/src/components/module-${index}.tsx`.padEnd(50, '|'),
)
const { values: options } = parseArgs({ options: { json: { type: 'boolean' } } })

/** @typedef {{ id: string, engine: string, value: number, unit: string }} Figure */

/**
 * Nanoseconds for each of `KEYS`, the median of 31 rounds.
 * @param {(key: string) => unknown} call
 */
function perKey(call) {
  const rounds = Array.from({ length: 31 }, () => {
    const start = process.hrtime.bigint()
    for (const key of KEYS) call(key)
    return Number(process.hrtime.bigint() - start) / KEYS.length
  })
  return median(rounds)
}

/**
 * @param {'native' | 'wasm'} engine
 * @returns {Promise<Figure[]>}
 */
async function measure(engine) {
  const { openCache } = await import('varve')
  const dir = mkdtempSync(join(tmpdir(), 'varve-figures-'))
  const cache = await openCache({ name: 'figures', dir, engine })
  const entries = cache.namespace('entries')
  for (const key of KEYS) entries.put(key, VALUE)
  await cache.commit()
  await cache.compact({ full: true })
  const missing = KEYS.map((key) => `${key}!`)
  let index = 0
  /** @type {Figure[]} */
  const figures = [
    { id: 'get hit, key 50, value 128', engine, value: perKey((key) => entries.get(key)), unit: 'ns' },
    { id: 'get miss, key 50', engine, value: perKey(() => entries.get(missing[index++ % ENTRIES] ?? '')), unit: 'ns' },
  ]
  const batches = cache.namespace('batches')
  for (const size of [1, 100, 10_000]) {
    const times = []
    for (let round = 0; round < (size === 10_000 ? 15 : 101); round++) {
      for (const key of KEYS.slice(0, size)) batches.put(`${key}${round}`, VALUE)
      const start = process.hrtime.bigint()
      await cache.commit()
      times.push(Number(process.hrtime.bigint() - start) / 1000)
    }
    figures.push({ id: `commit of ${size.toLocaleString('en')}, relaxed`, engine, value: median(times), unit: 'us' })
  }
  await cache.close()
  rmSync(dir, { recursive: true })
  return figures
}

/** @returns {Promise<Figure[]>} */
async function sizes() {
  const addon = at('packages/varve/native')
  const addonBytes = Math.max(...readdirSync(addon).map((name) => statSync(join(addon, name)).size))
  const { bytes } = await import(at('packages/varve/generated/varve_wasm_bytes.js'))
  const packed = JSON.parse(
    await run('npm', ['pack', '--dry-run', '--json', '--workspace', 'varve', '--loglevel', 'silent']),
  )
  const ownBytes = [packed]
    .flat()[0]
    .files.reduce((/** @type {number} */ sum, /** @type {{ size: number }} */ file) => sum + file.size, 0)
  const lock = JSON.parse(readFileSync(at('package-lock.json'), 'utf8')).packages
  const names = dependenciesOf(lock, 'packages/varve', new Set())
  const dependencyBytes = [...names].reduce((sum, name) => sum + folderBytes(at(name)), 0)
  return [
    { id: 'addon', engine: 'native', value: addonBytes / 1e6, unit: 'MB' },
    { id: 'module, gzipped', engine: 'wasm', value: Buffer.from(bytes, 'base64').length / 1e3, unit: 'KB' },
    { id: 'package varve, without the addon', engine: '', value: ownBytes / 1e6, unit: 'MB' },
    {
      id: 'the same with the dependencies of the command',
      engine: '',
      value: (ownBytes + dependencyBytes) / 1e6,
      unit: 'MB',
    },
  ]
}

/**
 * The folders of all dependencies of a package, by the lock file.
 * @param {Record<string, { dependencies?: Record<string, string> }>} lock
 * @param {string} path
 * @param {Set<string>} found
 */
function dependenciesOf(lock, path, found) {
  for (const name of Object.keys(lock[path]?.dependencies ?? {})) {
    const nested = `${path}/node_modules/${name}`
    const folder = lock[nested] ? nested : `node_modules/${name}`
    if (lock[folder] && !found.has(folder)) dependenciesOf(lock, folder, found.add(folder))
  }
  return found
}

/** @param {string} folder */
function folderBytes(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
}

await runMain(async () => {
  await setup()
  printProcessor()
  const figures = [...(await measure('native')), ...(await measure('wasm')), ...(await sizes())]
  if (options.json) return void process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`)
  const { default: Table } = await import('cli-table3')
  const table = new Table({
    head: ['figure', 'engine', 'value', ''],
    colAligns: ['left', 'left', 'right', 'left'],
    style: { head: [], border: [] },
  })
  for (const { id, engine, value, unit } of figures)
    table.push([id, engine, value.toFixed(unit === 'MB' ? 2 : 0), unit])
  process.stdout.write(`node ${process.version}, ${process.platform}-${process.arch}\n${table.toString()}\n`)
})
