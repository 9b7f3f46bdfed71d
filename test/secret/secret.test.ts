/**
 * A cache with a secret: only entries that were written with the secret count. The tests of the engine
 * (`crates/core/tests/store/secret.rs`) cover files with forged checksums; these tests cover what a user can observe.
 */
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { type CacheOptions, openCache, VarveError } from 'varve'
import { afterEach, describe, expect, it } from 'vitest'
import { runVarve } from '../command.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'

const SECRET = 'the secret of the trusted branch'
const LARGE = 'x'.repeat(1_500_000)

afterEach(() => void delete process.env['VARVE_SECRET'])

async function write(dir: string, value: string, options: Partial<CacheOptions> = {}): Promise<void> {
  await using cache = await openCache({ name: 'authenticated', dir, ...options })
  const namespace = cache.namespace('n', { codec: 'text' })
  for (let number = 0; number < 100; number++) namespace.put(`key ${number}`, `${value} ${number}`)
  namespace.put('large', `${value} ${LARGE}`)
  await cache.commit()
  await cache.compact({ full: true })
  namespace.put('key 0', `${value} in the log`)
  await cache.commit()
}

async function read(dir: string, options: Partial<CacheOptions> = {}): Promise<(string | undefined)[]> {
  await using cache = await openCache({ name: 'authenticated', dir, ...options })
  const namespace = cache.namespace('n', { codec: 'text' })
  return ['key 0', 'key 7', 'large'].map((key) => namespace.get(key)?.slice(0, 4))
}

function filesBelow(folder: string): Map<string, string> {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(
    found.map(({ parentPath, name }) => [
      join(parentPath, name),
      readFileSync(join(parentPath, name)).toString('base64'),
    ]),
  )
}

function folderOf(dir: string): string {
  const name = readdirSync(dir).find((folder) => /^v1-[0-9a-f]{16}$/.test(folder))
  return join(dir, name ?? 'missing')
}

describe.each(ENGINES)('a cache with a secret, written by %s', (engine) => {
  const other = engine === 'native' ? 'wasm' : 'native'

  it('entries written with a secret are found by both engines with it, as text, bytes or VARVE_SECRET, and are misses without it', async () => {
    const dir = makeFolder()
    await write(dir, 'good', { engine, secret: SECRET })
    const whole = ['good', 'good', 'good']
    expect(await read(dir, { engine: other, secret: new TextEncoder().encode(SECRET) })).toEqual(whole)
    const nothing = [undefined, undefined, undefined]
    expect(await read(dir, { engine: other })).toEqual(nothing)
    expect(await read(dir, { engine, secret: 'the secret of an untrusted branch' })).toEqual(nothing)
    process.env['VARVE_SECRET'] = SECRET
    expect(await read(dir, { engine })).toEqual(whole)
  })

  it('caches with and without a secret share a folder and leave each other untouched', async () => {
    const dir = makeFolder()
    await write(dir, 'open', { engine })
    const before = filesBelow(join(dir, 'v1'))
    await write(dir, 'good', { engine, secret: SECRET })
    await write(dir, 'else', { engine, secret: 'the secret of an untrusted branch' })
    expect(filesBelow(join(dir, 'v1'))).toEqual(before)
    expect([await read(dir, { engine }), await read(dir, { engine, secret: SECRET })]).toEqual([
      ['open', 'open', 'open'],
      ['good', 'good', 'good'],
    ])
  })

  it('planted files of a cache without a secret are misses, and the next commit works', async () => {
    const [dir, foreign] = [makeFolder(), makeFolder()]
    await write(foreign, 'evil', { engine: other })
    const names = readdirSync(join(foreign, 'v1')).filter((name) => name !== 'files')
    for (const planted of [...names.map((name) => [name]), names]) {
      const copy = join(dir, String(planted.length), planted[0] ?? '')
      await write(copy, 'good', { engine, secret: SECRET })
      for (const name of planted) cpSync(join(foreign, 'v1', name), join(folderOf(copy), name))
      const found = await read(copy, { engine, secret: SECRET, onWarning: () => {} })
      expect(found.filter((value) => value !== undefined && value !== 'good')).toEqual([])
      await write(copy, 'next', { engine, secret: SECRET, onWarning: () => {} })
      expect(await read(copy, { engine, secret: SECRET })).toEqual(['next', 'next', 'next'])
    }
  })

  it('other content under the name of a stored file is a miss with a secret', async () => {
    const dir = makeFolder()
    await write(dir, 'good', { engine, secret: SECRET })
    for (const [path, content] of filesBelow(join(folderOf(dir), 'files'))) {
      const bytes = Buffer.from(content, 'base64')
      writeFileSync(path, bytes.fill(0x41))
    }
    expect(await read(dir, { engine, secret: SECRET, onWarning: () => {} })).toEqual(['good', 'good', undefined])
  })

  it('a restore with a secret makes copies even if hard links are requested, so later writes to the cache change nothing', async () => {
    const [dir, source, target] = [makeFolder(), makeFolder(), makeFolder()]
    writeFileSync(join(source, 'main.js'), 'good()')
    await using cache = await openCache({ name: 'authenticated', dir, engine, secret: SECRET })
    const manifest = await cache.files.store(source)
    cache.namespace('n', { codec: 'json' }).put('outputs', manifest)
    await cache.commit()
    expect(await cache.files.restore(manifest, target, { mode: 'hardlink' })).toMatchObject({ linked: 0, entries: 1 })
    for (const path of filesBelow(join(folderOf(dir), 'files')).keys()) {
      chmodSync(path, 0o644)
      writeFileSync(path, 'EVIL()')
    }
    expect(readFileSync(join(target, 'main.js'), 'utf8')).toBe('good()')
  })

  it('status() reports that a cache is authenticated, and no output or file contains the secret', async () => {
    const dir = makeFolder()
    await using cache = await openCache({ name: 'authenticated', dir, engine, secret: SECRET })
    await using open = await openCache({ name: 'authenticated', dir, engine })
    expect([cache.status().authenticated, open.status().authenticated]).toEqual([true, false])
    cache.namespace('n', { codec: 'text' }).put('key', 'value')
    await cache.commit()
    expect(inspect([cache, cache.status(), await cache.stats()], { depth: 9, showHidden: true })).not.toContain(SECRET)
    for (const [path, content] of filesBelow(dir))
      expect(`${path} ${Buffer.from(content, 'base64').toString()}`).not.toContain(SECRET)
  })
})

