/** What an import accepts, what it refuses with which error, and what the cache holds afterwards. */
import { join } from 'node:path'
import { type Cache, openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { exported, imported, line, linesOf } from './streams.ts'

const open = (engine: 'native' | 'wasm'): Promise<Cache> =>
  openCache({ name: 'import', dir: join(makeFolder(), 'cache'), engine })

const GOOD = line({ key: 'a', text: 'b' })

/** Input, and the error for it. */
const REFUSED: readonly (readonly [string, string, string])[] = [
  ['no JSON', `${GOOD}nonsense\n`, "line 2: expected '{', found 'n'"],
  ['a file of something else', 'GIF89a', "line 1: expected '{' or '[', found 'G'"],
  [
    'a JSON document of something else',
    '{"name": "x", "entries": []}',
    'line 1: column 7 of the entry: unknown field `name`',
  ],
  ['half an entry', `${GOOD}${GOOD.slice(0, 20)}`, 'line 2: the input ends within the entry that begins on this line'],
  ['half an array', `[${GOOD},\n`, "line 3: the input ends within the array: ']' is missing"],
  ['more after an array', `[${GOOD}]${GOOD}`, "line 2: expected the end of the input, found '{'"],
  ['no comma', `[${GOOD}${GOOD}]`, "line 2: expected ',' or ']', found '{'"],
  ['a key that is not a string', line({ key: 3, text: '' }), "line 1: field 'key' is not a string"],
  ['a value that is not a string', line({ key: 'a', text: null }), "line 1: field 'text' is not a string"],
  [
    'half a character',
    `${GOOD}${line({ key: 'a' }).replace('}', ',"text":"\\ud800"}')}`,
    "line 2: field 'text' is not a string: unexpected end",
  ],
  ['no base64', line({ key: 'a', base64: 'A A=' }), "line 1: field 'base64' is not valid base64: Invalid symbol 32"],
  [
    'ambiguous base64',
    line({ keyBase64: 'AB==', text: '' }),
    "line 1: field 'keyBase64' is not valid base64: Invalid last symbol",
  ],
  ['no key', line({ text: '' }), "line 1: the key is missing: expected field 'key' or 'keyBase64'"],
  [
    'two keys',
    line({ key: 'a', keyBase64: 'AA==', text: '' }),
    "line 1: fields 'key' and 'keyBase64' exclude each other",
  ],
  ['two values', line({ key: 'a', text: '', json: 1 }), "line 1: fields 'text' and 'json' exclude each other"],
  ['no value', line({ key: 'a' }), "line 1: the value is missing: expected field 'text' or 'json' or 'base64'"],
  ['an export of keys only', line({ key: 'a', valueBytes: 3 }), 'an export of keys only has no values'],
  [
    'a field twice',
    '{"namespace":"n","version":"","key":"a","key":"b","text":""}',
    'line 1: column 45 of the entry: duplicate field `key`',
  ],
  ['a field that the format does not have', line({ key: 'a', value: 'b' }), 'unknown field `value`'],
  [
    'no namespace',
    '{\n\n"version":"","key":"a","text":""}',
    'line 3: column 33 of the entry: missing field `namespace`',
  ],
  ['no name', line({ namespace: '', key: 'a', text: '' }), "line 1: field 'namespace' must not be empty"],
  [
    'two versions of a namespace',
    `${GOOD}${line({ version: '2', key: 'a', text: '' })}`,
    "line 2: field 'version' is '2', but namespace 'n' had '' before",
  ],
  [
    'a name too long',
    line({ namespace: 'x'.repeat(2000), key: 'a', text: '' }),
    'line 1: namespace has 2000 bytes, the limit is 1024',
  ],
]

describe.each(['native', 'wasm'] as const)('an import, %s', (engine) => {
  it.each(REFUSED)('an import refuses %s, names line and field, and writes nothing', async (_name, input, message) => {
    const cache = await open(engine)
    for (const pieceBytes of [1 << 16, 7]) {
      await expect(imported(cache, input, {}, pieceBytes)).rejects.toMatchObject({
        name: 'VarveError',
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(message),
      })
    }
    await cache.commit()
    expect((await cache.stats()).namespaces).toEqual([])
    await cache.close()
  })

  it('an import of a key that is too long fails with its own code', async () => {
    const cache = await open(engine)
    const input = line({ key: 'x'.repeat(65_536), text: '' })
    await expect(imported(cache, input)).rejects.toMatchObject({
      code: 'KEY_TOO_LONG',
      message: expect.stringContaining('line 1: key'),
    })
    await cache.close()
  })

  it('an import accepts any white space, and fields in any order', async () => {
    const cache = await open(engine)
    const fields = { json: { a: [1, '}'] }, key: 'k"}\\', version: ' json', namespace: 'n' }
    const inputs = [
      JSON.stringify([fields]),
      JSON.stringify([fields], undefined, 2),
      `\n\n${JSON.stringify(fields, undefined, '\t')}  ${JSON.stringify(fields)}`,
    ]
    for (const input of inputs) {
      const report = await imported(cache, input, {}, 3)
      expect(report).toMatchObject({ namespaces: 1, commits: 1, bytes: Buffer.byteLength(input) })
      expect(cache.namespace('n', { codec: 'json' }).get('k"}\\')).toEqual({ a: [1, '}'] })
    }
    for (const empty of ['', ' \n', '[]', '[\n]\n']) {
      expect(await imported(cache, empty)).toEqual({ entries: 0, namespaces: 0, commits: 0, bytes: empty.length })
    }
    await cache.close()
  })

  it('a failed import leaves complete commits only, and does not change the batch of the caller', async () => {
    const cache = await open(engine)
    const space = cache.namespace('n')
    space.put('own', new Uint8Array([1]))
    const value = 'A'.repeat(40_000)
    const input = Array.from({ length: 1000 }, (_, index) =>
      line({ key: `key ${String(index).padStart(4, '0')}`, base64: value }),
    ).join('')
    await expect(imported(cache, `${input}{}`)).rejects.toMatchObject({ message: expect.stringContaining('line 1001') })
    const keys = linesOf(await exported(cache, { format: 'ndjson', keysOnly: true }))
      .map(({ key }) => key ?? '')
      .sort()
    // 30,000 bytes each: one commit for every 16 MiB.
    expect(keys.length).toBeGreaterThan(500)
    expect(keys.length).toBeLessThan(1000)
    expect(keys).toEqual(keys.map((_, index) => `key ${String(index).padStart(4, '0')}`))
    expect(space.get('own')).toEqual(new Uint8Array([1]))
    await cache.commit()
    expect(linesOf(await exported(cache, { format: 'ndjson', keysOnly: true }))).toHaveLength(keys.length + 1)
    const { entries, commits } = await imported(cache, input)
    expect([entries, commits]).toEqual([1000, 2])
    await cache.close()
  })

  it('an import replaces a namespace of another version only if it is allowed to', async () => {
    const [cache, other] = [await open(engine), await open(engine)]
    cache.namespace('n', { version: '2', codec: 'text' }).put('here', 'x')
    await cache.commit()
    const input = line({ version: '1 text', key: 'there', text: 'y' })
    await expect(imported(cache, input)).rejects.toMatchObject({
      message:
        "line 1: field 'version' is '1 text', but namespace 'n' has '2 text' in this cache; 'overwrite' discards its entries",
    })
    expect(cache.namespace('n', { version: '2', codec: 'text' }).get('here')).toBe('x')
    await imported(cache, input, { overwrite: true })
    expect(await exported(cache, { format: 'ndjson' })).toBe(input)
    await imported(other, input)
    expect(other.namespace('n', { version: '1', codec: 'text' }).get('there')).toBe('y')
    await Promise.all([cache.close(), other.close()])
  })
})
