/** Exports preserve all keys and values to the byte, and do not depend on engine, format or history. */
import { join } from 'node:path'
import * as fc from 'fast-check'
import { type Cache, type CacheOptions, openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { inMemory } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { runSeed } from '../random.ts'
import { slow } from '../slow.ts'
import { exported, imported, line, linesOf } from './streams.ts'

const ENGINES = ['native', 'wasm', 'memory'] as const
type EngineName = (typeof ENGINES)[number]

function open(engine: EngineName, options: Partial<CacheOptions> = {}): Promise<Cache> {
  const place = { name: 'export', dir: join(makeFolder(), 'cache'), ...options }
  return openCache(engine === 'memory' ? inMemory(place) : { ...place, engine })
}

/** Any code unit, lone surrogates and controls among them. */
const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units))
const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), anyUnits)
const anyBytes = fc.uint8Array({ maxLength: 300 })
const anyKey = fc.oneof(anyText, anyBytes)
const SPACES = [
  { name: 'bytes', codec: 'bytes', values: anyBytes },
  { name: 'zürich "text"', codec: 'text', values: anyText },
  { name: 'json', codec: 'json', values: fc.oneof(fc.jsonValue(), anyText) },
  { name: 'a v8', codec: 'v8', values: fc.oneof(fc.date({ noInvalidDate: true }), fc.uint8Array(), fc.bigInt()) },
] as const

interface Put {
  readonly space: number
  readonly key: string | Uint8Array
  readonly value: unknown
}

const anyPut: fc.Arbitrary<Put> = fc.oneof(
  ...SPACES.map(({ values }, space) =>
    fc.record({ space: fc.constant(space), key: anyKey, value: values as fc.Arbitrary<unknown> }),
  ),
)

function put(cache: Cache, { space, key, value }: Put): void {
  const { name, codec } = SPACES[space] ?? SPACES[0]
  // The union of namespaces cannot be put to; the value is of this codec by construction.
  cache.namespace<unknown>(name, { version: `${space} /%`, codec: codec as 'json' }).put(key, value)
}

function contentOf(cache: Cache): unknown[] {
  return SPACES.map(({ name, codec }, space) => {
    const found = [...cache.namespace(name, { version: `${space} /%`, codec: codec as 'json' }).entries()]
    return found.map(([key, value]) => [typeof key, Buffer.from(key).toString('hex'), value])
  })
}

