/**
 * Damage is a miss and is reported once for each place, by `onDamage`, one warning and `status()`. With `strict` it is an
 * error. `verify` names file, byte, namespace and keys; `repair` quarantines damaged files and keeps the rest.
 */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Cache, type CacheOptions, type Damage, type Namespace, openCache, type VarveError } from 'varve'
import { describe, expect, it } from 'vitest'
import { ENGINES, type EngineName } from '../engines.ts'
import { snapshot } from '../folders.ts'
import { COUNT, fileOf, flip, keyOf, makeCache, valueOf } from './caches.ts'

/** A cache and its reports. */
async function watched(dir: string, engine: EngineName, options: Partial<CacheOptions> = {}) {
  const [reported, warnings]: [Damage[], VarveError[]] = [[], []]
  const onDamage = (damage: Damage): void => void reported.push(damage)
  const onWarning = (warning: VarveError): void => void warnings.push(warning)
  const cache = await openCache({ name: 'damage', dir, engine, onDamage, onWarning, ...options })
  return { cache, reported, warnings }
}

/** The entries of `makeCache` that are there; a wrong value fails. */
function readable(cache: Cache): number[] {
  const space = cache.namespace('n', { codec: 'text' })
  const found = Array.from({ length: COUNT }, (_, number) => number).filter(
    (number) => space.get(keyOf(number)) !== undefined,
  )
  for (const number of found) expect(space.get(keyOf(number))).toBe(valueOf(number))
  return found
}

const SOME = [keyOf(1), keyOf(2)]

