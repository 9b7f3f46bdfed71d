/** Valid keys, and that two keys never share an entry. */
import { describe, expect, it } from 'vitest'
import type { Subject } from './subject.ts'

const LONGEST = 65_535

/** Keys that careless code confuses. */
const KEYS: readonly (string | Uint8Array)[] = [
  '',
  'a',
  'A',
  'a\0',
  'a\0b',
  '\0',
  'ä',
  'a\u0308', // the same letter to the eye
  '日本語.ts',
  '😀',
  '\ud83d',
  '\ude00',
  '\ufffd', // what a lone surrogate turns into elsewhere
  '\ufeffa',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  'C:\\x',
  'line\nbreak',
  'a\ufffd', // and one beside it that looks the same
  'a\ud83d',
  ...[4090, 4091, 4092, 4095, 4096, 4097].flatMap((length) => ['y'.repeat(length), `${'y'.repeat(length - 3)}€`]), // around the room of the addon
  new Uint8Array([0]).fill(1),
  new Uint8Array([0, 0]),
  new Uint8Array([255]),
  new Uint8Array([255, 254, 0, 1]),
  new Uint8Array(LONGEST).fill(7),
  'x'.repeat(LONGEST),
  `${'x'.repeat(LONGEST - 1)}y`,
  'ä'.repeat(32_767),
]

