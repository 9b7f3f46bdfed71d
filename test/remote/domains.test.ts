/**
 * A machine that has built over an untrusted scope, and then builds `main` with the same directory: nothing of that scope gets into what `main`
 * builds or publishes, and no head of such a scope changes the layers of a trusted one.
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { generateKeys, type OpenRemote, pull, push, revoke } from '@varve/remote'
import { type Cache, type CacheOptions, openCache } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runVarve } from '../command.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { buildWith, makeApplication } from '../plugins/scenarios.ts'
import { slow } from '../slow.ts'
import { KEYS, Machine, MemoryStore, newStore } from './machines.ts'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The keys of pull requests. */
const REQUEST = generateKeys()
const SCOPE = { scope: 'untrusted/pr/7', untrustedKeys: [REQUEST.publicKey] }

/** The remote of a machine that reads a pull request. */
const reviewing = (machine: Machine): OpenRemote => machine.remote({ ...SCOPE, base: ['trusted/main'] })

/** Publishes what a machine has as the pull request, over what main has. */
async function request(machine: Machine): Promise<void> {
  await machine.push({}, machine.writer({ ...SCOPE, base: ['trusted/main'], signingKey: REQUEST.signingKey }))
}

type Work = (cache: Cache, folder: string, make: (source: string) => string) => Promise<string>

async function opened<T>(
  { dir, engine }: Pick<Machine, 'dir' | 'engine'>,
  options: Partial<CacheOptions>,
  work: (cache: Cache) => T,
): Promise<Awaited<T>> {
  const cache = await openCache({ name: 'tool', dir, engine, onWarning: () => undefined, ...options })
  try {
    return await work(cache)
  } finally {
    await cache.close()
  }
}

/** Work whose inner result an attacker has published, and whose outer one is new on the machine that reads it. */
const WAYS: Readonly<Record<string, { readonly inner: Work; readonly outer: Work }>> = {
  'nested tasks': {
    inner: (cache, root, make) =>
      cache
        .task('inner', { version: '1', codec: 'text', root })
        .run({ id: 'a', inputs: { file: 'a' } }, () => make('a')),
    outer: async (cache, root, make) =>
      cache.task('outer', { version: '1', codec: 'text', root }).run({ id: 'b', inputs: { file: 'b' } }, async () => {
        const inner = cache.task('inner', { version: '1', codec: 'text', root })
        return `<${await inner.run({ id: 'a', inputs: { file: 'a' } }, () => make('a'))}>`
      }),
  },
  getOrPut: {
    inner: (cache, _, make) => cache.namespace('n', { codec: 'text' }).getOrPut('a', () => make('a')),
    outer: (cache, _, make) => {
      const space = cache.namespace('n', { codec: 'text' })
      return space.getOrPut('outer', async () => `<${await space.getOrPut('a', () => make('a'))}>`)
    },
  },
}

const evil = (source: string): string => `evil ${source}`
const good = (source: string): string => `good ${source}`

describe.each(ENGINES)('%s', (engine) => {
  it.each(Object.entries(WAYS))(
    'main builds its own results after a pull request was read with the same directory: %s',
    async (_, { inner, outer }) => {
      const store = newStore()
      const root = makeFolder()
      const attacker = new Machine(store, engine)
      await opened(attacker, { remote: false }, (cache) => inner(cache, root, evil))
      await request(attacker)
      const machine = new Machine(store, engine)
      expect(await opened(machine, { remote: reviewing(machine) }, (cache) => outer(cache, root, good))).toContain(
        'evil',
      )
      const built = await opened(machine, { remote: machine.writer() }, (cache) => outer(cache, root, good))
      expect(built).toContain('good')
      await machine.push()
      const fresh = new Machine(store, engine)
      const asFresh = await opened(fresh, { remote: fresh.remote() }, (cache) => outer(cache, root, () => 'made again'))
      expect(asFresh).toBe(built)
    },
  )

  it('the state names the domain, and the directories of both are apart', async () => {
    const store = newStore()
    await request(await new Machine(store, engine).put({ a: 'evil' }))
    const machine = new Machine(store, engine)
    const stateOf = (options: Partial<CacheOptions>): Promise<readonly string[]> =>
      opened(machine, options, (cache) => {
        const { domain, dir } = cache.status()
        return [domain, dir]
      })
    const apart = join(dirname(machine.dir), '.untrusted/tool')
    expect(await stateOf({ remote: reviewing(machine) })).toEqual(['untrusted', apart])
    expect(await stateOf({ remote: machine.remote() })).toEqual(['trusted', machine.dir])
    expect(await stateOf({ remote: reviewing(machine), readOnly: true })).toEqual(['untrusted', machine.dir])
    expect(await stateOf({ remote: machine.remote({ trustedKeys: 'none' }) })).toEqual(['untrusted', apart])
  })

  it('a cache over unsigned layers is not published with a key that others trust', async () => {
    const store = newStore()
    const forger = generateKeys()
    const forging = await new Machine(store, engine).put({ a: 'evil' })
    await forging.push({}, forging.writer({ trustedKeys: [forger.publicKey], signingKey: forger.signingKey }))
    const machine = new Machine(store, engine)
    const outer = (cache: Cache): Promise<string> => {
      const space = cache.namespace('n', { codec: 'text' })
      return space.getOrPut('outer', async () => `<${await space.getOrPut('a', () => 'good')}>`)
    }
    expect(await opened(machine, { remote: machine.remote({ trustedKeys: 'none' }) }, outer)).toBe('<evil>')
    expect(await opened(machine, { remote: false }, outer)).toBe('<good>')
  })
})