/** Other ways to read than `get`: what of SOME they find. */
const READS: Record<string, (space: Namespace<string>) => unknown[] | Promise<unknown[]>> = {
  getMany: (space) => space.getMany(SOME).filter((value) => value !== undefined),
  getManyAsync: async (space) => (await space.getManyAsync(SOME)).filter((value) => value !== undefined),
  has: (space) => SOME.filter((key) => space.has(key)),
  entries: (space) => [...space.entries()].filter(([key]) => typeof key === 'string' && SOME.includes(key)),
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe.each(ENGINES)('damage: %s', (engine) => {
  it('damage is reported soon after the read, once per place, and never during a call', async () => {
    const dir = await makeCache(engine)
    flip(fileOf(dir, '.table'), 100)
    flip(fileOf(dir, '.table'), 20_000)
    const { cache, reported, warnings } = await watched(dir, engine)
    const found = readable(cache)
    expect([reported.length, found.length > 100, found.length < COUNT]).toEqual([0, true, true])
    await soon()
    expect(reported.length).toBe(2)
    const name = basename(fileOf(dir, '.table'))
    for (const place of reported)
      expect(place).toMatchObject({ file: name, offset: expect.any(Number), namespace: 'n' })
    expect(reported.map((place) => place.what)).toContain('block of values')
    expect(warnings.map(({ code, message }) => [code, message.includes(String(name))])).toEqual([['DAMAGED', true]])
    readable(cache)
    await cache.verify()
    cache.refresh()
    await cache.close()
    expect([reported.length, warnings.length]).toEqual([2, 1])
  })

  it.each(Object.entries(READS))('damage is reported after %s', async (_, read) => {
    const dir = await makeCache(engine)
    flip(fileOf(dir, '.table'), -100) // the directory: every block of the table is lost
    const { cache, reported } = await watched(dir, engine)
    expect(await read(cache.namespace('n', { codec: 'text' }))).toEqual([])
    await soon()
    expect(reported).toMatchObject([{ what: 'directory of a table', namespace: 'n' }])
    await cache.close()
  })

  it('openCache reports damage of a log; everything is a miss until the next commit, which works', async () => {
    const dir = await makeCache(engine)
    const log = fileOf(dir, '.log')
    flip(log, 100)
    const { cache, reported, warnings } = await watched(dir, engine)
    await soon()
    expect(reported).toMatchObject([{ file: basename(log), namespace: null, keys: null }])
    expect(readable(cache)).toEqual([])
    cache.namespace('n', { codec: 'text' }).put('new', 'value')
    await cache.commit()
    await cache.close()
    expect([reported.length, warnings.length]).toEqual([1, 1])
    expect(readdirSync(join(dir, 'v1')).filter((name) => name.endsWith('.bad')).length).toBeGreaterThan(0)
    const after = await watched(dir, engine)
    expect([after.cache.namespace('n', { codec: 'text' }).get('new'), (await after.cache.verify()).sound]).toEqual([
      'value',
      true,
    ])
    await after.cache.close()
  })

  it('damage is reported to a listener that throws or uses the cache, and without one to process.emitWarning', async () => {
    const dir = await makeCache(engine)
    flip(fileOf(dir, '.table'), -200)
    let values: unknown[] = []
    const onDamage = (): void => {
      values = [cache.namespace('n', { codec: 'text' }).get('later')]
      throw new Error('of the listener')
    }
    const cache = await openCache({ name: 'damage', dir, engine, onDamage })
    readable(cache)
    await soon()
    await cache.close()
    expect(values).toEqual(['value'])
    const emitted = new Promise<NodeJS.ErrnoException>((resolve) => void process.once('warning', resolve))
    const other = await openCache({ name: 'damage', dir, engine })
    readable(other)
    expect(await emitted).toMatchObject({ code: 'DAMAGED', message: expect.stringContaining('npx varve repair') })
    await other.close()
  })

  it('listeners that are asynchronous and reject do not end the process', async () => {
    const dir = await makeCache(engine)
    flip(fileOf(dir, '.table'), -200)
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    const others = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', note)
    const listener = async (): Promise<void> => Promise.reject(new Error('of the listener'))
    const cache = await openCache({ name: 'damage', dir, engine, onDamage: listener, onWarning: listener })
    readable(cache)
    await soon()
    await cache.close()
    await new Promise((resolve) => setTimeout(resolve, 10))
    process.removeListener('unhandledRejection', note)
    for (const other of others) process.on('unhandledRejection', other)
    expect(unhandled).toEqual([])
  })

  it('damage that close() finds is reported, too', async () => {
    const dir = await makeCache(engine)
    const table = fileOf(dir, '.table')
    flip(table, 100)
    const { cache, reported, warnings } = await watched(dir, engine)
    const space = cache.namespace('n', { codec: 'text' })
    for (let number = 0; number < COUNT / 2; number++) space.put(keyOf(number), valueOf(number).repeat(8))
    await cache.commit()
    expect(reported).toEqual([])
    await cache.close() // which compacts, for the commit was large
    expect(reported).toMatchObject([{ file: basename(table), what: 'block of values' }])
    expect(warnings.length).toBe(1)
  })

  it('damage is an error with strict: true', async () => {
    const dir = await makeCache(engine)
    const strict = await watched(dir, engine, { strict: true })
    expect(readable(strict.cache).length).toBe(COUNT)
    await strict.cache.close()
    flip(fileOf(dir, '.table'), 100)
    const { cache } = await watched(dir, engine, { strict: true })
    const damaged = expect.objectContaining({ code: 'DAMAGED' })
    expect(() => readable(cache)).toThrow(damaged)
    expect(() => cache.namespace('n', { codec: 'text' }).getMany(['nothing'])).toThrow(damaged)
    await expect(cache.commit()).rejects.toThrow(damaged)
    await expect(cache.compact()).rejects.toThrow(damaged)
    expect((await cache.verify()).sound).toBe(false)
    await cache.close()
    flip(fileOf(dir, '.log'), 100)
    await expect(watched(dir, engine, { strict: true })).rejects.toThrow(damaged)
  })

  it('verify names file, byte, namespace and keys of damage, and changes nothing', async () => {
    const dir = await makeCache(engine)
    const table = fileOf(dir, '.table')
    flip(table, 100)
    const before = snapshot(dir)
    const { cache } = await watched(dir, engine)
    const { sound, damage } = await cache.verify()
    expect([sound, damage.length]).toEqual([false, 1])
    const [place] = damage
    const keys = place?.keys
    expect(place).toMatchObject({ file: basename(table), what: 'block of values', namespace: 'n' })
    const lost = COUNT - readable(cache).length
    expect(keys).toMatchObject({
      entries: lost,
      first: expect.stringMatching(/^key \d+$/),
      last: expect.stringMatching(/^key \d+$/),
    })
    for (const key of [keys?.first, keys?.last])
      expect(cache.namespace('n', { codec: 'text' }).get(key ?? '')).toBeUndefined()
    expect((keys?.firstHash ?? 1) <= (keys?.lastHash ?? 0)).toBe(true)
    await cache.close()
    expect(snapshot(dir)).toEqual(before)
  })

  it('repair quarantines damaged files and keeps every other entry; a dry run writes nothing', async () => {
    const dir = await makeCache(engine)
    const table = fileOf(dir, '.table')
    flip(table, 100)
    const before = snapshot(dir)
    const { cache } = await watched(dir, engine)
    const found = readable(cache)
    const planned = await cache.repair({ dryRun: true })
    expect(planned).toMatchObject({ sound: false, unrecoverable: false, quarantined: [basename(table)] })
    expect(snapshot(dir)).toEqual(before)
    const done = await cache.repair()
    expect(done).toMatchObject({
      sound: true,
      quarantined: planned.quarantined,
      remaining: [],
      entriesAfter: found.length + 1,
    })
    expect(readable(cache)).toEqual(found)
    expect(readdirSync(join(dir, 'v1'))).toContain(`${basename(table)}.bad`)
    await cache.close()
    const again = await watched(dir, engine)
    expect([readable(again.cache), again.cache.namespace('n', { codec: 'text' }).get('later')]).toEqual([
      found,
      'value',
    ])
    expect(await again.cache.repair()).toMatchObject({ sound: true, damage: [], quarantined: [] })
    await again.cache.close()
    const reader = await watched(dir, engine, { readOnly: true })
    await expect(reader.cache.repair()).rejects.toThrow(expect.objectContaining({ code: 'READ_ONLY' }))
    await reader.cache.close()
  })
})
