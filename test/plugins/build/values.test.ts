/** What all wrappers of plugins stand on: values as bytes, digests of options, paths relative to a root. */
import {
  assert,
  constantFrom,
  dictionary,
  oneof,
  property,
  string,
  uint8Array,
  letrec,
  boolean,
  integer,
  constant,
  array,
} from 'fast-check'
import { digestOfInput, shownOf } from 'varve/internal'
import { describe, expect, it } from 'vitest'
import { digest, lenientDigest } from '../../../packages/plugins/dist/build/digest.js'
import { pack, unpack } from '../../../packages/plugins/dist/build/pack.js'
import { Root } from '../../../packages/plugins/dist/build/root.js'
import { sourceMap } from '../../../packages/plugins/dist/build/source-map.js'
import { runSeed } from '../../random.ts'

const SEED = runSeed('values of plugins')

/** Plain data: texts short and long, with NUL in front and without UTF-8, bytes, lists, objects. */
const plain = letrec((tie) => ({
  value: oneof(
    { maxDepth: 4 },
    string({ unit: 'grapheme', maxLength: 20 }),
    string({ minLength: 180, maxLength: 400 }),
    constantFrom('\0', '\0t0', '\0b1', '\ud800', `${'long '.repeat(60)}\ud800`),
    integer(),
    boolean(),
    constant(null),
    uint8Array(),
    array(tie('value'), { maxLength: 4 }),
    dictionary(string({ maxLength: 8 }), tie('value'), { maxKeys: 4 }),
  ),
})).value

/** A value as text, whatever kind its bytes are of. */
function shown(value: unknown): string {
  if (value instanceof Uint8Array) return `<${value.join()}>`
  if (Array.isArray(value)) return `[${value.map(shown).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([name, item]) => `${JSON.stringify(name)}:${shown(item)}`)
    .join()}}`
}

describe('a root', () => {
  it.each([
    ['the root', '/srv/main/a.js', true],
    ['a directory next to it', '"/srv/other"', true],
    ['its parent', 'see /srv.', true],
    ['a directory whose name only begins like its parent', 'lib/srvers', false],
    ['first such a directory, then the parent', '/srvers and /srv', true],
  ])('is named by a text, and by bytes, with %s: %s, %s', (_, text, isNamed) => {
    const root = new Root('/srv/main')
    expect([root.isNamedIn(text), root.isNamedIn(Buffer.from(text))]).toEqual([isNamed, isNamed])
  })
})

describe('pack', () => {
  it('unpack returns the parts that were packed', () => {
    const isSame = property(plain, (value) => {
      expect(shown(unpack(pack(value)))).toBe(shown(value))
    })
    assert(isSame, { seed: SEED, numRuns: 2000 })
  })

  it.each([
    ['a function', () => 1],
    ['a Map', new Map()],
    ['not a number', Number.NaN],
    ['a big integer', 1n],
    ['an object with a toJSON of its own', { toJSON: (): number => 1 }],
    ['an instance of a class', new URL('file:///')],
    ['a list with holes', Array(2)],
    ['a list with properties', /a/.exec('a')],
    ['an object with symbols', { [Symbol('a')]: 1 }],
  ])('refuses %s, at any depth', (_, value) => {
    expect(() => pack({ list: [value] })).toThrow('not plain data')
  })
})

describe('unpack', () => {
  // JSON has null in its place.
  it('undefined in a list comes back', () => {
    expect(unpack(pack(['\0u', undefined, null, 'u']))).toEqual(['\0u', undefined, null, 'u'])
  })

  const u32 = (...numbers: number[]): Buffer => Buffer.from(Uint32Array.from(numbers).buffer)
  const framed = (json: string, ...parts: string[]): Buffer => {
    const blocks = [json, ...parts].map((text) => Buffer.from(text, 'latin1'))
    return Buffer.concat([u32(blocks.length, ...blocks.map(({ length }) => length)), ...blocks])
  }

  // 52 MB became 60 TB of strings, and the process died.
  it('decodes each part once: one that is named twice, or not at all, is refused', () => {
    expect(unpack(framed('["\\u0000t0"]', 'text'))).toEqual(['text'])
    expect(() => unpack(framed('["\\u0000t0","\\u0000t0"]', 'text'))).toThrow('named twice')
    expect(() => unpack(framed('["\\u0000t1"]', 'text'))).toThrow('missing')
    expect(() => unpack(framed('[]', 'text'))).toThrow('not a packed value')
  })

  it.each([
    ['bytes that end early', Buffer.from('x')],
    ['a count that lies', u32(2 ** 32 - 1)],
    ['a length that lies', u32(1, 100)],
    ['bytes after the last part', Buffer.concat([framed('[]'), Buffer.of(0)])],
    ['text that is not UTF-8', framed('["\\u0000t0"]', '\xff\xfe')],
    ['a part of another kind', framed('["\\u0000x0"]', 'text')],
    ['a prototype', framed('{"a":{"__proto__":{"polluted":true}}}')],
    ['more JSON than is ever written', framed(`[${'0,'.repeat(3e6)}0]`)],
    ['lists in lists without end', framed('['.repeat(50_000) + ']'.repeat(50_000))],
  ])('refuses %s', (_, bytes) => {
    expect(() => unpack(bytes)).toThrow(Error)
  })
})

