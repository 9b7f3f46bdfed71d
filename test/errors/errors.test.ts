/** Bad input and bad directories: a VarveError names the field, the value and the solution, and no commit is lost. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cache, openCache, VarveError } from 'varve'
import { describe, expect, it } from 'vitest'
import { attempt } from '../degrade/folders.ts'
import { ENGINES, type EngineName } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'

async function made(dir: string, engine: EngineName): Promise<Cache> {
  const cache = await openCache({ name: 'errors', dir, engine })
  cache.namespace('n', { codec: 'text' }).put('before', 'safe')
  await cache.commit()
  return cache
}

async function stillThere(dir: string, engine: EngineName): Promise<unknown> {
  const cache = await openCache({ name: 'errors', dir, engine, readOnly: true })
  const value = cache.namespace('n', { codec: 'text' }).get('before')
  await cache.close()
  return value
}

/** What a call throws or rejects with. */
async function failureOf(call: () => unknown): Promise<VarveError> {
  try {
    await call()
  } catch (error) {
    if (error instanceof VarveError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe.each(ENGINES)('errors: %s', (engine) => {
  it('keys and values that are too long are refused, and nothing else is lost', async () => {
    const dir = join(makeFolder(), 'cache')
    const cache = await made(dir, engine)
    const space = cache.namespace('n', { codec: 'text' })
    const longKey = await failureOf(() => space.put('k'.repeat(65_536), 'v'))
    expect([longKey.code, longKey.message]).toEqual(['KEY_TOO_LONG', expect.stringMatching(/key.*65536.*65535.*hash/)])
    const bytes = cache.namespace('b')
    const longValue = await failureOf(() => bytes.put('k', new Uint8Array(64 * 1024 * 1024 + 1)))
    expect([longValue.code, longValue.message]).toEqual([
      'VALUE_TOO_LONG',
      expect.stringMatching(/value.*67108865.*67108864/),
    ])
    await cache.close()
    const closed = await failureOf(() => space.get('before'))
    expect([closed.code, closed.message]).toEqual(['CLOSED', expect.stringContaining('open it again')])
    expect(await stillThere(dir, engine)).toBe('safe')
  })

  it('a cache of a newer format is not changed', async () => {
    const dir = join(makeFolder(), 'cache')
    mkdirSync(join(dir, 'v2'), { recursive: true })
    writeFileSync(join(dir, 'v2', 'manifest-7'), 'from the future')
    const before = snapshot(join(dir, 'v2'))
    const cache = await made(dir, engine)
    await cache.compact({ full: true })
    await cache.close()
    expect(snapshot(join(dir, 'v2'))).toEqual(before)
  })

  it('a commit on a full disk fails with DISK_FULL, and a later commit writes everything', async ({ skip }) => {
    const dir = makeFolder()
    if (!attempt('mount', ['-t', 'tmpfs', '-o', 'size=512k,mode=700', 'tmpfs', dir])) return skip('only root may mount')
    try {
      const cache = await made(dir, engine)
      const space = cache.namespace('b')
      for (let index = 0; index < 20; index++) space.put(`k${index}`, crypto.getRandomValues(new Uint8Array(40_000)))
      const failure = await failureOf(() => cache.commit())
      expect([failure.code, failure.message]).toEqual(['DISK_FULL', expect.stringContaining('free some space')])
      expect(space.get('k3')?.length).toBe(40_000)
      await cache.close()
      expect(await stillThere(dir, engine)).toBe('safe')
    } finally {
      attempt('umount', ['-l', dir])
    }
  })
})

it.each<[string, (cache: Cache, given: never) => unknown, readonly unknown[]]>([
  ['getMany', (cache, given) => cache.namespace('o').getMany(given), [undefined, null, 5, 'ab', {}]],
  ['getManyAsync', (cache, given) => cache.namespace('o').getManyAsync(given), [undefined, null, 5, 'ab', {}]],
  [
    'putMany',
    (cache, given) => cache.namespace('o').putMany(given),
    [undefined, 'ab', {}, [1], { [Symbol.iterator]: 1 }],
  ],
  [
    'addFile',
    (cache, given) => cache.task('t').run({ id: 'i' }, (context) => context.addFile(given)),
    [undefined, 5, {}, [], new Uint8Array(1)],
  ],
  [
    'addFile',
    (cache, given) => cache.task('t').run({ id: 'i' }, (context) => context.addFile('a', given)),
    [5, {}, null],
  ],
  [
    'addEnv',
    (cache, given) => cache.task('t').run({ id: 'i' }, (context) => context.addEnv(given)),
    [undefined, Symbol('a')],
  ],
  ['importTar', (cache, given) => cache.files.importTar(given), [undefined, {}, []]],
  ['exportTar', (cache, given) => cache.files.exportTar({ files: [] } as never, given), [undefined, {}, []]],
  ['stream', (cache, given) => cache.exportJson(given), [undefined, {}, Buffer.from('a')]],
  ['stream', (cache, given) => cache.importJson(given), [undefined, {}, { [Symbol.iterator]: 1 }]],
])('what %s does not take is an INVALID_ARGUMENT that names it', async (name, call, all) => {
  const cache = await made(join(makeFolder(), 'cache'), 'native')
  for (const given of all) {
    const { code, message } = await failureOf(() => call(cache, given as never))
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(name)])
  }
  await cache.close()
})

it('an unknown option is refused with a suggestion', async () => {
  const failure = await failureOf(() => openCache(JSON.parse('{"name": "errors", "durabilty": "relaxed"}')))
  expect([failure.code, failure.message]).toEqual(['INVALID_OPTION', expect.stringMatching(/durabilty.*durability/)])
})
