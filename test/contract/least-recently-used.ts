/** A cache over its cap keeps recently used entries. The test sets the clock. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Cache } from 'varve'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { snapshot } from '../folders.ts'
import { randomOf } from '../random.ts'
import type { Subject } from './subject.ts'

const FIRST_DAY = Date.UTC(2026, 0, 1, 12)

export function leastRecentlyUsedContract({ newDir, open }: Subject): void {
  const setDay = (day: number): void => void vi.setSystemTime(FIRST_DAY + day * 86_400_000)

  async function during<T>(cache: Promise<Cache>, run: (cache: Cache) => T | Promise<T>): Promise<T> {
    const opened = await cache
    try {
      return await run(opened)
    } finally {
      await opened.close()
    }
  }

  /** Puts `key <number>` for each number, a kilobyte each that cannot be compressed. */
  async function put(cache: Cache, numbers: readonly number[]): Promise<void> {
    for (const number of numbers) {
      const random = randomOf(number)
      cache.namespace('a').put(
        `key ${number}`,
        Uint8Array.from({ length: 1000 }, () => random(256)),
      )
    }
    await cache.commit()
  }

  const held = (cache: Cache, numbers: readonly number[]): number[] => {
    const values = cache.namespace('a').getMany(numbers.map((number) => `key ${number}`))
    return numbers.filter((_, index) => values[index] !== undefined)
  }

  const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

  describe('least recently used', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
    afterEach(() => void vi.useRealTimers())

    it('eviction keeps entries that a build read yesterday, and removes unread ones', async () => {
      const dir = newDir()
      setDay(0)
      await during(open(dir), (cache) => put(cache, range(0, 200)))
      setDay(3)
      expect(await during(open(dir), (cache) => held(cache, range(0, 60)))).toHaveLength(60)
      setDay(4)
      await during(open(dir, { maxBytes: 150_000 }), async (cache) => {
        await put(cache, range(200, 220))
        await cache.compact()
        expect(held(cache, range(200, 220))).toHaveLength(20)
      })
      await during(open(dir, { readOnly: true }), async (cache) => {
        expect(held(cache, range(0, 60))).toHaveLength(60)
        expect(held(cache, range(60, 200)).length).toBeLessThan(80)
        expect((await cache.stats()).tableBytes).toBeLessThanOrEqual(150_000)
        expect((await cache.verify()).sound).toBe(true)
      })
    })

    it('only the first reading build of a day writes usage, and stats count entries that were never used', async () => {
      const dir = newDir()
      setDay(0)
      await during(open(dir), (cache) => put(cache, range(0, 10)))
      const look = (): Promise<number[]> => during(open(dir), (cache) => held(cache, range(0, 4)))
      const state = (): unknown => (existsSync(dir) ? snapshot(dir) : undefined)
      const before = state()
      await look()
      expect(state()).toEqual(before)
      setDay(1)
      await look()
      const after = state()
      // A cache with a key has a folder of another name, one in memory has none.
      const [folder = ''] = after === undefined ? [] : readdirSync(dir)
      const records = folder === '' ? 1 : readdirSync(join(dir, folder, 'used')).length
      expect(records).toBe(1)
      await look()
      expect(state()).toEqual(after)
      const { namespaces } = await during(open(dir, { readOnly: true }), (cache) => cache.stats())
      expect(namespaces[0]).toMatchObject({ entries: 10, neverUsedEntries: 6 })
    })
  })
}
