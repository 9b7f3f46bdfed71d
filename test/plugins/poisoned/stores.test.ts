/** Poisoned caches of the adapters: for Jest and Metro, whose results are used at once, and for Keyv, unstorage and Parcel. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { serialize } from 'node:v8'
import { createTransformer } from '@varve/plugins/jest'
import { VarveKeyv } from '@varve/plugins/keyv'
import { VarveMetroStore } from '@varve/plugins/metro'
import { VarveParcelCache } from '@varve/plugins/parcel'
import { varveDriver } from '@varve/plugins/unstorage'
import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type * as adapterValues from '../../../packages/plugins/src/adapters/value.ts'
import { makeFolder } from '../../folders.ts'
import { pick, type Random, randomOf, runSeed } from '../../random.ts'
import { VALUES } from './attack.ts'
import { entriesOf, plant } from './cache.ts'
import { watchdog } from './watchdog.ts'

const beat = watchdog()

/** Entries of an adapter that are spoiled at a time. */
const COUNT = 50
const NUMBERS = Array.from({ length: COUNT }, (_, number) => number)

/** Values of no tool. */
const OTHERS: readonly unknown[] = [
  null,
  0,
  -1.5,
  true,
  '',
  'text',
  [],
  {},
  [[]],
  { code: 1 },
  { code: null, map: {} },
  { code: 'x', map: { mappings: 5 } },
  { code: 'x', map: '{' },
  { dependencies: {}, output: [] },
  { dependencies: [], output: [] },
  { dependencies: [{}], output: [{ type: 'js/module', data: {} }] },
  { dependencies: [], output: [{ type: 'js/module', data: { code: 'x', lineCount: 'y', map: [] } }] },
  { output: 'x', dependencies: 'y' },
  { id: 'x', pieces: 2 ** 28 + 1, bytes: 2 ** 52 },
  { id: 5, pieces: 1, bytes: 1 },
  { id: 'x', pieces: Number.MAX_VALUE, bytes: 5 },
  { toString: 1 },
  JSON.parse('{"__proto__": {"code": "x"}, "constructor": 1}'),
  'x'.repeat(100_000),
  Array.from({ length: 50_000 }, () => 0),
]

/** Other bytes in the place of an encoded value: kind, time, body. */
function spoiled(random: Random, value: Buffer): Buffer {
  const kind = pick(random, [0, 1, 2, 3, 4, 255])
  const head = Buffer.alloc(9)
  head[0] = kind
  head.writeDoubleLE(pick(random, [0, 1, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300]), 1)
  const other = pick(random, OTHERS)
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const bodies = [
    Buffer.from(JSON.stringify(other)),
    serialize(other),
    Buffer.from(deep),
    Buffer.from([0xff, 0xff, 0xfe]),
  ]
  const body = kind === 2 ? bodies[0] : kind === 3 ? bodies[1] : pick(random, bodies)
  const built = Buffer.concat([head, body ?? Buffer.alloc(0)])
  return pick(random, [
    built,
    built,
    built,
    value.subarray(0, random(value.length)),
    Buffer.alloc(random(12), 0xff),
    Buffer.alloc(0),
  ])
}

/** Spoils every entry of the cache in `dir`, often enough, and calls `use` after each time. */
async function attack(name: string, dir: string, use: () => Promise<void>): Promise<void> {
  const random = randomOf(runSeed(`poisoned ${name}`))
  await use()
  for (let planted = 0; planted < VALUES;) {
    const entries = await entriesOf(dir)
    expect(entries.length).toBeGreaterThanOrEqual(COUNT)
    await plant(
      dir,
      entries.map((entry) => ({ ...entry, value: spoiled(random, entry.value) })),
    )
    await use()
    planted += entries.length
    beat()
  }
  expect(Reflect.get({}, 'code')).toBeUndefined()
}

it('a run of Jest with a cache of values that no transformer made gets what the transformer makes', async () => {
  const dir = makeFolder()
  const transformer = join(dir, 'transformer.cjs')
  const made = (number: number) => ({ code: `made(${number})`, map: null })
  writeFileSync(
    transformer,
    'exports.process = (text) => ({ code: `made(${text})`, map: null })\nexports.getCacheKey = (text) => text\n',
  )
  await attack('Jest', join(dir, 'cache'), async () => {
    const cached = await createTransformer({ transformer, dir: join(dir, 'cache') })
    for (const number of NUMBERS)
      expect(cached.process?.(String(number), `/file-${number}.js`, { configString: '' })).toEqual(made(number))
    await new Promise((resolve) => setTimeout(resolve, 30)) // what is put is committed at the end of a turn
  })
})

