/** How often JavaScript calls the addon: the calls that docs/architecture.md names, and no others. */
import { join } from 'node:path'
import { openCache } from 'varve'
import { expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'

const calls: string[] = []

/** The addon, whose stores write down the name of each function that is called. */
vi.mock('../../packages/varve/src/engine/addon.ts', async (original) => {
  const { requireAddon } = await original<{ requireAddon<Addon>(): Addon }>()
  return {
    requireAddon<Addon>(): Addon {
      const addon = requireAddon<Addon & { openSmall(...order: readonly unknown[]): object | undefined }>()
      const openSmall = (...order: readonly unknown[]): object | undefined => {
        const opened = addon.openSmall(...order)
        return opened === undefined ? undefined : counted(opened)
      }
      return { ...addon, openSmall }
    },
  }
})

function counted(opened: object): object {
  return new Proxy(opened, {
    get(_, name) {
      const value: unknown = Reflect.get(opened, name)
      if (typeof value !== 'function') return value
      return (...args: readonly unknown[]): unknown => (calls.push(String(name)), Reflect.apply(value, opened, args))
    },
  })
}

/** What `run` calls. */
async function callsOf(run: () => unknown): Promise<string[]> {
  calls.length = 0
  await run()
  return [...calls]
}

/** A commit asked twice for the bytes that it was about to write. */
it('native: a put, a get and a relaxed commit call the addon once each', async () => {
  const cache = await openCache({ name: 'crossings', dir: join(makeFolder(), 'cache'), engine: 'native' })
  const namespace = cache.namespace('n', { codec: 'text' })
  namespace.put('first', 'value')
  await cache.commit() // the first one creates the directory
  expect(await callsOf(() => namespace.put('key', 'value'))).toEqual(['put'])
  expect(await callsOf(() => cache.commit())).toEqual(['commit'])
  expect(await callsOf(() => namespace.get('key'))).toEqual(['find'])
  expect(await callsOf(() => cache.commit())).toEqual(['commit']) // of nothing
  namespace.put('key', 'other')
  expect(await callsOf(() => cache.commit({ durability: 'durable' }))).toEqual(['commit'])
  await cache.close()
})
