/** Reading writes nothing, and `readOnly` enforces that. The test compares the bytes of every file in the directory. */
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { snapshot } from '../folders.ts'
import type { Subject } from './subject.ts'

export function writesNothingContract({ newDir, open }: Subject): void {
  /** A closed cache with one entry. */
  async function made(): Promise<string> {
    const dir = newDir()
    const cache = await open(dir)
    cache.namespace('a', { codec: 'text' }).put('key', 'value')
    await cache.commit()
    await cache.close()
    return dir
  }

  describe('on disk', () => {
    it.each([true, false])('a reader writes nothing (readOnly: %s)', async (readOnly) => {
      const dir = await made()
      const before = snapshot(dir)
      const cache = await open(dir, { readOnly })
      const namespace = cache.namespace('a', { codec: 'text' })
      expect([namespace.get('key'), namespace.get('other'), cache.status().readOnly]).toEqual([
        'value',
        undefined,
        readOnly,
      ])
      cache.refresh()
      await cache.stats()
      await cache.verify()
      await cache.flush()
      await cache.close()
      expect(snapshot(dir)).toEqual(before)
    })

    it('a reader does not create a missing cache directory', async () => {
      for (const readOnly of [true, false]) {
        const dir = newDir()
        const cache = await open(dir, { readOnly })
        expect(cache.namespace('a').get('key')).toBeUndefined()
        await cache.close()
        expect(existsSync(dir)).toBe(false)
      }
    })

    it('a read-only cache keeps puts in memory and refuses to commit them', async () => {
      const dir = await made()
      const before = snapshot(dir)
      const cache = await open(dir, { readOnly: true })
      const namespace = cache.namespace('a', { codec: 'text' })
      namespace.put('key', 'changed')
      namespace.delete('other')
      expect(namespace.get('key')).toBe('changed')
      const refused = expect.objectContaining({ code: 'READ_ONLY', message: expect.stringContaining('readOnly: true') })
      await expect(cache.commit()).rejects.toThrow(refused)
      await expect(cache.compact({ full: true })).rejects.toThrow(refused)
      await cache.close()
      expect(snapshot(dir)).toEqual(before)
    })

    it('stats count the files of the cache directory', async () => {
      const dir = await made()
      const cache = await open(dir, { readOnly: true })
      const files = Object.values(snapshot(dir))
      const bytes = files.reduce((sum, content) => sum + Buffer.from(content, 'base64').length, 0)
      expect(await cache.stats()).toMatchObject({ files: files.length, bytes })
      await cache.close()
    })
  })
}
