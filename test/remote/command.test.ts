/** `varve remote`: a team publishes on one machine and reads on others, on each kind of store, and no output has a secret. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as remote from '@varve/remote'
import { openCache } from 'varve'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type * as command from '../../packages/varve/src/cli/remote.ts'
import { type Ran, runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'
import { SECRETS, type Started, STORES } from './servers.ts'

/** The compiler compares the package with what the command uses of it. */
const module: command.RemoteModule<remote.Remote> = remote
const KEYS = module.generateKeys()
const COMMIT = '89abcdef89abcdef89abcdef89abcdef89abcdef'
const LIMITS = { VARVE_DIR: '', CACHE_DIR: '', VARVE_LAYERS: '' }
const READER = { ...LIMITS, VARVE_TRUSTED_KEYS: KEYS.publicKey, VARVE_SIGNING_KEY: '' }
const WRITER = { ...READER, VARVE_SIGNING_KEY: KEYS.signingKey }

function makeProject(): string {
  const folder = makeFolder()
  writeFileSync(join(folder, 'package.json'), '{}')
  mkdirSync(join(folder, 'node_modules'))
  return folder
}

async function build(project: string, name: string, entries: Record<string, string>): Promise<void> {
  const cache = await openCache({ name, dir: join(project, 'node_modules/.cache/varve', name) })
  for (const [key, value] of Object.entries(entries)) cache.namespace('n', { codec: 'text' }).put(key, value)
  await cache.close()
}

describe.each(STORES)('a team shares caches through: $name', ({ name, start }) => {
  const speed = name === 'directory' ? {} : slow

  let started: Started | undefined
  beforeAll(async () => {
    started = await start?.()
  })
  afterAll(async () => started?.stop())

  it('CI pushes, a laptop pulls and hits, and verify reads every byte', speed, async ({ skip }) => {
    skip(started === undefined, `${name} is not installed`)
    const env = { ...started?.env, VARVE_REMOTE: started?.address ?? '' }
    const hasHead = started?.store.capabilities.compareAndSwap === true
    const printed: string[] = []
    const run = (project: string, keys: NodeJS.ProcessEnv, ...args: string[]): Ran => {
      const ran = runVarve(['remote', ...args], { cwd: project, env: { ...env, ...keys } })
      printed.push(ran.out, ran.err)
      return ran
    }
    const [ci, laptop] = [makeProject(), makeProject()]
    await build(ci, 'webpack', { a: '1', large: randomBytes(3_000_000).toString('hex') }) // more than one chunk of the smallest size
    await build(ci, 'vite', { b: '2' })
    const commit = ['--commit', COMMIT]
    expect(run(ci, READER, 'push', ...commit)).toMatchObject({
      status: 2,
      err: expect.stringContaining('VARVE_SIGNING_KEY'),
    })
    expect(run(ci, WRITER, 'push', ...commit)).toMatchObject({
      status: 0,
      err: '',
      out: expect.stringMatching(/webpack: 2 entries[^]*published/),
    })
    expect(run(ci, WRITER, 'push', ...commit)).toMatchObject({
      status: 0,
      out: expect.stringContaining('published before'),
    })
    expect(run(laptop, READER, 'status', ...commit)).toMatchObject({
      status: 0,
      out: expect.stringMatching(/read only[^]*2 layers \(0 here\)/),
    })
    const pulled = run(laptop, READER, 'pull', '--print', ...commit)
    expect([pulled.status, pulled.err]).toEqual([0, ''])
    const layers = { ...env, ...READER, VARVE_LAYERS: pulled.out.trim() }
    await build(laptop, 'webpack', { own: 'x' })
    const found = runVarve(['get', 'a', '--dir', join(laptop, 'node_modules/.cache/varve/webpack')], {
      cwd: laptop,
      env: layers,
    })
    expect(found.out).toBe('1')
    expect(run(laptop, READER, 'pull', ...commit).out).toMatch(/0 layers of 2 fetched/)
    expect(run(laptop, READER, 'verify', ...commit)).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^sound: 2 layers/),
    })
    expect(
      run(laptop, { ...READER, VARVE_TRUSTED_KEYS: remote.generateKeys().publicKey }, 'pull', '--json', ...commit).out,
    ).not.toContain('"path"')
    const { sha256 = '' } = JSON.parse(run(laptop, READER, 'status', '--json', ...commit).out).scopes[0].layers[0] ?? {}
    const cleaning = [
      ['compact', '--full'],
      ['gc', '--dry-run', '--grace', '0'],
      ['revoke', sha256.slice(0, 12)],
    ]
    const cleaned = cleaning.map((args) => run(ci, { ...WRITER, GITHUB_SHA: COMMIT }, ...args))
    const [merged = '', collected = '', revoked = ''] = cleaned.map(({ status, out }) => `${status} ${out}`)
    expect(merged).toBe('0 nothing to merge\n')
    expect(collected).toMatch(hasHead ? /^0 0 objects of \d+ would be removed/ : /^2 $/)
    expect(revoked).toMatch(hasHead ? /^0 [^]*1 layer revoked/ : /^2 $/)
    for (const secret of [KEYS.signingKey, ...Object.values(SECRETS)]) expect(printed.join('\n')).not.toContain(secret)
  })
})

