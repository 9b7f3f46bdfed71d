/** Subclasses of Uint8Array that state a false length: under WebAssembly, memory of other entries was stored as the value. */
import { join } from 'node:path'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'

const TEXT = 'short'

/** The same five bytes, which state that they are more, fewer, or elsewhere. */
const LIARS: readonly (readonly [what: string, make: () => Uint8Array])[] = [
  ['a longer subclass', () => lying({ length: 20_000, byteLength: 20_000 })],
  ['a shorter subclass', () => lying({ length: 0, byteLength: 0 })],
  ['a subclass elsewhere', () => lying({ byteOffset: 1_000, buffer: new ArrayBuffer(100_000) })],
  [
    'a length that changes',
    () => {
      let asked = 0
      const bytes = new Uint8Array(Buffer.from(TEXT))
      return Object.defineProperty(bytes, 'length', { get: () => (asked++ === 0 ? 5 : 20_000) })
    },
  ],
  [
    'own properties',
    () =>
      Object.defineProperties(new Uint8Array(Buffer.from(TEXT)), {
        length: { value: 20_000 },
        byteLength: { value: 20_000 },
      }),
  ],
]

function lying(fields: Readonly<Record<string, unknown>>): Uint8Array {
  class Liar extends Uint8Array {}
  for (const [name, value] of Object.entries(fields)) Object.defineProperty(Liar.prototype, name, { get: () => value })
  const bytes = new Liar(TEXT.length)
  Uint8Array.prototype.set.call(bytes, Buffer.from(TEXT))
  return bytes
}

/** Another kind of array that calls itself a Uint8Array. */
function disguised(): Uint8Array {
  const words: unknown = Object.setPrototypeOf(new Uint16Array(4), Uint8Array.prototype)
  return words as Uint8Array
}

describe.each(ENGINES)('bytes with a false length: %s', (engine) => {
  it.each(LIARS)('values and keys are the bytes that the memory has: %s', async (_what, make) => {
    const cache = await openCache({ name: 'liars', dir: join(makeFolder(), 'cache'), engine })
    const values = cache.namespace('values')
    const others = cache.namespace('others', { codec: 'text' })
    for (let at = 0; at < 100; at++) others.put(`other ${at}`, `of another namespace ${'x'.repeat(200)}`)
    await cache.commit()
    values.put('value', make())
    values.put(make(), Buffer.from('by key'))
    await cache.commit()
    const text = (key: string | Uint8Array): string => Buffer.from(values.get(key) ?? []).toString()
    expect(text('value')).toBe(TEXT)
    expect(text(TEXT)).toBe('by key')
    expect(text(make())).toBe('by key')
    expect(values.getMany([make(), 'value']).map((value) => Buffer.from(value ?? []).toString())).toEqual([
      'by key',
      TEXT,
    ])
    await cache.close()
  })

  it('an array of another kind is refused', async () => {
    const cache = await openCache({ name: 'liars', dir: join(makeFolder(), 'cache'), engine })
    expect(() => cache.namespace('values').put('key', disguised())).toThrow(/holds a Uint8Array/)
    await cache.close()
  })
})