it('a copy of an untrusted layer, a layer sealed over it, and a cache that was moved are not published by main', async () => {
  const store = new MemoryStore()
  await request(await new Machine(store).put({ a: 'evil' }))
  const machine = new Machine(store)
  const [path = ''] = (await pull(reviewing(machine))).layers.map((layer) => layer.path)
  const copy = join(machine.folder, 'copy/tool')
  cpSync(path, copy, { recursive: true })
  const put = (cache: Cache): void => cache.namespace('n', { codec: 'text' }).put('own', 'value')
  await opened(machine, { layers: [copy], remote: false }, put)
  const apart = join(dirname(machine.dir), '.untrusted/tool')
  expect([existsSync(machine.dir), existsSync(join(apart, 'v1'))]).toEqual([false, true])
  const sealed = join(machine.folder, 'sealed/tool')
  await opened({ dir: apart, engine: 'native' }, { remote: false }, (cache) => cache.seal(sealed))
  const other = { dir: join(machine.folder, 'other/tool'), engine: 'native' } as const
  expect(await opened(other, { layers: [sealed], remote: false }, (cache) => cache.status().domain)).toBe('untrusted')
  renameSync(apart, machine.dir)
  await expect(machine.push()).rejects.toMatchObject({ code: 'REMOTE_UNTRUSTED' })
  const warnings: string[] = []
  await opened(machine, { remote: machine.writer(), onWarning: ({ message }) => warnings.push(message) }, put)
  expect(warnings.join()).toMatch(/is not published to 'trusted\/main'/)
  expect([...store.blobs.keys()].filter((name) => name.startsWith('v1/trusted/'))).toEqual([])
})

describe.each(ENGINES)('a copy of the directory v1 alone, %s', (engine) => {
  it.each([
    ['a layer', (layer: string) => layer],
    ['a cache', (_: string, cache: string) => cache],
    ['what was sealed', (_layer: string, _cache: string, sealed: string) => sealed],
  ])('counted as trusted: of %s', async (what, chosen) => {
    const store = new MemoryStore()
    await request(await new Machine(store, engine).put({ a: 'evil' }))
    const machine = new Machine(store, engine)
    const put = (cache: Cache): void => cache.namespace('n', { codec: 'text' }).put('own', 'value')
    await opened(machine, { remote: reviewing(machine) }, put)
    const [layer = ''] = (await pull(reviewing(machine))).layers.map(({ path }) => path)
    const apart = join(dirname(machine.dir), '.untrusted/tool')
    const sealed = join(machine.folder, 'sealed/tool')
    await opened({ dir: apart, engine }, { remote: reviewing(machine) }, (cache) => cache.seal(sealed))
    const copy = join(machine.folder, 'copied/tool')
    cpSync(join(chosen(layer, apart, sealed), 'v1'), join(copy, 'v1'), { recursive: true })
    const domainOf = (options: Partial<CacheOptions>, dir: string): Promise<string> =>
      opened({ dir, engine }, { remote: false, ...options }, (cache) => cache.status().domain)
    expect(await domainOf({}, copy)).toBe('untrusted')
    expect(await domainOf({ layers: [copy] }, join(machine.folder, 'over/tool'))).toBe('untrusted')
    const cache = await openCache({ name: 'tool', dir: copy, engine, onWarning: () => undefined })
    const compacted = what === 'a cache' ? await cache.compact({ full: true }) : { foreignFiles: [] }
    expect([compacted.foreignFiles, (await cache.verify()).sound]).toEqual([[], true])
    await cache.close()
    await expect(push(machine.writer(), { caches: [{ name: 'tool', dir: copy }] })).rejects.toMatchObject({
      code: 'REMOTE_UNTRUSTED',
    })
  })
})

