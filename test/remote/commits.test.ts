/** Stores without a head: caches find what earlier commits have published, in a Git repository and in CI, without being told. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BlobStore, generateKeys, type RemoteOptions } from '@varve/remote'
import { openCache } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'
import { KEYS, Machine, namesOf, newStore, watched, withoutHead } from './machines.ts'

const start = process.cwd()
afterEach(() => {
  process.chdir(start)
  vi.unstubAllEnvs()
})

const git = (cwd: string, ...args: string[]): string => {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false']
  return execFileSync('git', [...identity, ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
}

/** A repository with so many commits, the working directory from now on. */
function enterRepository(commits: number): string {
  const folder = makeFolder()
  git(folder, 'init', '--initial-branch=main')
  for (let index = 0; index < commits; index++) commit(folder)
  process.chdir(folder)
  for (const name of ['GITHUB_SHA', 'GITHUB_EVENT_PATH', 'CI_COMMIT_SHA', 'GIT_COMMIT']) vi.stubEnv(name, '')
  return folder
}

function commit(folder: string): string {
  git(folder, 'commit', '--allow-empty', '--message', 'change')
  return git(folder, 'rev-parse', 'HEAD')
}

/** Opens a cache with the remote as plugins do, and closes it, which publishes if it may. Returns the value of `key` and the warnings. */
async function build(
  machine: Machine,
  key: string,
  options: Partial<RemoteOptions> & { value?: string; name?: string } = {},
): Promise<unknown[]> {
  const { value, name = 'tool', ...ofRemote } = options
  const warnings: string[] = []
  const remote = machine.remote(ofRemote)
  const cache = await openCache({
    name,
    dir: join(machine.dir, name),
    remote,
    onWarning: ({ message }) => warnings.push(message),
  })
  const space = cache.namespace('n', { codec: 'text' })
  const found = space.get(key)
  if (value !== undefined) space.put(key, value + randomBytes(200_000).toString('hex'))
  await cache.close()
  return [found?.slice(0, 5), ...warnings]
}

const WRITES = { mode: 'read-write', signingKey: KEYS.signingKey } as const

async function published(
  repository: string,
  store: BlobStore,
  key: string,
  value = 'value',
  name = 'tool',
): Promise<void> {
  process.chdir(repository)
  expect(await build(new Machine(store), key, { ...WRITES, value, name })).toEqual([undefined])
}