describe('source maps', () => {
  const map = (mappings: unknown, more: object = {}): object => ({
    version: 3,
    sources: ['a.js'],
    names: ['b'],
    mappings,
    ...more,
  })

  it.each([
    ['one segment of each kind', map('A,CAAC,CACDA;;A')],
    ['none', map('')],
    ['decoded', map([[[0], [1, 0, 0, 1], [2, 0, 1, 0, 0]], []])],
    ['as text', JSON.stringify(map('AAAA'))],
    ['without sources', { version: 3, mappings: 'AAAA' }],
  ])('are taken: %s', (_, one) => {
    expect(sourceMap(one)).toBe(true)
  })

  // Rolldown fails a build for most of these.
  it.each([
    ['a segment of two numbers', map('AA')],
    ['of six', map('AAAAAA')],
    ['a number without end', map('AAAg')],
    ['another letter', map('AA!A')],
    ['a source that is not there', map('ACAA')],
    ['a name that is not there', map('AAAAC')],
    ['a column before the first', map('DAAA')],
    ['a number of a hundred digits', map(`${'g'.repeat(100)}A`)],
    ['decoded, a source that is not there', map([[[0, 1, 0, 0]]])],
    ['an ignored source that is not there', map('AAAA', { x_google_ignoreList: [7] })],
    ['another field', map('AAAA', { sections: [] })],
    ['no mappings', map(undefined)],
    ['text that is not JSON', '{'],
    ['a number', 5],
  ])('are refused: %s', (_, one) => {
    expect(sourceMap(one)).toBe(false)
  })
})

describe('digest', () => {
  // One digest in 13 looked like a short value, so `why` named the digests of a config instead of what had changed in it.
  it('a digest as an input of a task is never shown as a short value', () => {
    const shownAsValue = Array.from({ length: 1000 }, (_, seed) => digest({ seed }, 'options')).filter((one) => {
      return shownOf(digestOfInput(one, 'config')) !== undefined
    })
    expect(shownAsValue).toEqual([])
  })

  it('a digest is independent of the order of properties, and differs for values of different kinds', () => {
    expect(digest({ a: 1, b: [/x/g] }, 'key')).toBe(digest({ b: [/x/g], a: 1 }, 'key'))
    const plainValues = [
      undefined,
      null,
      0,
      '0',
      '',
      false,
      [],
      {},
      [[]],
      ['a', 'b'],
      ['ab'],
      ['a,b'],
      [1],
      [[1, 2]],
      1n,
      1,
    ]
    const values = [...plainValues, /a/, '/a/', new Set([1]), new Map([[1, 2]])]
    expect(new Set(values.map((value) => digest(value, 'key'))).size).toBe(values.length)
  })

  it('a digest of what cannot be compared is refused with its place', () => {
    expect(() => digest({ presets: ['env', { plugin: () => 1 }] }, 'key')).toThrow(
      'key.presets[1].plugin cannot be compared (function)',
    )
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    expect(() => digest(cycle, 'key')).toThrow('contains itself')
    expect(lenientDigest({ plugin: () => 1 }, (text) => text)).toBe(lenientDigest({ plugin: () => 2 }, (text) => text))
  })
})

describe('Root', () => {
  const root = new Root('/home/me/app')

  it('the root is replaced if it is a path, and not if it begins a longer name', () => {
    expect(root.toRelative('/home/me/app/src/a.js?x=/home/me/app')).toBe('<varve:root>/src/a.js?x=<varve:root>')
    for (const text of ['/home/me/app2/a.js', '/home/me/app-old', '/home/me/app.js', 'me/app'])
      expect(root.toRelative(text)).toBe(text)
  })

  it('an entry that contains itself is refused, and what is not plain stays as it is', () => {
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    expect(() => root.relativeEntry(cycle)).toThrow('contains itself')
    const match = /a/.exec('a')
    expect(root.relativeEntry({ match })).toEqual([{ match }, false])
  })

  it('paths in the fields of an entry come back below another root', () => {
    const entry = { map: { sources: ['/home/me/app/a.js'] }, source: new Uint8Array([1]), code: 'export default 1' }
    const [relative, isBound] = root.relativeEntry(entry)
    expect(isBound).toBe(false)
    const other = { ...entry, map: { sources: ['/srv/checkout/a.js'] } }
    expect(new Root('/srv/checkout').absoluteEntry(relative)).toEqual(other)
  })

  it.each([
    ['code that names the root', { code: "import '/home/me/app/a.js'" }],
    ['bytes that do', { source: Buffer.from('url(/home/me/app/a.png)') }],
    ['the path of a sibling, whose place is relative to nothing', { sources: ['/home/me/lib/index.js'] }],
  ])('%s: good for this root only, and as it was', (_, entry) => {
    const [relative, isBound] = root.relativeEntry(entry)
    expect(isBound).toBe(true)
    expect(root.absoluteEntry(relative)).toEqual(entry)
  })
})
