/** A process that can start no engine, as under --jitless: caches work in memory, with one warning that names the reason. */
import { join } from 'node:path'
import { type Cache, type CacheOptions, openCache, type VarveError } from 'varve'
import { describe, expect, it, vi } from 'vitest'
import { keysContract } from '../contract/keys.ts'
import type { Subject } from '../contract/subject.ts'
import { valuesContract } from '../contract/values.ts'
import { makeFolder } from '../folders.ts'
import { codeOf, UNUSABLE } from './folders.ts'

const REASON = 'this process has no WebAssembly, as under --jitless'

/** Opens a cache as a process without WebAssembly does. */
async function openWithout(options: CacheOptions): Promise<Cache> {
  vi.stubGlobal('WebAssembly', undefined)
  try {
    return await openCache({ engine: 'wasm', ...options })
  } finally {
    vi.unstubAllGlobals()
  }
}

describe('contract: no engine', () => {
  const subject: Subject = {
    newDir: () => join(makeFolder(), 'cache'),
    open: (dir, options) => openWithout({ name: 'contract', dir, onWarning: () => undefined, ...options }),
  }
  keysContract(subject)
  valuesContract(subject)
})

it('a program with tasks under --jitless was stopped by ENGINE_UNAVAILABLE: its tasks run, and share results in memory', async () => {
  const dir = join(makeFolder(), 'cache')
  const warnings: VarveError[] = []
  let runs = 0
  const squareTwice = async (): Promise<readonly unknown[]> => {
    const cache = await openWithout({ name: 'tool', dir, onWarning: (warning) => void warnings.push(warning) })
    const task = cache.task('square', { version: '1' })
    const square = () => task.run({ id: 'a', inputs: { side: 3 } }, () => ({ area: 9, runs: ++runs }))
    const results = [await square(), await square()]
    expect(await cache.commit()).toMatchObject({ inMemory: true })
    expect(cache.status()).toMatchObject({ engine: 'none', degraded: { mode: 'memory', code: 'ENGINE_UNAVAILABLE' } })
    expect([await codeOf(cache.flush()), await codeOf(cache.files.list())]).toEqual(Array(2).fill('ENGINE_UNAVAILABLE'))
    await cache.close()
    return results
  }
  const one = { area: 9, runs: 1 }
  expect([await squareTwice(), runs]).toEqual([[one, one], 1])
  expect(warnings.map(({ code, message }) => [code, message.includes(REASON)])).toEqual([['ENGINE_UNAVAILABLE', true]])
  const again = await openWithout({ name: 'tool', dir, onWarning: () => undefined })
  const found = await again.task('square', { version: '1' }).run({ id: 'a', inputs: { side: 3 } }, () => 'work')
  expect(found).toEqual(one)
  await again.close()
})

it('a directory that cannot be used, in a process without WebAssembly, was ENGINE_UNAVAILABLE instead of a warning', async () => {
  const dir = join(makeFolder(), 'cache')
  UNUSABLE['a file where the folder should be']?.(dir)
  const warnings: VarveError[] = []
  const cache = await openWithout({
    name: 'tool',
    dir,
    engine: 'native',
    onWarning: (warning) => void warnings.push(warning),
  })
  cache.namespace('n', { codec: 'text' }).put('key', 'value')
  expect([cache.namespace('n', { codec: 'text' }).get('key'), cache.status().engine]).toEqual(['value', 'none'])
  expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining('not a directory')])
  await cache.close()
})

it('without an engine, another version of a namespace discards its entries, and only those', async () => {
  const dir = join(makeFolder(), 'cache')
  const found: unknown[] = []
  for (const version of ['1', '2', '2', '1']) {
    const cache = await openWithout({ name: 'tool', dir, onWarning: () => undefined })
    const spaces = [cache.namespace('a', { version, codec: 'text' }), cache.namespace('b', { codec: 'text' })]
    found.push(spaces.map((space) => space.get('key')))
    for (const space of spaces) space.put('key', version)
    await cache.close()
  }
  expect(found).toEqual([
    [undefined, undefined],
    [undefined, '1'],
    ['2', '2'],
    [undefined, '2'],
  ])
})

it('a cache of a process without an engine holds no more than maxBytes', async () => {
  const cache = await openWithout({
    name: 'tool',
    dir: join(makeFolder(), 'c'),
    maxBytes: 65_536,
    onWarning: () => undefined,
  })
  const space = cache.namespace('n')
  for (let index = 0; index < 10; index++) {
    space.put(`${index}`, new Uint8Array(20_000))
    await cache.commit()
  }
  const [{ valueBytes } = { valueBytes: Number.NaN }] = (await cache.stats()).namespaces
  expect([space.get('9')?.length, valueBytes <= 65_536]).toEqual([20_000, true])
  await cache.close()
})