it('sealing into a directory that has a layer fails, and leaves that layer trusted', async () => {
  const machine = await new Machine(newStore()).put({ a: 'good' })
  const target = join(machine.folder, 'sealed/tool')
  await opened(machine, { remote: false }, (cache) => cache.seal(target))
  const sealing = opened(machine, { remote: reviewing(machine) }, (cache) => cache.seal(target))
  await expect(sealing).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  expect(readdirSync(target)).toEqual(['v1'])
})

it('work in flight over untrusted layers does not answer a trusted cache of the same directory', async () => {
  const store = newStore()
  await request(await new Machine(store).put({ a: 'evil' }))
  const machine = await new Machine(store).put({ b: 'own' })
  await pull(reviewing(machine)) // a read-only cache does not ask the remote
  const options = { name: 'tool', dir: machine.dir }
  const untrusted = await openCache({ ...options, remote: reviewing(machine), readOnly: true })
  const trusted = await openCache({ ...options, remote: false })
  const outer = (cache: Cache): Promise<string> => {
    const space = cache.namespace('n', { codec: 'text' })
    return space.getOrPut('outer', async () => `<${await space.getOrPut('a', () => 'good')}>`)
  }
  const [first, second] = await Promise.all([outer(untrusted), outer(trusted)])
  await Promise.all([untrusted.close(), trusted.close()])
  expect([first, second]).toEqual(['<evil>', '<good>'])
})

it('an untrusted head that revokes or names a trusted layer changes nothing for main', async () => {
  const store = new MemoryStore()
  await (await new Machine(store).put({ a: 'good' })).push()
  const machine = new Machine(store)
  const read = (remote: OpenRemote): Promise<readonly unknown[]> =>
    opened(machine, { remote }, (cache) => {
      const { remote: report, domain } = cache.status()
      return [cache.namespace('n', { codec: 'text' }).get('a'), report?.fetchedBytes === 0, domain]
    })
  expect(await read(machine.remote())).toEqual(['good', false, 'trusted'])
  // The pull request publishes the same bytes as main, so both name a layer of the same digest, and revokes it.
  const attacker = await new Machine(store).put({ a: 'good' })
  const writer = attacker.writer({ ...SCOPE, signingKey: REQUEST.signingKey })
  const { layers } = await push(writer, { caches: [{ name: 'tool', dir: attacker.dir }] })
  expect(await read(reviewing(machine))).toEqual(['good', false, 'untrusted'])
  expect(await read(machine.remote())).toEqual(['good', true, 'trusted'])
  await revoke(writer, layers[0]?.sha256 ?? '')
  for (let time = 0; time < 2; time++) expect(await read(reviewing(machine))).toEqual(['good', true, 'untrusted'])
  expect(await read(machine.remote())).toEqual(['good', true, 'trusted'])
})

