// @ts-check
// What every platform must do, in 13 steps: `node checks.mjs <engine> <results>`. It runs in a project with the packages as users
// install them, and writes the names of the steps, or the error, to a file, because some hosts of Node.js cannot write to a pipe.
import assert from 'node:assert'
import { createWriteStream, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { openCache } from 'varve'

const [engine, results = ''] = /** @type {['native' | 'wasm', string]} */ (process.argv.slice(2))
const options = { name: 'checks', dir: fileURLToPath(new URL('cache', import.meta.url)), engine }
const folder = fileURLToPath(new URL('files', import.meta.url))
const big = Buffer.from(Array.from({ length: 3 << 20 }, (_, index) => (index * index) % 251))
const keys = Array.from({ length: 1000 }, (_, index) => `key ${index}`)

rmSync(options.dir, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
let cache = await openCache(options)
const space = () => cache.namespace('bytes')

/** @type {Readonly<Record<string, () => unknown>>} */
const STEPS = {
  'open': () => assert.equal(cache.status().engine, engine, cache.status().reason),
  'put': () => keys.forEach((key) => space().put(key, Buffer.from(`value of ${key}`))),
  'commit': () => cache.commit({ durability: 'durable' }),
  '3 MiB value': async () => {
    space().put('big', big)
    await cache.commit()
    assert.ok(big.equals(space().get('big') ?? Buffer.alloc(0)))
  },
  'getManyAsync': async () => {
    const found = await space().getManyAsync(keys)
    keys.forEach((key, index) => assert.equal(Buffer.from(found[index] ?? '').toString(), `value of ${key}`))
  },
  'task': async () => {
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
  'tar': async () => {
    const archive = `${options.dir}.tar.gz`
    await cache.files.exportTar(await cache.files.store(folder), archive, { gzip: true })
    const { manifest } = await cache.files.importTar(archive)
    assert.equal(manifest.files.length, 50)
  },
  'worker': () => inWorker(),
  'export': async () => {
    const file = createWriteStream(`${options.dir}.json`)
    const { entries } = await cache.exportJson(file)
    await finished(file.end())
    assert.ok(entries > keys.length)
  },
  'verify': async () => assert.deepEqual((await cache.verify()).damage, []),
  'compact': async () => void (await cache.compact({ full: true })),
  'reopen': async () => {
    await cache.close()
    cache = await openCache(options)
    assert.equal(Buffer.from(space().get('from the worker') ?? '').toString(), 'yes')
    await cache.close()
  },
}

/** Another thread opens the cache with the same engine, writes, closes and ends. */
function inWorker() {
  const program = `
    import('varve').then(async ({ openCache }) => {
      const cache = await openCache(${JSON.stringify(options)})
      cache.namespace('bytes').put('from the worker', Buffer.from('yes'))
      await cache.close()
    })`
  return new Promise((resolve, reject) => {
    new Worker(program, { eval: true }).on('error', reject).on('exit', resolve)
  })
}

/** @type {string[]} */
const passed = []
try {
  for (const [name, work] of Object.entries(STEPS)) {
    await work()
    passed.push(name)
  }
  writeFileSync(results, JSON.stringify({ passed }))
} catch (error) {
  writeFileSync(results, JSON.stringify({ passed, error: error instanceof Error ? error.stack : String(error) }))
}
