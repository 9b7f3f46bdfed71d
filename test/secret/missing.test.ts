/**
 * A missing secret: CI turns a secret with a wrong name into an empty `VARVE_SECRET`. This used to open the cache of builds
 * without a secret, which pull requests can write, without a warning.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cached } from '@varve/plugins/esbuild'
import { varveDriver } from '@varve/plugins/unstorage'
import { build } from 'esbuild'
import { type CacheOptions, openCache } from 'varve'
import { afterEach, expect, it } from 'vitest'
import { runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'

const SECRET = '0123456789abcdef0123456789abcdef'
const NAMES = ['VARVE_SECRET', 'VARVE_REQUIRE_SECRET', 'VARVE_KEY']

afterEach(() => NAMES.forEach((name) => delete process.env[name]))

/** Opens with these in the environment: whether there is a secret, or the code of the error, and the warnings. */
async function opened(env: Record<string, string>, options: Partial<CacheOptions> = {}): Promise<unknown> {
  Object.assign(process.env, env)
  const warnings: string[] = []
  const onWarning = ({ code, message }: Error & { code: string }): void => void warnings.push(`${code} ${message}`)
  try {
    await using cache = await openCache({ name: 'missing', dir: makeFolder(), onWarning, ...options })
    cache.namespace('n').get('key')
    return [cache.status().authenticated, warnings]
  } catch (error) {
    return error
  } finally {
    NAMES.forEach((name) => delete process.env[name])
  }
}

it('an empty VARVE_SECRET causes one warning, which names the ways to continue', async () => {
  const message = expect.stringMatching(/^SECRET_MISSING VARVE_SECRET is empty: .*VARVE_REQUIRE_SECRET=1/)
  expect(await opened({ VARVE_SECRET: '' })).toEqual([false, [message]])
  expect(await opened({})).toEqual([false, []])
  expect(await opened({ VARVE_SECRET: '' }, { secret: SECRET })).toEqual([true, []])
  // The build is meant to have none.
  expect(await opened({ VARVE_SECRET: '', VARVE_REQUIRE_SECRET: '0' })).toEqual([false, []])
  expect(await opened({ VARVE_SECRET: '' }, { requireSecret: false })).toEqual([false, []])
  expect(await opened({ VARVE_SECRET: '' }, { inMemory: true, dir: undefined })).toEqual([false, []])
})

it('a leftover VARVE_KEY of Varve 0.1 is warned of, once, with the new name, instead of being ignored silently', async () => {
  const message = expect.stringMatching(/^SECRET_MISSING VARVE_KEY is no longer read: .*Rename it to VARVE_SECRET/)
  expect(await opened({ VARVE_KEY: SECRET })).toEqual([false, [message]])
  expect(await opened({ VARVE_KEY: SECRET, VARVE_SECRET: '' })).toEqual([false, [message]])
  expect(await opened({ VARVE_KEY: '' })).toEqual([false, []])
  expect(await opened({ VARVE_KEY: SECRET, VARVE_SECRET: SECRET })).toEqual([true, []])
  expect(await opened({ VARVE_KEY: SECRET, VARVE_REQUIRE_SECRET: '0' })).toEqual([false, []])
  const refused = { code: 'SECRET_MISSING', message: expect.stringContaining('VARVE_KEY is no longer read') }
  expect(await opened({ VARVE_KEY: SECRET }, { requireSecret: true })).toMatchObject(refused)
  const { out } = runVarve(['doctor', '--dir', makeFolder(), '--json'], { env: { VARVE_KEY: SECRET } })
  expect(JSON.parse(out).findings).toContainEqual({
    what: 'secret',
    found: 'VARVE_KEY',
    advice: expect.stringContaining('Rename it'),
  })
})

it('a secret that is required and missing or empty is an error, not the cache without a secret', async () => {
  const refused = { code: 'SECRET_MISSING', message: expect.stringContaining('openssl rand -hex 32') }
  for (const env of [{}, { VARVE_SECRET: '' }]) {
    expect(await opened(env, { requireSecret: true })).toMatchObject(refused)
    for (const wanted of ['1', 'true', 'yes'])
      expect(await opened({ ...env, VARVE_REQUIRE_SECRET: wanted }), wanted).toMatchObject(refused)
    // The person who runs the build sets the environment, and an option cannot override it.
    expect(await opened({ ...env, VARVE_REQUIRE_SECRET: '1' }, { requireSecret: false })).toMatchObject(refused)
  }
  expect(await opened({ VARVE_SECRET: SECRET, VARVE_REQUIRE_SECRET: '1' })).toEqual([true, []])
  expect(await opened({ VARVE_REQUIRE_SECRET: '1' }, { secret: new TextEncoder().encode(SECRET) })).toEqual([true, []])
  expect(await opened({ VARVE_REQUIRE_SECRET: '1' }, { secret: Buffer.from(SECRET) })).toEqual([true, []])
  expect(await opened({ VARVE_REQUIRE_SECRET: '1' }, { inMemory: true, dir: undefined })).toEqual([false, []])
})

it('commands fail without a secret that is required, and warn of an empty one', async () => {
  const dir = makeFolder()
  await using cache = await openCache({ name: 'missing', dir })
  cache.namespace('n').put('key', new Uint8Array(3))
  await cache.commit()
  const run = (...args: string[]): unknown =>
    runVarve(['ls', '--dir', dir], { env: { VARVE_SECRET: args[0], VARVE_REQUIRE_SECRET: args[1] } })
  expect(run('', '1')).toEqual({
    status: 2,
    out: '',
    err: expect.stringContaining('VARVE_REQUIRE_SECRET requires one'),
  })
  expect(run('', '')).toEqual({
    status: 0,
    out: expect.stringContaining('key'),
    err: expect.stringMatching(/^warning: VARVE_SECRET is empty/),
  })
  expect(run('', '0')).toEqual({ status: 0, out: expect.stringContaining('key'), err: '' })
  const { out } = runVarve(['doctor', '--dir', dir, '--json'], { env: { VARVE_SECRET: '' } })
  expect(JSON.parse(out).findings).toContainEqual(expect.objectContaining({ what: 'secret', found: 'empty' }))
})

it('without a secret that is required, plugins use no cache and warn once, and the build succeeds', async () => {
  process.env['VARVE_REQUIRE_SECRET'] = '1'
  const [folder, codes] = [makeFolder(), new Array<string>()]
  const [main, dir] = [join(folder, 'main.js'), join(folder, 'cache')]
  writeFileSync(main, 'console.log(1)')
  const made = { contents: 'console.log(2)' }
  const plugin = cached(
    { name: 'plugin', setup: ({ onLoad }) => onLoad({ filter: /main/ }, () => made) },
    { cacheKey: 1, dir },
  )
  const { outputFiles, warnings } = await build({
    entryPoints: [main],
    plugins: [plugin],
    write: false,
    logLevel: 'silent',
  })
  expect(outputFiles[0]?.text).toContain('console.log(2)')
  expect(warnings.map(({ text }) => text)).toEqual([expect.stringContaining('VARVE_REQUIRE_SECRET requires one')])
  const driver = varveDriver({ dir, onWarning: ({ code }) => void codes.push(code) })
  await driver.setItem('key', 'value')
  expect([await driver.getItem('key'), codes]).toEqual(['value', ['SECRET_MISSING']])
  await driver.dispose()
  expect(existsSync(dir)).toBe(false)
})