describe('commands', () => {
  it('list the caches of both domains, and push those of the scope', async () => {
    const store = newStore()
    await request(await new Machine(store).put({ a: 'evil' }))
    const machine = await new Machine(store).put({ b: 'own' })
    await opened(machine, { remote: reviewing(machine) }, (cache) =>
      cache.namespace('n', { codec: 'text' }).put('c', 'x'),
    )
    const caches = dirname(machine.dir)
    const env = {
      VARVE_REMOTE: pathToFileURL(store.label.split("'")[1] ?? '').href,
      VARVE_TRUSTED_KEYS: KEYS.publicKey,
      VARVE_SIGNING_KEY: KEYS.signingKey,
    }
    const stats = JSON.parse(runVarve(['stats', '--dir', caches, '--json']).out)
    const domains = stats.caches.map(({ dir, domain }: { dir: string; domain: string }) => [dir, domain])
    expect(domains).toEqual([
      [join(caches, '.untrusted/tool'), 'untrusted'],
      [machine.dir, 'trusted'],
    ])
    expect(runVarve(['stats', '--dir', caches]).out).toContain('of untrusted scopes')
    expect(runVarve(['doctor', '--dir', caches]).out).toMatch(/\.untrusted\/tool: .*of untrusted scopes/)
    expect(runVarve(['export', '--layer', join(machine.folder, 'out'), '--dir', caches]).status).toBe(0)
    expect(existsSync(join(machine.folder, 'out/.untrusted/tool/UNTRUSTED'))).toBe(true)
    expect(runVarve(['remote', 'push', '--dir', join(caches, '.untrusted/tool')], { env }).err).toMatch(/not published/)
    expect(runVarve(['remote', 'push', '--dir', caches], { env })).toMatchObject({ status: 0, err: '' })
    expect(await new Machine(store).read()).toEqual({ b: 'own' })
  })
})

/** Runs a bundler in an application, and returns how many results it took from the cache. */
type Bundle = (folder: string, isWasm: boolean) => Promise<number>

const webpack: Bundle = async (folder, isWasm) => {
  writeFileSync(join(folder, 'loader.cjs'), 'module.exports = (source) => source\n')
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [at('../plugins/webpack/build.mjs'), JSON.stringify({ folder, cache: 'varve', entry: './other.js' })],
    { cwd: folder, encoding: 'utf8', env: { ...process.env, VITEST: '', VARVE_ENGINE: isWasm ? 'wasm' : 'native' } },
  )
  const { failure, hits } = JSON.parse(stdout.startsWith('{') ? stdout : JSON.stringify({ failure: stderr }))
  if (failure !== null) throw new Error(failure)
  return hits
}

const bundler =
  (name: string): Bundle =>
  async (folder, isWasm) => {
    const { failure, hits } = await buildWith(at(`../plugins/${name}/build.mjs`), true)(folder, {}, isWasm)
    if (failure !== null) throw new Error(failure)
    return hits
  }

const BUNDLERS: readonly (readonly [string, Bundle])[] = [
  ['webpack', webpack],
  ['Rollup', bundler('rollup')],
  ['Vite', bundler('vite')],
]

describe.each(ENGINES)('bundlers with %s', (engine) => {
  afterEach(() => void vi.unstubAllEnvs())

  it.each(BUNDLERS)(
    '%s takes nothing for main of what it made over a pull request',
    engine === 'wasm' ? slow : {},
    async (_, bundle) => {
      const folder = makeApplication()
      mkdirSync(folder, { recursive: true })
      const set = (more: Readonly<Record<string, string>>): void => {
        vi.unstubAllEnvs()
        const env = {
          VARVE_REMOTE: remote,
          VARVE_TRUSTED_KEYS: KEYS.publicKey,
          VARVE_UNTRUSTED_KEYS: REQUEST.publicKey,
          NODE_ENV: '',
          ...more,
        }
        for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
      }
      const clean = (): void => {
        for (const name of ['cache', '.untrusted', '.remote', 'dist'])
          rmSync(join(folder, name), { recursive: true, force: true })
      }
      const remote = pathToFileURL(join(makeFolder(), 'store')).href
      const publishing = { VARVE_REMOTE_MODE: 'read-write' }
      set({ ...publishing, VARVE_REMOTE_SCOPE: SCOPE.scope, VARVE_SIGNING_KEY: REQUEST.signingKey })
      expect(await bundle(folder, engine === 'wasm')).toBe(0)
      clean()
      set({ VARVE_REMOTE_SCOPE: SCOPE.scope, VARVE_REMOTE_BASE: 'trusted/main' })
      for (const name of ['module-7.js', 'own.js']) appendFileSync(join(folder, name), 'export const more = 1\n')
      expect(await bundle(folder, engine === 'wasm')).toBeGreaterThan(0)
      expect(existsSync(join(folder, 'cache'))).toBe(false)
      set({ ...publishing, VARVE_SIGNING_KEY: KEYS.signingKey })
      expect(await bundle(folder, engine === 'wasm')).toBe(0)
      expect(await bundle(folder, engine === 'wasm')).toBeGreaterThan(0)
      clean()
      set({})
      expect(await bundle(folder, engine === 'wasm')).toBeGreaterThan(0)
    },
  )
})
