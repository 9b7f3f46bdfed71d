/** Values are read back unchanged, for every codec and size, and share no memory with the caller. */
import { describe, expect, it } from 'vitest'
import { noise } from '../safety/random.mjs'
import type { Subject } from './subject.ts'

/** Around every limit of the implementation: on-heap copies, pooled copies, scratch memory, files. */
const SIZES = [0, 1, 2, 63, 64, 65, 4095, 8192, 8193, 65_535, 131_071, 131_072, 131_073, 1 << 20, 10 << 20]

const TEXTS = [
  '',
  'a',
  '\0',
  'line\nbreak',
  'Käse',
  '日本語',
  '😀',
  '\ufeffwith a mark',
  '\ud800',
  'a\udc00b',
  'é\ud83d',
  '\uffff',
]

const cyclic: Record<string, unknown> = { name: 'cyclic' }
cyclic['self'] = cyclic

const JSON_VALUES = [
  null,
  true,
  0,
  -1.5,
  '',
  'text',
  [],
  {},
  { a: [{ b: null }] },
  JSON.parse('{"__proto__":{"polluted":1}}'),
  'x'.repeat(100_000),
]

const V8_VALUES = [
  null,
  1n << 70n,
  new Map([['a', new Set([1])]]),
  new Date(0),
  /x/g,
  new Uint8Array([0, 255]),
  new Float64Array([0.1, NaN]),
  [undefined, NaN, -0],
  cyclic,
  new Error('kept'),
]

