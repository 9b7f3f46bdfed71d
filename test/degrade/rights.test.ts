/** Directories that an ordinary user must not read or write, in a separate process, and the report of `varve doctor`. */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { MAIN } from '../command.ts'
import { type EngineName, ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { attempt, IS_ROOT, made } from './folders.ts'

const DIST = fileURLToPath(new URL('../../packages/varve/dist/index.js', import.meta.url))
const BUILD = fileURLToPath(new URL('build.mjs', import.meta.url))
const USER = 12_345

/** Runs a program as an ordinary user. */
function run(cwd: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const asUser = IS_ROOT ? ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'] : []
  const [command = process.execPath, ...rest] = [...asUser, process.execPath, ...args]
  return spawnSync(command, rest, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, CACHE_DIR: '', VARVE_DIR: '', ...env },
  })
}

/** A folder that the user may reach and owns. */
function ownFolder(): string {
  const folder = makeFolder()
  if (IS_ROOT) chownSync(folder, USER, USER)
  return folder
}

/** A cache with one entry that is the user's. Root makes it elsewhere: in a folder of another user it would not. */
async function given(engine: EngineName, folder: string): Promise<string> {
  const dir = join(folder, 'cache')
  renameSync(await made(engine), dir)
  if (IS_ROOT) attempt('chown', ['-R', `${USER}:${USER}`, dir])
  return dir
}

const canRun = !IS_ROOT || run('/', [BUILD, '/dev/null/none', 'wasm']).status === 0

describe.skipIf(!canRun).each(ENGINES)('rights: %s', (engine) => {
  const build = (cwd: string, dir: string): unknown => {
    const { status, stdout, stderr } = run(cwd, [BUILD, dir, engine])
    expect([status, stderr]).toEqual([0, ''])
    return JSON.parse(stdout)
  }

  // A container of root that built first left directories that the user of the checkout could not enter.
  it.skipIf(!IS_ROOT)(
    'a cache that root made in the checkout of a user names the command that gives it back',
    async () => {
      const folder = ownFolder()
      const dir = join(folder, '.cache', "it's")
      mkdirSync(join(folder, '.cache'), { mode: 0o700 })
      renameSync(await made(engine), dir)
      const program = `import { openCache } from ${JSON.stringify(DIST)}
      const cache = await openCache({ name: 'x', dir: ${JSON.stringify(dir)}, engine: '${engine}', onWarning() {} })
      console.log(cache.status().degraded.fix)
      await cache.close()`
      const command = `sudo chown -R ${USER} '${join(folder, '.cache')}'`
      const degraded = (): string => run(folder, ['--input-type=module', '--eval', program]).stdout
      expect(degraded()).toContain(`run "${command}"`)
      chmodSync(join(folder, '.cache'), 0o755)
      chmodSync(dir, 0o755)
      expect(degraded()).toContain(`run "${command}"`)
      attempt('sh', ['-c', command.replace('sudo ', '')])
      expect(build(folder, dir)).toMatchObject({ values: ['safe', 'value'], warnings: [] })
    },
  )

  it('a cache directory without write permission is read', async () => {
    const folder = ownFolder()
    const dir = await given(engine, folder)
    chmodSync(join(dir, 'v1'), 0o500)
    const found = build(folder, dir)
    expect(found).toMatchObject({
      mode: 'unwritable',
      inMemory: true,
      values: ['safe', 'value'],
      warnings: ['PERMISSION'],
    })
    const { status, stdout } = run(folder, [MAIN, 'doctor', '--dir', dir, '--json'])
    const usable = JSON.parse(stdout).findings.find(({ what }: { what: string }) => what === 'usable')
    const said = { found: expect.stringContaining('may not be written'), advice: expect.stringContaining('VARVE_DIR') }
    expect([status, usable]).toMatchObject([1, said])
    chmodSync(join(dir, 'v1'), 0o700)
    expect(build(folder, dir)).toEqual({ values: ['safe', 'value'], warnings: [] })
  })

  it('a directory that cannot be read or created means an in-memory cache', async () => {
    const folder = ownFolder()
    const dir = await given(engine, folder)
    chmodSync(join(dir, 'v1'), 0o000)
    expect(build(folder, dir)).toMatchObject({
      mode: 'memory',
      inMemory: true,
      values: [null, 'value'],
      warnings: ['PERMISSION'],
    })
    chmodSync(join(dir, 'v1'), 0o700)
    chmodSync(folder, 0o500)
    expect(build('/', join(folder, 'new'))).toMatchObject({
      mode: 'unwritable',
      inMemory: true,
      values: [null, 'value'],
    })
    expect(readdirSync(folder)).toEqual(['cache'])
    chmodSync(folder, 0o700)
  })

  it('a parent that is open to others, such as /tmp, means an in-memory cache', () => {
    const shared = makeFolder()
    chmodSync(shared, 0o1777)
    mkdirSync(join(shared, 'below'))
    chmodSync(join(shared, 'below'), 0o1777)
    const found = build(join(shared, 'below'), '')
    expect(found).toMatchObject({
      mode: 'memory',
      inMemory: true,
      why: expect.stringContaining('all users may write'),
      warnings: ['PERMISSION'],
    })
    expect(readdirSync(join(shared, 'below'))).toEqual([])
  })
})