it('Metro gets from a cache of values that it did not store what it stored, or a miss', async () => {
  const dir = makeFolder()
  const keyOf = (number: number): Buffer => createHash('sha1').update(String(number)).digest()
  const result = (number: number) => ({
    dependencies: [],
    output: [{ type: 'js/module', data: { code: `made(${number})`, lineCount: 1, map: [] } }],
  })
  await attack('Metro', dir, async () => {
    const store = new VarveMetroStore<unknown>({ dir })
    for (const number of NUMBERS) {
      const found = await store.get(keyOf(number))
      expect(found ?? result(number)).toEqual(result(number))
      await store.set(keyOf(number), result(number))
    }
    await store.close()
  })
})

it('Keyv and unstorage fail for no value that a cache may hold, and what is set after it is there', async () => {
  const dir = makeFolder()
  await attack('Keyv', dir, async () => {
    const store = new VarveKeyv({ dir })
    const keys = NUMBERS.map((number) => `key ${number}`)
    const found = await store.getMany(keys)
    expect(found.length).toBe(COUNT)
    for (const key of keys) expect(typeof (await store.has(key))).toBe('boolean')
    for await (const [key] of store.iterator()) expect(keys).toContain(key)
    await store.setMany(keys.map((key) => ({ key, value: { of: key } })))
    expect(await store.getMany(keys)).toEqual(keys.map((key) => ({ of: key })))
    await store.disconnect()
  })
  const other = makeFolder()
  await attack('unstorage', other, async () => {
    const driver = varveDriver({ dir: other })
    for (const number of NUMBERS) {
      const text = await driver.getItem(`key:${number}`)
      expect(text === null || typeof text === 'string').toBe(true)
      const meta = await driver.getMeta(`key:${number}`)
      expect(meta?.mtime.getTime()).not.toBeNaN()
      await driver.setItem(`key:${number}`, `text ${number}`)
      expect(await driver.getItem(`key:${number}`)).toBe(`text ${number}`)
    }
    await driver.dispose()
  })
})

it('Parcel gets contents, data or a miss from any cache, and removing contents ends', async () => {
  const dir = makeFolder()
  await attack('Parcel', dir, async () => {
    const cache = new VarveParcelCache({ dir })
    await cache.ensure()
    await Promise.all(
      NUMBERS.map(async (number) => {
        const [key, contents] = [`key ${number}`, Buffer.alloc(10, number)]
        await cache.get(key)
        for (const found of [cache.getBlob(key), cache.getLargeBlob(key), buffer(cache.getStream(key))]) {
          expect(await found.then(Buffer.isBuffer, (error) => error.code)).toSatisfy(
            (value) => value === true || value === 'ENOENT',
          )
        }
        await Promise.all([cache.set(key, { number }), cache.setBlob(key, contents)])
        await cache.setLargeBlob(key, contents)
        expect([await cache.get(key), await cache.getBlob(key), await cache.getLargeBlob(key)]).toEqual([
          { number },
          contents,
          contents,
        ])
        if (number % 2 === 0) await cache.deleteLargeBlob(key)
      }),
    )
    await cache.close()
  })
})

it('a planted value of more elements than JSON may have was parsed by adapters, for as much memory as it takes', async () => {
  const internal = new URL('../../../packages/plugins/src/adapters/value.ts', import.meta.url).href
  const { decodeValue, encodeValue }: typeof adapterValues = await import(internal)
  const isAnything = (value: unknown): value is unknown => value !== undefined
  const small = encodeValue([[]], 0, 'json')
  expect(decodeValue(small, isAnything)?.value).toEqual([[]])
  const bomb = Buffer.concat([small.subarray(0, 9), Buffer.from(`[${'[],'.repeat(5_000_000)}[]]`)])
  expect(decodeValue(bomb, isAnything)).toBeUndefined()
})