export function valuesContract({ newDir, open }: Subject): void {
  /** Puts all, then compares buffered, committed and after opening again. */
  async function roundTrip<V>(codec: 'bytes' | 'text' | 'json' | 'v8', values: readonly V[]): Promise<void> {
    const dir = newDir()
    let cache = await open(dir)
    for (const moment of ['buffered', 'committed', 'opened again']) {
      // Which overload is taken does not matter here: V is the codec's type.
      const namespace = cache.namespace<V>(codec, { codec: codec as 'v8' })
      if (moment === 'buffered') values.forEach((value, index) => namespace.put(`key ${index}`, value))
      if (moment === 'committed') await cache.commit()
      values.forEach((value, index) =>
        expect(namespace.get(`key ${index}`), `${moment}, value ${index}`).toStrictEqual(value),
      )
      expect(namespace.getMany(values.map((_, index) => `key ${index}`))).toStrictEqual(values)
      expect(await namespace.getManyAsync(values.map((_, index) => `key ${index}`))).toStrictEqual(values)
      if (moment !== 'committed') continue
      await cache.close()
      cache = await open(dir)
    }
    await cache.close()
  }

  describe('values', () => {
    it('a value or a key whose memory was transferred is refused, not taken for an empty one', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('bytes')
      const gone = new Uint8Array(100).fill(1)
      structuredClone(gone.buffer, { transfer: [gone.buffer] })
      const refused = expect.objectContaining({ name: 'VarveError', code: 'INVALID_ARGUMENT' })
      expect(() => namespace.put('key', gone)).toThrowError(refused)
      expect(() => namespace.put(gone, new Uint8Array(1))).toThrowError(refused)
      expect(() => namespace.get(gone)).toThrowError(refused)
      expect(() => namespace.getMany([gone])).toThrowError(refused)
      namespace.put(new Uint8Array(0), new Uint8Array(0))
      expect([namespace.get('key'), namespace.get('')]).toEqual([undefined, new Uint8Array(0)])
      await cache.close()
    })

    it('a getter of a value or an option that puts another value does not change what is put', async () => {
      const cache = await open(newDir())
      const [texts, json] = [cache.namespace('texts', { codec: 'text' }), cache.namespace('json', { codec: 'json' })]
      const files = {
        get files() {
          return (texts.put('inner', 'other text'), [])
        },
      }
      texts.put('outer', 'the text', files)
      const lazy = {
        get kind() {
          return (json.put('inner', 'x'.repeat(50)), 'lazy')
        },
      }
      json.put('outer', lazy)
      expect([texts.get('outer'), texts.get('inner'), json.get('outer')]).toEqual([
        'the text',
        'other text',
        { kind: 'lazy' },
      ])
      await cache.close()
    })

    it('after the caller has transferred the memory of a value, lookups find others and do not write to it', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('bytes')
      const values = [1, 2, 3].map((byte) => new Uint8Array(100).fill(byte))
      values.forEach((value, index) => namespace.put(`key ${index}`, value))
      await cache.commit()
      const first = namespace.get('key 0') ?? new Uint8Array()
      const memory = first.buffer as ArrayBuffer
      const moved = new Uint8Array(structuredClone(memory, { transfer: [memory] }))
      const before = moved.slice()
      expect([namespace.get('key 1'), namespace.get('key 2')]).toEqual(values.slice(1))
      expect(Buffer.compare(moved, before)).toBe(0)
      await cache.close()
    })

    it.each(SIZES)('a value of %i bytes is read back', async (size) => {
      const dir = newDir()
      const value = noise(size, size)
      let cache = await open(dir)
      cache.namespace('bytes').put('key', value)
      expect(same(cache.namespace('bytes').get('key'), value)).toBe(true)
      await cache.commit()
      expect(same(cache.namespace('bytes').get('key'), value)).toBe(true)
      await cache.close()
      cache = await open(dir)
      expect(same(cache.namespace('bytes').get('key'), value)).toBe(true)
      expect(same(cache.namespace('bytes').getMany(['key'])[0], value)).toBe(true)
      expect(same((await cache.namespace('bytes').getManyAsync(['key']))[0], value)).toBe(true)
      expect([...cache.namespace('bytes').entries()].map(([, found]) => same(found, value))).toEqual([true])
      await cache.close()
    })

    it('values of the codec text are read back, also strings without a UTF-8 form', async () => {
      await roundTrip('text', [...TEXTS, ...TEXTS.map((text) => text.repeat(9000))])
    })

    it('values of the codec json are read back', async () => {
      await roundTrip('json', JSON_VALUES)
      expect(Reflect.get({}, 'polluted')).toBeUndefined()
    })

    it('values of the codec v8 are read back', async () => {
      await roundTrip('v8', V8_VALUES)
    })

    it('bytes are returned as a new Uint8Array each time', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('bytes')
      const values = Array.from({ length: 300 }, (_, i) => noise(i, i * 7))
      values.forEach((value, i) => namespace.put(`key ${i}`, value))
      await cache.commit()
      const found = values.map((_, i) => namespace.get(`key ${i}`))
      expect(found.every((value, i) => value instanceof Uint8Array && same(value, values[i]))).toBe(true)
      await cache.close()
    })

    it('values share no memory with arrays that the caller passed or received', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('bytes')
      for (const size of [3, 500, 200_000]) {
        const given = new Uint8Array(size).fill(1)
        namespace.put('key', given)
        given.fill(2)
        const found = namespace.get('key')
        expect(found?.every((byte) => byte === 1)).toBe(true)
        await cache.commit()
        namespace.get('key')?.fill(3)
        namespace.getMany(['key'])[0]?.fill(3)
        expect(found?.every((byte) => byte === 1)).toBe(true)
        expect(namespace.get('key')?.every((byte) => byte === 1)).toBe(true)
      }
      const v8 = cache.namespace<Uint8Array>('v8', { codec: 'v8' })
      v8.put('key', new Uint8Array(40).fill(1))
      const typed = v8.get('key')
      namespace.get('key')
      expect(typed).toEqual(new Uint8Array(40).fill(1))
      await cache.close()
    })

    it('values over the limit are refused, values at the limit are stored', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('bytes')
      const limit = valueBytesMax(() => namespace.put('key', new Uint8Array(65 << 20)))
      expect(limit).toBe(64 << 20)
      expect(() => namespace.put('key', new Uint8Array(limit + 1))).toThrow(
        expect.objectContaining({ code: 'VALUE_TOO_LONG' }),
      )
      expect(namespace.has('key')).toBe(false)
      namespace.put('key', new Uint8Array(limit).fill(5))
      await cache.commit()
      const found = namespace.get('key')
      expect([found?.length, found?.[0], found?.[limit - 1]]).toEqual([limit, 5, 5])
      await cache.close()
    })

    it('values that a codec cannot represent are read back as other values', async () => {
      class Point {
        x = 1
      }
      const nested = { modules: [{ map: new Map([['a', 1]]) }] }
      const json: [value: unknown, what: string][] = [
        [nested, "'value.modules[0].map' is a Map"],
        [new Set(), 'it is a Set'],
        [{ test: /x/ }, "'value.test' is a RegExp"],
        [{ at: new Date(0) }, "'value.at' is a Date"],
        [[Number.NaN], "'value[0]' is NaN"],
        [-Infinity, 'it is -Infinity'],
        [[1, undefined], "'value[1]' is undefined"],
        [Array(2), "'value[0]' is undefined"],
        [{ a: { b: () => 1 } }, "'value.a.b' is a function"],
        [new Point(), 'it is a Point'],
        [{ bytes: Buffer.from('x') }, "'value.bytes' is a Buffer"],
        [{ big: 1n }, "'value.big' is a bigint"],
        [{ symbol: Symbol('x') }, "'value.symbol' is a symbol"],
        [new String('x'), 'it is a String'],
        [cyclic, 'a cycle'],
        [{ match: /a/.exec('a') }, "'value.match' is a match"],
        [[new (class List extends Array {})()], "'value[0]' is a List"],
        [{ toJSON: () => 1 }, "'value.toJSON' is a function"],
        [Object.assign(Object.create({}), { a: 1 }), 'it is'],
      ]
      const v8: [value: unknown, what: string][] = [
        [[new Point()], "'value[0]' is a Point"],
        [new Map([['a', { call: () => 1 }]]), "'value[0][1].call' is a function"],
        [new Set([Symbol('x')]), "'value[0]' is a symbol"],
        [{ promise: Promise.resolve() }, 'Promise'],
        [new WeakMap(), 'WeakMap'],
        [{ at: new URL('file:///a') }, "'value.at' is a URL"],
        [[new URLSearchParams('a=1')], "'value[0]' is a URLSearchParams"],
        [[new (class Failure extends Error {})('x')], "'value[0]' is a Failure"],
        [new AggregateError([1]), 'it is a AggregateError'],
        [new (class Table extends Map {})(), 'it is a Table'],
        [{ error: Object.assign(new Error('x'), { code: 'X' }) }, "'value.error' is a Error"],
      ]
      const cache = await open(newDir())
      for (const [codec, values] of [
        ['json', json],
        ['v8', v8],
      ] as const) {
        const namespace = cache.namespace(codec, { codec: codec as 'v8' })
        for (const [value, what] of values) {
          const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(what) })
          expect(() => namespace.put('key', value), what).toThrow(refused)
          expect(namespace.has('key')).toBe(false)
        }
      }
      await cache.close()
    })

    it('properties without a value, and values that the codec represents, are read back', async () => {
      const cache = await open(newDir())
      const json = cache.namespace('json', { codec: 'json' })
      const plain: unknown = Object.assign(Object.create(null), { a: 1 })
      for (const value of [{ a: undefined, b: 1 }, plain, [null, -0], { ['__proto__']: 1 }]) {
        json.put('key', value)
        expect(json.get('key')).toEqual(JSON.parse(JSON.stringify(value)))
      }
      const v8 = cache.namespace('v8', { codec: 'v8' })
      for (const value of [
        cyclic,
        new Map([[new Date(0), /x/g]]),
        [undefined, Number.NaN, 1n],
        new TypeError('x'),
        Buffer.from('x'),
        new Date(0),
      ]) {
        v8.put('key', value)
        expect(v8.get('key')).toEqual(value)
      }
      await cache.close()
    })

    it('values of a type that the codec does not take are refused', async () => {
      const cache = await open(newDir())
      const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining("codec '") })
      const wrong: [codec: 'bytes' | 'text' | 'json' | 'v8', value: unknown][] = [
        ['bytes', 'text'],
        ['bytes', [1]],
        ['bytes', new Uint16Array(2)],
        ['bytes', new Proxy(new Uint8Array(8), {})],
        ['bytes', { [Symbol.toStringTag]: 'Uint8Array', length: 8 }],
        ['bytes', Object.create(Uint8Array.prototype)],
        ['text', 1],
        ['text', new Uint8Array(1)],
        ['json', undefined],
        ['json', () => 1],
        ['json', 1n],
        ['json', cyclic],
        ['v8', () => 1],
        ['v8', undefined],
      ]
      for (const [codec, value] of wrong) {
        const namespace = cache.namespace(codec, { codec: codec as 'v8' })
        expect(() => namespace.put('key', value), codec).toThrow(refused)
        expect(namespace.has('key')).toBe(false)
      }
      await cache.close()
    })
  })
}

function same(found: Uint8Array | undefined, expected: Uint8Array | undefined): boolean {
  return found !== undefined && expected !== undefined && Buffer.compare(found, expected) === 0
}

/** The limit in the error message. */
function valueBytesMax(put: () => void): number {
  try {
    put()
  } catch (error) {
    const [, limit] = /limit is (\d+)/.exec(error instanceof Error ? error.message : '') ?? []
    return Number(limit)
  }
  return Infinity
}