describe('a store without a head', () => {
  it('a build finds what the newest of the last 16 commits has published, and closing publishes its commit', async () => {
    const store = withoutHead(newStore())
    const repository = enterRepository(1)
    await published(repository, store, 'a', 'first')
    for (let index = 0; index < 15; index++) commit(repository)
    expect(await build(new Machine(store), 'a')).toEqual(['first'])
    const machine = new Machine(store)
    expect(await build(machine, 'b', { ...WRITES, value: 'other' })).toEqual([undefined])
    for (let index = 0; index < 15; index++) commit(repository)
    expect(await build(new Machine(store), 'a')).toEqual(['first'])
    expect(await build(new Machine(store), 'b')).toEqual(['other'])
    commit(repository)
    expect(await build(new Machine(store), 'a')).toEqual([undefined])
  })

  it('two caches that are built at one commit are both found', async () => {
    const store = withoutHead(newStore())
    const repository = enterRepository(1)
    await published(repository, store, 'a', 'first', 'webpack')
    await published(repository, store, 'b', 'other', 'vite')
    commit(repository)
    expect(await build(new Machine(store), 'a', { name: 'webpack' })).toEqual(['first'])
    expect(await build(new Machine(store), 'b', { name: 'vite' })).toEqual(['other'])
  })

  it('8 publishers at one commit each keep what they publish if they do not write at the same instant', async () => {
    const store = withoutHead(newStore())
    const repository = enterRepository(1)
    for (let index = 0; index < 8; index++)
      await published(repository, store, `key-${index}`, 'value', `cache-${index}`)
    for (let index = 0; index < 8; index++)
      expect(await build(new Machine(store), `key-${index}`, { name: `cache-${index}` })).toEqual(['value'])
    const manifests = (await namesOf(store)).filter((name) => name.includes('/manifest/'))
    expect(manifests).toEqual([expect.stringContaining(git(repository, 'rev-parse', 'HEAD'))])
  })

  it('a publisher whose manifest is overwritten by another one publishes again', async () => {
    const base = newStore()
    const repository = enterRepository(1)
    let overwrites = 1
    const store: BlobStore = {
      ...withoutHead(base),
      put: async (name, bytes, options) => {
        const outcome = await base.put(name, bytes)
        if (name.includes('/manifest/') && overwrites-- > 0) {
          await base.delete?.([name])
          await published(repository, withoutHead(base), 'theirs', 'value', 'vite')
        }
        return options?.ifAbsent === true ? outcome : 'stored'
      },
    }
    await published(repository, store, 'own', 'value', 'webpack')
    expect(await build(new Machine(store), 'own', { name: 'webpack' })).toEqual(['value'])
    expect(await build(new Machine(store), 'theirs', { name: 'vite' })).toEqual(['value'])
  })

  it('a shallow clone of a pull request finds the base that GitHub Actions names', async () => {
    const store = withoutHead(newStore())
    const repository = enterRepository(1)
    await published(repository, store, 'a')
    const base = git(repository, 'rev-parse', 'HEAD')
    const merge = commit(repository)
    const clone = makeFolder()
    git(clone, 'clone', '--depth=1', pathToFileURL(repository).href, 'project')
    process.chdir(join(clone, 'project'))
    expect(git('.', 'rev-list', 'HEAD')).toBe(merge)
    expect(await build(new Machine(store), 'a')).toEqual([undefined])
    const event = join(clone, 'event.json')
    writeFileSync(event, JSON.stringify({ before: '0'.repeat(40), pull_request: { base: { sha: base } } }))
    vi.stubEnv('GITHUB_EVENT_PATH', event)
    expect(await build(new Machine(store), 'a')).toEqual(['value'])
    const tooLong = JSON.stringify({ before: base, filler: ' '.repeat(26 << 20) })
    for (const wrong of ['', '{', '[]', '{"pull_request":1}', tooLong]) {
      writeFileSync(event, wrong)
      expect(await build(new Machine(store), 'a')).toEqual([undefined])
    }
  })

  it('without a repository, the commit that CI names is used, and without one a build reads and publishes nothing', async () => {
    const store = withoutHead(newStore())
    const repository = enterRepository(1)
    await published(repository, store, 'a')
    const built = git(repository, 'rev-parse', 'HEAD')
    process.chdir(makeFolder())
    expect(await build(new Machine(store), 'a')).toEqual([undefined])
    expect(await build(new Machine(store), 'a', { ...WRITES, value: 'value' })).toEqual([
      undefined,
      expect.stringContaining('(--commit)'),
    ])
    for (const name of ['GITHUB_SHA', 'CI_COMMIT_SHA', 'GIT_COMMIT']) {
      vi.stubEnv(name, built)
      expect(await build(new Machine(store), 'a')).toEqual(['value'])
      vi.stubEnv(name, '../../etc')
      expect(await build(new Machine(store), 'a')).toEqual([undefined])
    }
  })

  it('the own scope comes first, then the scope below it', async () => {
    const store = withoutHead(newStore())
    const repository = enterRepository(1)
    await published(repository, store, 'a', 'main.')
    const own = generateKeys()
    const scopes = { scope: 'untrusted/pr/7', base: ['trusted/main'], untrustedKeys: [own.publicKey] }
    commit(repository)
    expect(await build(new Machine(store), 'a', { ...scopes })).toEqual(['main.'])
    expect(
      await build(new Machine(store), 'a', {
        ...scopes,
        mode: 'read-write',
        signingKey: own.signingKey,
        value: 'pull.',
      }),
    ).toEqual(['main.'])
    expect(await build(new Machine(store), 'a', { ...scopes })).toEqual(['pull.'])
    expect(await build(new Machine(store), 'a')).toEqual(['main.'])
  })

  it('after the store has removed a chunk, a reader has a miss and a warning, and the next publication has everything again', async () => {
    const store = newStore()
    const repository = enterRepository(1)
    const [first, machine] = [new Machine(withoutHead(store)), new Machine(withoutHead(store))]
    expect(await build(first, 'a', { ...WRITES, value: 'first' })).toEqual([undefined])
    await store.delete?.((await namesOf(store)).filter((name) => name.includes('/chunk/')))
    commit(repository)
    expect(await build(machine, 'a')).toEqual([undefined, expect.stringContaining('is missing')])
    const removed = [undefined, expect.stringContaining('is missing')]
    expect(await build(machine, 'a', { ...WRITES, value: 'again' })).toEqual(removed)
    expect(await build(new Machine(withoutHead(store)), 'a')).toEqual(['again'])
  })

  it('offline and after a failure, a build uses the layers of the commit that this machine has fetched', async () => {
    const store = newStore()
    await published(enterRepository(1), withoutHead(store), 'a')
    let isDown = false
    const machine = new Machine(
      withoutHead(
        watched(store, () => {
          if (isDown) throw new Error('the store is down')
        }),
      ),
    )
    expect(await build(machine, 'a')).toEqual(['value'])
    isDown = true
    expect(await build(machine, 'a')).toEqual(['value', expect.stringContaining('the store is down')])
    vi.stubEnv('VARVE_OFFLINE', '1')
    expect(await build(machine, 'a')).toEqual(['value'])
  })

  it('a manifest that was copied from another commit or scope is refused, also the one that this machine has stored', async () => {
    const store = newStore()
    const repository = enterRepository(1)
    await published(repository, withoutHead(store), 'a')
    const [name = ''] = (await namesOf(store)).filter((each) => each.includes('/manifest/'))
    const { bytes = new Uint8Array() } = (await store.get(name)) ?? {}
    const next = commit(repository)
    await store.put(name.replace(/[0-9a-f]{40}/, next), bytes)
    await store.put(name.replace('/main/', '/other/'), bytes)
    const refused = [undefined, expect.stringContaining('it was signed for')]
    expect(await build(new Machine(withoutHead(store)), 'a')).toEqual(refused)
    expect(await build(new Machine(withoutHead(store)), 'a', { scope: 'trusted/other' })).toEqual(refused)
  })
})