it('a secret that is short or of another type is refused without a word about its value', async () => {
  const dir = makeFolder()
  for (const secret of ['a guess of thirty-one bytes....', new Uint8Array(31), ''] as const) {
    const refused: unknown = await openCache({ name: 'authenticated', dir, secret }).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('openssl rand -hex 32'),
    })
    expect(refused instanceof VarveError && !refused.message.includes('guess of')).toBe(true)
  }
  expect(existsSync(join(dir, 'v1'))).toBe(false)
})

it('doctor names the folder of the key, and a key that is too short', async () => {
  const dir = makeFolder()
  await write(dir, 'good', { secret: SECRET })
  const folder = folderOf(dir)
  chmodSync(folder, 0o777)
  const find = (what: string, secret: string): unknown => {
    const { out } = runVarve(['doctor', '--dir', dir, '--json'], { env: { VARVE_SECRET: secret } })
    return JSON.parse(out).findings.find((finding: { what: string }) => finding.what === what)
  }
  expect(find('usable', SECRET)).toMatchObject({ found: expect.stringContaining(folder) })
  expect(find('secret', SECRET)).toBeUndefined()
  expect(find('secret', 'short')).toMatchObject({ advice: expect.stringContaining('VARVE_SECRET has 5 bytes') })
})

it('the command reads the secret from VARVE_SECRET, and reports a missing or another secret', async () => {
  const dir = makeFolder()
  await write(dir, 'good', { secret: SECRET })
  const run = (secret: string | undefined): string => {
    const { status, out, err } = runVarve(['ls', '--dir', dir], { env: { VARVE_SECRET: secret } })
    return status === 0 ? out : err
  }
  expect(
    run(SECRET)
      .split('\n')
      .filter((line) => line !== '').length,
  ).toBe(101)
  expect(run(undefined)).toContain('was written with a secret; set VARVE_SECRET to it')
  expect(run('the secret of an untrusted branch')).toContain('was written with another secret')
})