describe('varve remote', () => {
  it('a machine that has pulled and never written answers from the layers: get, ls, stats, verify', async () => {
    const address = { VARVE_REMOTE: pathToFileURL(makeFolder()).href, VARVE_ENGINE: '' }
    const [ci, project, env] = [makeProject(), makeProject(), { ...READER, ...address }]
    await build(ci, 'tool', { a: '1' })
    expect(runVarve(['remote', 'push'], { cwd: ci, env: { ...WRITER, ...address } }).status).toBe(0)
    const varve = (...args: string[]): Ran => runVarve(args, { cwd: project, env })
    expect(varve('get', 'a').status).toBe(3)
    expect(varve('remote', 'pull').status).toBe(0)
    expect(varve('get', 'a').out).toBe('1')
    expect(varve('ls', '--json').out).toContain('"a"')
    expect(JSON.parse(varve('stats', '--dir', 'node_modules/.cache/varve', '--json').out).caches).toMatchObject([
      { layers: [{ entries: 1 }] },
    ])
    expect(varve('repair', '--check')).toMatchObject({ status: 0, out: expect.stringContaining('sound') })
  })

  it.each([
    ['no VARVE_REMOTE', { VARVE_REMOTE: '' }, 'VARVE_REMOTE'],
    ['no connections allowed', { VARVE_OFFLINE: '1' }, 'VARVE_OFFLINE'],
    ['no trusted keys', { VARVE_TRUSTED_KEYS: '' }, 'VARVE_TRUSTED_KEYS'],
    ['a key that is none', { VARVE_TRUSTED_KEYS: 'THE-SECRET' }, 'varve-public-1'],
    ['plain http to another machine', { VARVE_REMOTE: 'http://example.com/x' }, 'plain http'],
    ['credentials in the address', { VARVE_REMOTE: 'https://user:THE-SECRET@example.com/x' }, 'credentials'],
    ['a token in the address', { VARVE_REMOTE: 'bazel+https://example.com/x?token=THE-SECRET' }, 'unknown parameter'],
    [
      'a password in the address of Redis',
      { VARVE_REMOTE: 'rediss://:THE-SECRET@example.com' },
      'VARVE_REMOTE_PASSWORD',
    ],
    ['Redis without TLS on another machine', { VARVE_REMOTE: 'redis://example.com' }, 'no TLS'],
    [
      'the Turborepo API without a token',
      { VARVE_REMOTE: 'turbo+https://example.com', TURBO_TOKEN: '', VARVE_REMOTE_TOKEN: '' },
      'TURBO_TOKEN',
    ],
    ['credentials of S3 in the address', { VARVE_REMOTE: 's3://key:THE-SECRET@bucket/x' }, 'AWS_ACCESS_KEY_ID'],
    ['an address of another kind', { VARVE_REMOTE: 'ftp://THE-SECRET/x' }, 'invalid address in VARVE_REMOTE'],
    ['a scope without a domain', { VARVE_REMOTE_SCOPE: 'main' }, "expected 'trusted/<name>'"],
  ])('%s is a usage error that names the variable, without its value', (_, env, message) => {
    const valid = { ...READER, VARVE_REMOTE: pathToFileURL(makeFolder()).href }
    const { status, err, out } = runVarve(['remote', 'pull'], { cwd: makeProject(), env: { ...valid, ...env } })
    expect([status, err, out]).toEqual([2, expect.stringContaining(message), ''])
    expect(err).not.toContain('THE-SECRET')
  })

  it('a server that is down is exit code 4 with a typed error, and a pull that writes the value for VARVE_LAYERS prints nothing', () => {
    const env = { ...READER, VARVE_REMOTE: 'http://127.0.0.1:1/x' }
    expect(runVarve(['remote', 'pull', '--print'], { cwd: makeProject(), env })).toMatchObject({ status: 4, out: '' })
    const { status, out } = runVarve(['remote', 'status', '--json'], { cwd: makeProject(), env })
    expect([status, JSON.parse(out).error.code]).toEqual([4, 'REMOTE_UNAVAILABLE'])
  })

  it('a damaged remote is exit code 1 of verify', async () => {
    const [store, project] = [join(makeFolder(), 'store'), makeProject()]
    const env = { ...WRITER, VARVE_REMOTE: pathToFileURL(store).href }
    await build(project, 'tool', { a: '1' })
    expect(runVarve(['remote', 'push'], { cwd: project, env }).status).toBe(0)
    const names = []
    for await (const each of remote.directory(store).list?.('v1/trusted/chunk/') ?? []) names.push(each.name)
    await remote.directory(store).delete?.(names)
    expect(runVarve(['remote', 'verify'], { cwd: project, env })).toMatchObject({
      status: 1,
      out: expect.stringContaining('is missing'),
    })
  })

  it('without the package, the command names how to install it, and all other commands work', () => {
    const folder = makeFolder()
    const hide = join(folder, 'hide.cjs')
    writeFileSync(
      hide,
      `const Module = require('node:module'), resolve = Module._resolveFilename
Module._resolveFilename = (name, ...rest) => { if (name === '@varve/remote') throw new Error('hidden'); return resolve(name, ...rest) }`,
    )
    const env = { ...READER, NODE_OPTIONS: `--require ${hide}`, VARVE_REMOTE: 'file:///x' }
    const { status, err } = runVarve(['remote', 'pull'], { cwd: folder, env })
    expect([status, err]).toEqual([2, expect.stringContaining('npm install --save-dev @varve/remote')])
    expect(runVarve(['--version'], { cwd: folder, env }).status).toBe(0)
  })
})
