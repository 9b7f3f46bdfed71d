/**
 * Hosts that limit what a program may use, Node.js with `--permission` and Deno, refuse files with errors of their own. They
 * made openCache and commit fail with IO or INTERNAL; what the host refuses is a degraded state with one warning.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'
import { codeOf, made, opened } from './folders.ts'

const PROGRAM = fileURLToPath(new URL('sandboxed.mjs', import.meta.url))
const RESTORED = fileURLToPath(new URL('restored.mjs', import.meta.url))
const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const FLAG = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission'

/** Runs the program with these permissions; what it printed. */
function run(
  permissions: readonly string[],
  args: readonly string[],
  cwd: string = makeFolder(),
  program = PROGRAM,
): Record<string, unknown> {
  const env = { ...process.env, VARVE_DIR: '', CACHE_DIR: '', VARVE_ENGINE: '', NODE_OPTIONS: '' }
  const all = ['--no-warnings', FLAG, ...permissions, program, ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, all, { cwd, env, encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

const READ_ALL = '--allow-fs-read=*'
const writeTo = (dir: string): string => `--allow-fs-write=${dir}/*`
const DURABLE = ['PERMISSION', 'PERMISSION']

describe('Node.js with --permission', () => {
  it('a folder that may not be written fails with IO', async () => {
    for (const dir of [join(makeFolder(), 'cache'), await made('native')]) {
      const found = run([READ_ALL], [dir])
      expect(found).toMatchObject({
        used: 'wasm',
        mode: 'unwritable',
        inMemory: true,
        warnings: ['PERMISSION'],
        why: expect.stringContaining('without the permission to write'),
        fix: expect.stringContaining(`--allow-fs-write=`),
      })
      expect([(found['values'] as unknown[]).slice(1), (found['codes'] as unknown[]).slice(0, 2)]).toEqual([
        ['value', 'made'],
        DURABLE,
      ])
    }
  })

  it('relaxed commits work where only fsync is refused', () => {
    const dir = join(makeFolder(), 'cache')
    for (const before of [null, 'value']) {
      const found = run([READ_ALL, writeTo(dir)], [dir])
      expect(found).toMatchObject({
        used: 'wasm',
        mode: 'unsynced',
        why: expect.stringContaining('fsync'),
        warnings: ['PERMISSION'],
      })
      expect(found).not.toHaveProperty('inMemory')
      expect(found['codes']).toEqual([...DURABLE, 'resolved'])
      const [, ...values] = found['values'] as unknown[]
      expect([before, ...values]).toEqual([before, 'value', 'made'])
    }
  })

  it('what was committed without fsync is there for others, and sound', async () => {
    const dir = join(makeFolder(), 'cache')
    run([READ_ALL, writeTo(dir)], [dir])
    const { cache, space, warnings } = await opened(dir, 'native')
    // What no durable commit took, close() committed.
    expect([space.get('key'), space.get('durable'), (await cache.verify()).sound, warnings]).toEqual([
      'value',
      'value',
      true,
      [],
    ])
    await cache.close()
  })

  it('a folder that may not be read is kept in memory', async () => {
    const folder = makeFolder()
    const dir = await made('native', join(folder, 'cache'))
    const before = readdirSync(dir, { recursive: true })
    const found = run([`--allow-fs-read=${REPOSITORY}/*`], [dir])
    const expected = { mode: 'memory', inMemory: true, values: [null, 'value', 'made'], warnings: ['PERMISSION'] }
    expect(found).toMatchObject({ ...expected, fix: expect.stringContaining('--allow-fs-read=') })
    // Without a folder that is named, and without the right to look for the project.
    expect(run([`--allow-fs-read=${REPOSITORY}/*`], [''], folder)).toMatchObject({
      mode: 'memory',
      inMemory: true,
      warnings: ['PERMISSION'],
    })
    expect(readdirSync(dir, { recursive: true })).toEqual(before)
  })

  it('without the right to write, the program does not write through the addon either; with it, commits are synced', async () => {
    const dir = await made('native')
    const before = readdirSync(dir, { recursive: true })
    expect(run([READ_ALL, '--allow-addons'], [dir])).toMatchObject({
      used: 'wasm',
      mode: 'unwritable',
      values: ['safe', 'value', 'made'],
    })
    expect(readdirSync(dir, { recursive: true })).toEqual(before)
    const found = run([READ_ALL, writeTo(dir), '--allow-addons'], [dir])
    expect(found).toMatchObject({ used: 'native', codes: ['resolved', 'resolved', 'resolved'], warnings: [] })
    expect(found).not.toHaveProperty('mode')
  })

  it('files are stored and restored in a process that may use only its project, so not /proc', () => {
    const folder = makeFolder()
    const permissions = [`--allow-fs-read=${REPOSITORY}/*`, `--allow-fs-read=${folder}/*`, writeTo(folder)]
    expect(run(permissions, [folder], folder, RESTORED)).toEqual({ content: 'content' })
  })

  it('a project whose parents are hidden has its cache', () => {
    const folder = makeFolder()
    const project = join(folder, 'project')
    mkdirSync(join(project, 'below'), { recursive: true })
    writeFileSync(join(project, 'package.json'), '{}')
    const found = run(
      [`--allow-fs-read=${REPOSITORY}/*`, `--allow-fs-read=${project}/*`, writeTo(project)],
      [''],
      join(project, 'below'),
    )
    expect(found).toMatchObject({ mode: 'unsynced', values: [null, 'value', 'made'] })
    expect(readdirSync(join(project, 'node_modules/.cache/varve/degrade/v1')).length).toBeGreaterThan(0)
  })
})

describe('Deno', () => {
  afterEach(() => vi.restoreAllMocks().unstubAllGlobals())

  class NotCapable extends Error {
    override readonly name = 'NotCapable'
  }
  /** Answers as Deno does without a terminal. */
  const deny = (...denied: readonly string[]): void => {
    vi.stubGlobal('Deno', {
      permissions: {
        querySync: ({ name }: { name: string }) => ({ state: denied.includes(name) ? 'prompt' : 'granted' }),
      },
    })
  }

  const LIMITS = [
    ['write', 'unwritable'],
    ['read', 'memory'],
  ]
  it.each(LIMITS)(
    'a Deno process without the right to %s has a degraded cache and one warning',
    async (right, mode) => {
      const dir = await made('wasm')
      deny(right)
      const { cache, space, warnings } = await opened(dir, 'wasm')
      expect(cache.status().degraded).toMatchObject({
        mode,
        code: 'PERMISSION',
        fix: expect.stringContaining(`--allow-${right}=`),
      })
      space.put('key', 'value')
      expect([await cache.commit(), await codeOf(cache.commit({ durability: 'durable' }))]).toMatchObject([
        { inMemory: true },
        expect.anything(),
      ])
      expect([space.get('key'), warnings.map(({ code }) => code)]).toEqual(['value', ['PERMISSION']])
      await cache.close()
    },
  )

  it('a Deno process without the right to know its user or its variables opens its cache', async () => {
    const dir = await made('wasm')
    const refuse = (): never => {
      throw new NotCapable('Requires sys access to "uid", run again with the --allow-sys flag')
    }
    vi.spyOn(process, 'geteuid').mockImplementation(refuse)
    const env = new Proxy({}, { get: refuse })
    vi.spyOn(process, 'env', 'get').mockReturnValue(env)
    const { cache, warnings } = await opened(dir, 'wasm')
    expect(cache.status().degraded).toMatchObject({
      mode: 'memory',
      fix: expect.stringMatching(/--allow-sys=uid.*shared: true/),
    })
    expect(warnings.map(({ code }) => code)).toEqual(['PERMISSION'])
    await cache.close()
    const shared = await opened(dir, 'wasm', { shared: true })
    expect([shared.space.get('before'), shared.cache.status().degraded]).toEqual(['safe', undefined])
    await shared.cache.close()
  })

  it('a file operation that is refused is a PERMISSION error', async () => {
    const dir = await made('wasm')
    const fs = await import('node:fs')
    const { cache, space } = await opened(dir, 'wasm')
    vi.spyOn(fs.default, 'openSync').mockImplementation(() => {
      throw new NotCapable('Requires write access')
    })
    space.put('key', 'value')
    expect(await codeOf(cache.commit())).toBe('PERMISSION')
    vi.restoreAllMocks()
    expect(await cache.commit()).toMatchObject({ entries: 1 })
    await cache.close()
    const again = await openCache({ name: 'degrade', dir, engine: 'wasm' })
    expect(again.namespace('n', { codec: 'text' }).get('key')).toBe('value')
    await again.close()
  })
})