describe('an export', () => {
  it(
    'an export is imported unchanged, on both engines, in both formats, after any history',
    { ...slow, timeout: 120_000 },
    async () => {
      const seed = runSeed('export round trip')
      const history = fc.record({
        puts: fc.array(anyPut, { maxLength: 60 }),
        cuts: fc.array(fc.nat(60)),
        pieceBytes: fc.integer({ min: 1, max: 2000 }),
      })
      await fc.assert(
        fc.asyncProperty(history, async ({ puts, cuts, pieceBytes }) => {
          const exports = []
          for (const engine of ENGINES) {
            const [cache, other] = [await open(engine, { version: '1.2' }), await open(engine, { version: '1.2' })]
            for (const [index, one] of puts.entries()) {
              put(cache, one)
              if (engine !== 'native' && cuts.includes(index)) await cache.commit()
            }
            await cache.commit()
            if (engine === 'wasm') await cache.compact({ full: true })
            const [json, ndjson] = [await exported(cache), await exported(cache, { format: 'ndjson' })]
            expect(puts.length === 0 ? '[\n]\n' : `[\n${ndjson.slice(0, -1).replaceAll('\n', ',\n')}\n]\n`).toBe(json)
            expect(JSON.parse(json)).toEqual(linesOf(ndjson))
            await imported(other, engine === 'memory' ? json : ndjson, {}, pieceBytes)
            expect(contentOf(other)).toEqual(contentOf(cache))
            expect(await exported(other)).toBe(json)
            exports.push(json)
            await Promise.all([cache.close(), other.close()])
          }
          expect(exports[1]).toBe(exports[0])
          expect(exports[2]).toBe(exports[0])
        }),
        { seed, numRuns: 60 },
      )
    },
  )

  it.each(ENGINES)('an export looks like this: %s', async (engine) => {
    const cache = await open(engine, { version: '1.2' })
    cache.namespace('code', { version: '3', codec: 'text' }).put('src/a.ts', 'a\n"b" \u001b[31m\u007f\u009b')
    cache.namespace<object>('meta', { codec: 'json' }).put('src/a.ts', { size: 3, __proto__: null, at: [1.5, null] })
    cache.namespace('blobs').put(new Uint8Array([0xff, 0x0a]), new Uint8Array([0, 1, 2]))
    await cache.commit()
    expect(await exported(cache)).toBe(
      String.raw`[
{"namespace":"blobs","version":"1.2/","keyBase64":"/wo=","base64":"AAEC"},
{"namespace":"code","version":"1.2/3 text","key":"src/a.ts","text":"a\n\"b\" \u001b[31m\u007f\u009b"},
{"namespace":"meta","version":"1.2/ json","key":"src/a.ts","json":{"size":3,"at":[1.5,null]}}
]
`,
    )
    expect(await exported(cache, { namespace: 'blobs', format: 'ndjson', keysOnly: true })).toBe(
      '{"namespace":"blobs","version":"1.2/","keyBase64":"/wo=","valueBytes":3}\n',
    )
    expect(await exported(cache, { namespace: 'nothing' })).toBe('[\n]\n')
    expect(await exported(cache, { namespace: 'nothing', format: 'ndjson' })).toBe('')
    await cache.close()
  })

  it.each(ENGINES)(
    'an export of a JSON namespace has base64 for values that are not plain JSON: %s',
    async (engine) => {
      const cache = await open(engine)
      const values = [
        '{"a":1}',
        ' 1',
        '[1,\n2]',
        '{',
        '',
        '"\u007f"',
        '"\u009b31m"',
        '01',
        '"\ud83d\ude00"',
        '1e999',
        '{"a":1,"a":2}',
      ]
      const planted = values.map((value, index) =>
        line({ version: ' json', key: `${index}`, base64: Buffer.from(value).toString('base64') }),
      )
      await imported(cache, planted.join(''))
      const text = await exported(cache, { format: 'ndjson' })
      const embedded = linesOf(text)
        .filter((found) => 'json' in found)
        .map(({ key }) => values[Number(key)])
      expect(embedded.sort()).toEqual(['{"a":1}', '"\ud83d\ude00"', '1e999', '{"a":1,"a":2}'].sort())
      expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
      const other = await open(engine)
      await imported(other, text)
      expect(await exported(other, { format: 'ndjson' })).toBe(text)
      await Promise.all([cache.close(), other.close()])
    },
  )

  it('an export is a snapshot without buffered entries, and without later commits and compactions', async () => {
    for (const engine of ENGINES) {
      const cache = await open(engine)
      const space = cache.namespace('n', { codec: 'text' })
      for (let index = 0; index < 5000; index++) space.put(`key ${index}`, `${index} `.repeat(50))
      await cache.commit()
      space.put('buffered', 'x')
      const before = await exported(cache)
      const chunks: Uint8Array[] = []
      const target = new WritableStream<Uint8Array>({
        async write(chunk) {
          if (chunks.push(chunk) > 1) return
          for (let index = 0; index < 5000; index += 2) space.delete(`key ${index}`)
          await cache.commit()
          await cache.compact({ full: true })
        },
      })
      expect(await cache.exportJson(target)).toMatchObject({ entries: 5000, namespaces: 1 })
      expect(chunks.length).toBeGreaterThan(2)
      expect(Buffer.concat(chunks).toString('utf8') === before).toBe(true)
      expect(linesOf(await exported(cache, { format: 'ndjson' }))).toHaveLength(2501)
      await cache.close()
    }
  })
})
