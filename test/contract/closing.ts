/** What `close` promises about puts, and which calls it allows afterwards. */
import { describe, expect, it } from 'vitest'
import type { Cache, VarveError } from 'varve'
import type { Subject } from './subject.ts'

export function closingContract({ newDir, open }: Subject): void {
  const put = (cache: Cache, key: string, value: string): void =>
    cache.namespace('a', { codec: 'text' }).put(key, value)
  const reopened = async (dir: string): Promise<unknown[]> => {
    const cache = await open(dir)
    const found = [...cache.namespace('a', { codec: 'text' }).entries()].sort()
    await cache.close()
    return found
  }

  describe('close', () => {
    it('what was put and not committed is gone after close()', async () => {
      const dir = newDir()
      const cache = await open(dir)
      put(cache, 'committed', 'one')
      await cache.commit()
      put(cache, 'key', 'two')
      cache.namespace('a', { codec: 'text' }).delete('committed')
      await Promise.all([cache.close(), cache.close()])
      expect(await reopened(dir)).toEqual([['key', 'two']])
    })

    it('what was put and not committed is gone after await using', async () => {
      const dir = newDir()
      const cache = await open(dir)
      put(cache, 'key', 'one')
      await cache[Symbol.asyncDispose]()
      expect(await reopened(dir)).toEqual([['key', 'one']])
    })

    it('close with commit: false discards the batch, and nothing that was committed', async () => {
      const dir = newDir()
      const cache = await open(dir)
      put(cache, 'committed', 'one')
      await cache.commit()
      put(cache, 'key', 'two')
      await cache.close({ commit: false })
      await expect(cache.close()).resolves.toBeUndefined()
      expect(await reopened(dir)).toEqual([['committed', 'one']])
    })

    it('close commits after the commits that are running', async () => {
      const dir = newDir()
      const cache = await open(dir)
      const commits: Promise<unknown>[] = []
      for (let round = 0; round < 5; round++) {
        put(cache, 'large', String(round).repeat(300_000))
        commits.push(cache.commit({ durability: round % 2 === 0 ? 'durable' : 'relaxed' }))
      }
      put(cache, 'large', 'last')
      await cache.close()
      await Promise.all(commits)
      expect(await reopened(dir)).toEqual([['large', 'last']])
    })

    it('close of a read-only cache writes nothing and does not warn', async () => {
      const dir = newDir()
      const writer = await open(dir)
      put(writer, 'key', 'one')
      await writer.close()
      const warnings: VarveError[] = []
      const reader = await open(dir, { readOnly: true, onWarning: (warning) => void warnings.push(warning) })
      put(reader, 'key', 'two')
      expect(reader.status().pending.entries).toBe(1)
      await reader.close()
      expect([await reopened(dir), warnings]).toEqual([[['key', 'one']], []])
    })

    it('close refuses unknown options, and all later calls are refused', async () => {
      const cache = await open(newDir())
      put(cache, 'key', 'one')
      const values = cache.namespace('a', { codec: 'text' })
      const refused = Reflect.apply(cache.close, cache, [{ comit: false }])
      await expect(refused).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining("'commit'"),
      })
      const closing = cache.close()
      const closed = expect.objectContaining({ code: 'CLOSED' })
      expect(() => put(cache, 'late', 'two')).toThrow(closed)
      await expect(cache.commit()).rejects.toEqual(closed)
      for (const keys of [['key'], []]) {
        expect(() => values.getMany(keys)).toThrow(closed)
        await expect(values.getManyAsync(keys)).rejects.toEqual(closed)
      }
      await closing
    })
  })

  describe('status().pending', () => {
    it('status().pending counts the buffered puts and deletes, and their bytes', async () => {
      const cache = await open(newDir())
      expect(cache.status().pending).toEqual({ entries: 0, bytes: 0 })
      put(cache, 'key', 'x'.repeat(1000))
      put(cache, 'key', 'y'.repeat(1000))
      cache.namespace('other').delete('key')
      const { entries, bytes } = cache.status().pending
      expect([entries, bytes > 2000 && bytes < 2200]).toEqual([3, true])
      await cache.commit()
      expect(cache.status().pending).toEqual({ entries: 0, bytes: 0 })
      await cache.close()
    })
  })
}
