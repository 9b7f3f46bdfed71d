/**
 * S7: bytes of values that were changed, as by somebody who can forge checksums. Decoding them gives a value or a miss; it
 * pollutes no prototype and throws nothing.
 */
import { Readable } from 'node:stream'
import { deserialize, serialize } from 'node:v8'
import { openCache } from 'varve'
import { expect, it } from 'vitest'
import { randomOf, runSeed } from '../random.ts'

const MUTATIONS = 100_000
const PAGE = 10_000

const SEEDS: unknown[] = [
  { ['__proto__x']: { polluted: true }, constructor: { prototype: { polluted: true } }, a: [1, 2.5, 'text', null, true] },
  JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": {"polluted": 1}}, "toString": 1}'),
  new Map<unknown, unknown>([['__proto__', { polluted: true }], [new Set([1n]), new Date(0)]]),
  [/expression/g, new Uint8Array(20), new Error('message'), Number.NaN, 'ü'.repeat(50)],
]

const ENCODERS = { json: (value: unknown): Buffer => Buffer.from(JSON.stringify(value)), v8: serialize }

it.each(['json', 'v8'] as const)(`${MUTATIONS} changed values of codec %s pollute nothing and throw nothing`, async (codec) => {
  const random = randomOf(runSeed(`values ${codec}`))
  const cache = await openCache({ name: 'values', dir: `values ${codec}`, engine: 'memory', onWarning() {} })
  const space = cache.namespace('n', { codec })
  const encoded = SEEDS.map(ENCODERS[codec])
  let [decoded, missed] = [0, 0]
  for (let page = 0; page < MUTATIONS; page += PAGE) {
    const lines = Array.from({ length: PAGE }, (_, number) => {
      const bytes = Buffer.from(encoded[random(encoded.length)] ?? [])
      for (let change = 0; change <= random(4); change++) bytes[random(bytes.length)] = random(256)
      const end = random(8) === 0 ? random(bytes.length) : bytes.length
      return JSON.stringify({ namespace: 'n', version: space.version, key: `key ${number}`, base64: bytes.toString('base64', 0, end) })
    })
    await cache.importJson(Readable.from([lines.join('\n')]))
    for (let number = 0; number < PAGE; number++) {
      if (space.get(`key ${number}`) === undefined) missed += 1
      else decoded += 1
    }
    expect([Reflect.get({}, 'polluted'), Reflect.get([], 'polluted'), Reflect.get(() => 0, 'polluted')]).toEqual([undefined, undefined, undefined])
  }
  expect([decoded + missed, decoded > 1000, missed > 1000, Object.keys(Object.prototype)]).toEqual([MUTATIONS, true, true, []])
  await cache.close()
})

it.each(['json', 'v8'] as const)('what is called __proto__ comes back as data of its own: %s', async (codec) => {
  const cache = await openCache({ name: 'values', dir: `own ${codec}`, engine: 'memory' })
  const space = cache.namespace('n', { codec })
  space.put('key', JSON.parse('{"__proto__": {"polluted": true}}'))
  const back: object = Object(space.get('key'))
  const plain: object = Object(deserialize(serialize({})))
  expect([Object.keys(back), Reflect.get({}, 'polluted')]).toEqual([['__proto__'], undefined])
  expect(Object.getPrototypeOf(back)).toBe(Object.getPrototypeOf(plain))
  await cache.close()
})