export function keysContract({ newDir, open }: Subject): void {
  describe('keys', () => {
    it('different keys have different entries, before and after a commit and after reopening', async () => {
      const dir = newDir()
      let cache = await open(dir)
      const put = cache.namespace('keys', { codec: 'text' })
      KEYS.forEach((key, index) => put.put(key, `value ${index}`))
      const expected = KEYS.map((_, index) => `value ${index}`)
      expect(KEYS.map((key) => put.get(key))).toEqual(expected)
      await cache.commit()
      expect(KEYS.map((key) => put.get(key))).toEqual(expected)
      await cache.close()

      cache = await open(dir)
      const namespace = cache.namespace('keys', { codec: 'text' })
      expect(KEYS.map((key) => namespace.get(key))).toEqual(expected)
      // Many keys are packed in one of two ways: texts of ASCII all at once, others one by one.
      const isAscii = (key: string | Uint8Array): boolean =>
        typeof key === 'string' && Buffer.byteLength(key) === key.length
      for (const kind of [() => true, isAscii, (key: string | Uint8Array): boolean => typeof key === 'string']) {
        const keys = KEYS.filter(kind)
        expect(namespace.getMany(keys)).toEqual(keys.map((key) => `value ${KEYS.indexOf(key)}`))
      }
      expect([...namespace.keys()].length).toBe(KEYS.length)
      for (const [key, value] of namespace.entries()) expect(namespace.get(key)).toBe(value)
      await cache.close()
    })

    /** They have no UTF-8, and the replacement character of one is that of the other. */
    it('names and versions that differ in half of a surrogate pair share entries', async () => {
      const dir = newDir()
      const names = ['a\ud800', 'a\ud801', 'a\udc00', 'a\ufffd', 'a%uD800', 'a%uFFFD', 'a%u0025uD800', 'a😀', 'a%']
      const text = { codec: 'text' } as const
      let cache = await open(dir)
      for (const name of names) {
        cache.namespace(name, text).put('key', `of ${JSON.stringify(name)}`)
        await cache.task(name, text).run({ id: 'id' }, () => `task ${JSON.stringify(name)}`)
      }
      await cache.close()
      cache = await open(dir)
      for (const name of names) {
        const namespace = cache.namespace(name, text)
        expect([namespace.name, namespace.get('key')]).toEqual([name, `of ${JSON.stringify(name)}`])
        expect(await cache.task(name, text).run({ id: 'id' }, () => 'missed')).toBe(`task ${JSON.stringify(name)}`)
      }
      expect((await cache.stats()).namespaces.filter(({ name }) => name.startsWith('a'))).toHaveLength(names.length)
      await cache.close()
      for (const version of names) {
        cache = await open(dir)
        const namespace = cache.namespace('versions', { version, ...text })
        expect([namespace.version, namespace.get('key')]).toEqual([version, undefined])
        namespace.put('key', version)
        await cache.close()
        cache = await open(dir)
        expect(cache.namespace('versions', { version, ...text }).get('key')).toBe(version)
        await cache.close()
      }
    })

    it('a string and its UTF-8 bytes are the same key', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('keys', { codec: 'text' })
      namespace.put('käse', 'from string')
      expect(namespace.get(new TextEncoder().encode('käse'))).toBe('from string')
      namespace.put(Buffer.from('brot'), 'from bytes')
      expect(namespace.get('brot')).toBe('from bytes')
      await cache.close()
    })

    it('the caller may change the bytes of a key after the call', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('keys')
      const key = new Uint8Array([1, 2, 3])
      namespace.put(key, new Uint8Array([1]))
      key.fill(9)
      expect(namespace.has(new Uint8Array([1, 2, 3]))).toBe(true)
      expect(namespace.has(key)).toBe(false)
      await cache.close()
    })

    it('every call refuses keys of more than 65,535 bytes, and nothing else changes', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('keys')
      namespace.put('here', new Uint8Array([1]))
      const tooLong = [
        'x'.repeat(LONGEST + 1),
        'ä'.repeat(32_768),
        '€'.repeat(30_000),
        '\ud800'.repeat(40_000),
        new Uint8Array(LONGEST + 1),
      ]
      for (const key of tooLong) {
        const refused = expect.objectContaining({
          name: 'VarveError',
          code: 'KEY_TOO_LONG',
          message: expect.stringContaining('65535'),
        })
        expect(() => namespace.get(key)).toThrow(refused)
        expect(() => namespace.has(key)).toThrow(refused)
        expect(() => namespace.put(key, new Uint8Array(1))).toThrow(refused)
        expect(() => namespace.delete(key)).toThrow(refused)
        expect(() => namespace.getMany(['here', key])).toThrow(refused)
      }
      expect([...namespace.keys()]).toEqual(['here'])
      await cache.close()
    })

    const WRONG_KEYS: [key: unknown][] = [[undefined], [null], [1], [{}], [['a']], [new Proxy(new Uint8Array(1), {})]]
    it.each(WRONG_KEYS)('a key that is neither a string nor bytes is refused: %j', async (key) => {
      const cache = await open(newDir())
      const namespace = cache.namespace('keys')
      const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
      expect(() => Reflect.apply(namespace.get, namespace, [key])).toThrow(refused)
      expect(() => Reflect.apply(namespace.put, namespace, [key, new Uint8Array(1)])).toThrow(refused)
      expect(() => Reflect.apply(namespace.getMany, namespace, [['a', key]])).toThrow(refused)
      await cache.close()
    })
  })

  describe('getManyAsync', () => {
    it('getManyAsync answers in order, with what was put, deleted and committed before the call', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('a', { codec: 'text' })
      const keys = Array.from({ length: 1500 }, (_, index) => `key ${index}`)
      for (const key of keys) namespace.put(key, `old ${key}`)
      await cache.commit()
      namespace.put('key 1', 'new')
      namespace.delete('key 2')
      namespace.put('key 3', '')
      const asked = [...keys, 'absent', 'key 1', 'key 1']
      const found = namespace.getManyAsync(asked)
      const also = namespace.getManyAsync(['key 4', 'absent']) // a second call while the first is under way
      expect(await found).toEqual(namespace.getMany(asked))
      expect([(await found)[1], (await found)[2], (await found)[3], (await found)[1500]]).toEqual([
        'new',
        undefined,
        '',
        undefined,
      ])
      expect(await also).toEqual(['old key 4', undefined])
      expect(await namespace.getManyAsync([])).toEqual([])
      await cache.close()
    })

    it('close waits for getManyAsync, which fails with CLOSED afterwards', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('a')
      namespace.put('large', new Uint8Array(5 << 20).fill(7))
      await cache.commit()
      const reading = namespace.getManyAsync(['large'])
      await cache.close()
      expect((await reading)[0]?.every((byte) => byte === 7)).toBe(true)
      await expect(namespace.getManyAsync(['large'])).rejects.toMatchObject({ code: 'CLOSED' })
    })
  })

  describe('getMany', () => {
    it('getMany answers in order, with misses and repeated keys, for many keys of both types', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('many', { codec: 'json' })
      for (let i = 0; i < 10_000; i += 2) namespace.put(`key ${i}`, i)
      await cache.commit()
      namespace.put('key 1', 'buffered')
      namespace.delete('key 2')
      const keys = Array.from({ length: 10_000 }, (_, i) => (i % 3 === 0 ? Buffer.from(`key ${i}`) : `key ${i}`))
      const found = namespace.getMany([...keys, 'key 4', 'key 4'])
      const expected: unknown[] = keys.map((_, i) => (i % 2 === 0 ? i : undefined))
      expect(found).toEqual([...expected.with(1, 'buffered').with(2, undefined), 4, 4])
      expect(namespace.getMany([])).toEqual([])
      await cache.close()
    })

    it('getMany returns values of any size, for keys of any size', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('many', { codec: 'text' })
      const keys = Array.from({ length: 40 }, (_, i) => String(i).padEnd(i % 2 === 0 ? 60_000 : 3, '-'))
      const values = keys.map((key, i) => key[0]?.repeat(i * 20_000) ?? '')
      keys.forEach((key, i) => namespace.put(key, values[i] ?? ''))
      await cache.commit()
      expect(namespace.getMany(keys)).toEqual(values)
      await cache.close()
    })
  })
}
