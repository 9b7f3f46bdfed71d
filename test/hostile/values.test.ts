/**
 * S7: values with changed bytes and forged checksums. Decoding them returns a value or a miss, and neither pollutes a prototype
 * nor throws.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { deserialize, serialize } from 'node:v8'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { randomOf, runSeed } from '../random.ts'
import { slow } from '../slow.ts'

const MUTATIONS = 100_000
const PAGE = 10_000

const SEEDS: unknown[] = [
  {
    ['__proto__x']: { polluted: true },
    constructor: { prototype: { polluted: true } },
    a: [1, 2.5, 'text', null, true],
  },
  JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": {"polluted": 1}}, "toString": 1}'),
  new Map<unknown, unknown>([
    ['__proto__', { polluted: true }],
    [new Set([1n]), new Date(0)],
  ]),
  [/expression/g, new Uint8Array(20), new Error('message'), Number.NaN, 'ü'.repeat(50)],
]

const ENCODERS = { json: (value: unknown): Buffer => Buffer.from(JSON.stringify(value)), v8: serialize }

it.each(['json', 'v8'] as const)(
  `${MUTATIONS} changed values of codec %s pollute nothing and throw nothing`,
  slow,
  async (codec) => {
    const random = randomOf(runSeed(`values ${codec}`))
    const cache = await openCache({ name: `values-${codec}`, inMemory: true, onWarning() {} })
    const space = cache.namespace('n', { codec })
    const encoded = SEEDS.map(ENCODERS[codec])
    space.put('first', 1)
    await cache.commit()
    const version = (await cache.stats()).namespaces[0]?.version
    let [decoded, missed] = [0, 0]
    for (let page = 0; page < MUTATIONS; page += PAGE) {
      const lines = Array.from({ length: PAGE }, (_, number) => {
        const bytes = Buffer.from(encoded[random(encoded.length)] ?? [])
        for (let change = 0; change <= random(4); change++) bytes[random(bytes.length)] = random(256)
        const end = random(8) === 0 ? random(bytes.length) : bytes.length
        return JSON.stringify({
          namespace: 'n',
          version,
          key: `key ${number}`,
          base64: bytes.toString('base64', 0, end),
        })
      })
      await cache.importJson(Readable.from([lines.join('\n')]))
      for (let number = 0; number < PAGE; number++) {
        if (space.get(`key ${number}`) === undefined) missed += 1
        else decoded += 1
      }
      expect([Reflect.get({}, 'polluted'), Reflect.get([], 'polluted'), Reflect.get(() => 0, 'polluted')]).toEqual([
        undefined,
        undefined,
        undefined,
      ])
    }
    expect([decoded + missed, decoded > 1000, missed > 1000, Object.keys(Object.prototype)]).toEqual([
      MUTATIONS,
      true,
      true,
      [],
    ])
    await cache.close()
  },
)

it.each(['json', 'v8'] as const)('what is called __proto__ comes back as data of its own: %s', async (codec) => {
  const cache = await openCache({ name: `own-${codec}`, inMemory: true })
  const space = cache.namespace('n', { codec })
  space.put('key', JSON.parse('{"__proto__": {"polluted": true}}'))
  const back: object = Object(space.get('key'))
  const plain: object = Object(deserialize(serialize({})))
  expect([Object.keys(back), Reflect.get({}, 'polluted')]).toEqual([['__proto__'], undefined])
  expect(Object.getPrototypeOf(back)).toBe(Object.getPrototypeOf(plain))
  await cache.close()
})

/** 60 MiB of brackets in a directory of 263 KB took 2.7 GB; as many empty objects 1.9 GB. */
describe.each(ENGINES)('a bomb of JSON: %s', (engine) => {
  const BYTES = 60 << 20
  const pieces = [
    ['brackets', '['],
    ['empty objects', '{},'],
    ['numbers', '0,'],
  ]
  it.each(pieces)('a bomb of %s as JSON is a miss that takes little memory', slow, async (_, piece) => {
    const dir = join(makeFolder(), 'cache')
    const cache = await openCache({ name: 'bomb', dir, engine })
    const body = Buffer.alloc(BYTES, piece)
    body[0] = 0x5b
    await cache.importJson(
      Readable.from([`{"namespace":"n","version":"1 json","key":"key","base64":"${body.toString('base64')}"}\n`]),
    )
    await cache.close()
    const program = fileURLToPath(new URL('bomb.mjs', import.meta.url))
    const out = execFileSync(process.execPath, [program, dir, engine], { encoding: 'utf8' })
    const { found, warnings, peakMiB } = JSON.parse(out)
    expect([found, warnings]).toEqual([false, ['DAMAGED']])
    expect(peakMiB).toBeLessThan(512)
  })
})

it('a value of JSON is taken at the limit of its elements, and refused above it as it would be a miss', async () => {
  const LIMIT = 1 << 22
  const cache = await openCache({ name: 'elements', inMemory: true })
  const space = cache.namespace<unknown>('n', { codec: 'json' })
  const numbers = Array.from({ length: LIMIT }, () => 0) // one bracket, and a comma less than there are numbers
  space.put('most', numbers)
  await cache.commit()
  expect(space.get('most')).toHaveLength(LIMIT)
  const refusal = { code: 'VALUE_TOO_LONG', message: expect.stringContaining('4194304') }
  expect(() => space.put('more', [...numbers, 0])).toThrow(expect.objectContaining(refusal))
  // What stands in strings does not count, whatever is escaped there.
  const texts = ['[{,'.repeat(LIMIT), '\\', '"'.repeat(100), '\\"[', ',,,'.repeat(LIMIT)]
  space.put('texts', texts)
  expect(space.get('texts')).toEqual(texts)
  await cache.close()
})
