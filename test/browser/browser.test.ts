/** Varve in Chromium: in a dedicated worker its files persist in the browser, in the format of every other cache; elsewhere it is in memory. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openCache } from 'varve'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser } from '../../scripts/common/browser.mjs'
import { makeFolder } from '../folders.ts'
import { randomOf, runSeed } from '../random.ts'
import { type Ask, openSite, type Site } from './site.ts'

const SEED = runSeed('killed workers')
const PERSISTENT = { engine: 'wasm', reason: expect.stringMatching(/^WebAssembly: .* private to the origin$/) }

describe.skipIf(!hasBrowser())('a cache in Chromium', () => {
  let site: Site
  let workers = 0
  beforeAll(async () => void (site = await openSite()))
  afterAll(async () => site?.close())

  /** A new worker, and what stops it at once, as closing a tab does. */
  async function newWorker(): Promise<{ ask: Ask; kill: () => Promise<void> }> {
    const name = `worker ${workers++}`
    return { ask: await site.start(name), kill: () => site.stop(name) }
  }

  /** Copies the files of a closed cache in the browser to a directory. */
  async function copyTo(folder: string, dir: string): Promise<void> {
    const { ask } = await newWorker()
    for (const [name, content] of (await ask('files', dir)) as [string, string][]) {
      mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o700 })
      writeFileSync(join(folder, name), Buffer.from(content, 'base64'))
    }
  }

  it('a worker commits entries, large values and many namespaces, compacts them, and the next worker reads all of them', async () => {
    const [first, dir] = [await newWorker(), '/steps']
    expect(await first.ask('open', { dir })).toEqual(PERSISTENT)
    const entries = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key ${index}`, `value ${index}`]))
    await first.ask('put', entries)
    expect(await first.ask('commit', 'durable')).toBe(1000)
    await first.ask('putBytes', 'blob', 3 << 20, 7)
    await first.ask('manyNamespaces', 60, 40_000)
    expect(await first.ask('commit', 'relaxed')).toBe(61)
    expect(await first.ask('getManyAsync', Object.keys(entries))).toEqual(Object.values(entries))
    expect([await first.ask('compact'), await first.ask('verify')]).toEqual([true, []])
    await first.ask('close')
    const second = await newWorker()
    expect(await second.ask('open', { dir })).toEqual(PERSISTENT)
    expect(await second.ask('get', Object.keys(entries))).toEqual(Object.values(entries))
    expect([await second.ask('hasBytes', 'blob', 3 << 20, 7), await second.ask('count', 60)]).toEqual([true, 60])
    await second.ask('close')
  })

  it('a cache of a browser is read natively, once its files are copied to a directory', async () => {
    const [{ ask }, dir, folder] = [await newWorker(), '/copied', makeFolder()]
    await ask('open', { dir })
    await ask('put', { key: 'value' })
    await ask('commit', 'durable')
    await ask('putBytes', 'blob', 2 << 20, 1)
    await ask('close')
    await copyTo(folder, dir)
    const cache = await openCache({ name: 'copied', dir: folder })
    expect(cache.namespace('texts', { codec: 'text' }).get('key')).toBe('value')
    expect(cache.namespace('bytes').get('blob')).toHaveLength(2 << 20)
    expect((await cache.verify()).damage).toEqual([])
    await cache.close()
  })

  it('a task finds the results of an earlier worker, and Node.js finds those of a browser under the same keys', async () => {
    const [{ ask }, dir, folder] = [await newWorker(), '/tasks', makeFolder()]
    const inputs = { source: 'Käse '.repeat(1000), options: { target: 'es2022', names: ['a', 'b'.repeat(100)] } }
    await ask('open', { dir })
    expect(await ask('task', 'src/a.js', inputs)).toEqual(['work 1 of src/a.js', 1])
    expect(await ask('task', 'src/a.js', inputs)).toEqual(['work 1 of src/a.js', 0])
    await ask('close')
    const { ask: later } = await newWorker()
    await later('open', { dir })
    expect(await later('task', 'src/a.js', inputs)).toEqual(['work 1 of src/a.js', 0])
    expect(await later('task', 'src/a.js', { ...inputs, source: 'changed' })).toEqual(['work 1 of src/a.js', 1])
    await later('close')
    await copyTo(folder, dir)
    const cache = await openCache({ name: 'copied', dir: folder })
    expect(await cache.task('build').run({ id: 'src/a.js', inputs }, () => 'work again')).toBe('work 1 of src/a.js')
    await cache.close()
  })

  it('a task refuses files and trackReads, which need the modules of Node.js', async () => {
    const { ask } = await newWorker()
    await ask('open', { dir: '/refusals' })
    expect(await ask('refusals')).toEqual(['ENGINE_UNAVAILABLE', 'ENGINE_UNAVAILABLE', 'ENGINE_UNAVAILABLE'])
    await ask('close')
  })

  it('a second worker gets a cache in memory while another one has the directory', async () => {
    const [first, second, dir] = [await newWorker(), await newWorker(), '/taken']
    await first.ask('open', { dir })
    await first.ask('put', { key: 'value' })
    await first.ask('commit', 'relaxed')
    expect(await second.ask('open', { dir })).toMatchObject({
      reason: expect.stringMatching(/^WebAssembly in memory: .* its files cannot be used/),
    })
    expect(await second.ask('get', ['key'])).toEqual([null])
    await first.ask('close')
    const third = await newWorker()
    expect(await third.ask('open', { dir })).toEqual(PERSISTENT)
    expect(await third.ask('get', ['key'])).toEqual(['value'])
    await third.ask('close')
  })

  it('what was acknowledged before a worker was killed is read by the next one, after any history', async () => {
    const random = randomOf(SEED)
    const [dir, acknowledged] = ['/killed', new Map<string, string>()]
    for (let round = 0; round < 12; round++) {
      const { ask, kill } = await newWorker()
      expect(await ask('open', { dir }), `VARVE_SEED=${SEED}`).toEqual(PERSISTENT)
      const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`)
      expect(await ask('get', keys), `VARVE_SEED=${SEED} round ${round}`).toEqual(
        keys.map((key) => acknowledged.get(key) ?? null),
      )
      for (let commit = 0; commit < 1 + random(4); commit++) {
        const made = (): [string, string] => [`key ${random(30)}`, `${round} ${commit} ${'x'.repeat(random(5000))}`]
        const entries = Object.fromEntries(Array.from({ length: 1 + random(20) }, made))
        await ask('put', entries)
        await ask('commit', 'relaxed')
        for (const [key, value] of Object.entries(entries)) acknowledged.set(key, value)
        if (random(3) === 0) await ask('compact')
      }
      if (random(3) === 0) await ask('close')
      else if (random(2) === 0) void ask('compact').catch(() => undefined)
      await kill()
    }
  })
})
