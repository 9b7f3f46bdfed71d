// @ts-check
// What every platform and runtime must do, in 13 steps: `checks.mjs <engine> <results>`. It runs in a project with the packages as users
// install them, and writes the names of the steps that passed, and the errors of the others, to a file, because some hosts of
// Node.js cannot write to a pipe. It awaits nothing at its top, so that it can also run as CommonJS.
import assert from 'node:assert'
import { createWriteStream, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { Worker } from 'node:worker_threads'
import { openCache } from 'varve'

const [engine, results = ''] = /** @type {['native' | 'wasm' | 'memory', string]} */ (process.argv.slice(2))
const inMemory = engine === 'memory'
const dir = join(process.cwd(), 'cache')
const options = inMemory ? { name: 'checks', inMemory } : { name: 'checks', dir, engine }
const folder = join(process.cwd(), 'files')
const big = Buffer.from(Array.from({ length: 3 << 20 }, (_, index) => (index * index) % 251))
const keys = Array.from({ length: 1000 }, (_, index) => `key ${index}`)

/** @type {import('varve').Cache} */
let cache
const space = () => cache.namespace('bytes')
/** @param {Uint8Array | undefined} bytes */
const textOf = (bytes) => Buffer.from(bytes ?? '').toString()

/** @type {Readonly<Record<string, () => unknown>>} */
const STEPS = {
  open: async () => {
    rmSync(dir, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    cache = await openCache(options)
    assert.equal(cache.status().engine, inMemory ? 'wasm' : engine, cache.status().reason)
  },
  put: () => keys.forEach((key) => space().put(key, Buffer.from(`value of ${key}`))),
  commit: () => cache.commit({ durability: inMemory ? 'relaxed' : 'durable' }),
  '3 MiB value': async () => {
    space().put('big', big)
    await cache.commit()
    assert.ok(big.equals(space().get('big') ?? Buffer.alloc(0)))
  },
  getManyAsync: async () => {
    const found = await space().getManyAsync(keys)
    keys.forEach((key, index) => assert.equal(textOf(found[index]), `value of ${key}`))
  },
  task: async () => {
    const task = cache.task('double', { codec: 'json' })
    const run = () => task.run({ id: 'a', inputs: { number: 21 } }, () => 42)
    assert.deepEqual([await run(), await run(), task.stats().hits], [42, 42, 1])
  },
  '50 files': async () => {
    for (let index = 0; index < 50; index++) writeFileSync(`${folder}/${index}.txt`, `file ${index}`)
    const manifest = await cache.files.store(folder)
    space().put('manifest', Buffer.from(JSON.stringify(manifest)))
    rmSync(folder, { recursive: true })
    await cache.files.restore(manifest, folder)
    assert.equal(readFileSync(`${folder}/49.txt`, 'utf8'), 'file 49')
  },
  tar: async () => {
    const archive = `${dir}.tar.gz`
    await cache.files.exportTar(await cache.files.store(folder), archive, { gzip: true })
    const { manifest } = await cache.files.importTar(archive)
    assert.equal(manifest.files.length, 50)
  },
  worker: () => inWorker(),
  export: async () => {
    const file = createWriteStream(`${dir}.json`)
    const { entries } = await cache.exportJson(file)
    await finished(file.end())
    assert.ok(entries > keys.length)
  },
  verify: async () => assert.deepEqual((await cache.verify()).damage, []),
  compact: async () => void (await cache.compact({ full: true })),
  reopen: async () => {
    await cache.close()
    cache = await openCache(options)
    assert.equal(textOf(space().get('key 7')), 'value of key 7')
    await cache.close()
  },
}

/** Another thread opens the cache with the same engine, writes, closes and ends; this one reads what it wrote. */
async function inWorker() {
  const program = `
    import('varve').then(async ({ openCache }) => {
      const cache = await openCache(${JSON.stringify(options)})
      cache.namespace('bytes').put('from the worker', Buffer.from('yes'))
      await cache.close()
    })`
  await new Promise((resolve, reject) => {
    new Worker(program, { eval: true }).on('error', reject).on('exit', resolve)
  })
  cache.refresh()
  assert.equal(textOf(space().get('from the worker')), inMemory ? '' : 'yes')
}

async function main() {
  /** @type {string[]} */
  const passed = []
  /** @type {Record<string, string>} */
  const failed = {}
  for (const [name, work] of Object.entries(STEPS)) {
    try {
      await work()
      passed.push(name)
    } catch (error) {
      failed[name] = error instanceof Error ? (error.stack ?? error.message) : String(error)
    }
  }
  writeFileSync(results, JSON.stringify({ passed, failed }))
}

void main()
