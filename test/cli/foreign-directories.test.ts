/**
 * Directories of other programs. A server kept `logs/v1/7.log`; `varve gc --dir .` took `logs` for a cache and deleted the
 * file, because its name is one of the format. Files that Varve did not write stay, whatever command runs.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openCache, type VarveError } from 'varve'
import { describe, expect, it } from 'vitest'
import { runVarve } from '../command.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'

const BLOB = `files/ab/${'ab'.repeat(32)}`
const NAMES = ['7.log', '1-1.table', 'manifest-3', '3-5.taken', BLOB]
const COMMANDS = [['gc'], ['repair'], ['files', 'gc'], ['repair', '--check'], ['stats']]

function plant(folder: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), `precious ${name}\n`)
  }
}

describe.each(ENGINES)('files of other programs: %s', (engine) => {
  const env = { VARVE_ENGINE: engine }

  it('commands do not take a directory for a cache because of the names of its files', () => {
    const project = makeFolder()
    plant(join(project, 'logs/v1'), NAMES)
    const before = snapshot(project)
    for (const command of COMMANDS) {
      for (const dir of ['.', 'logs']) {
        expect(runVarve([...command, '--dir', dir], { cwd: project, env }), command.join(' ')).toMatchObject({
          status: 3,
          err: expect.stringContaining('no cache in'),
        })
      }
    }
    expect(JSON.parse(runVarve(['stats', '--json'], { cwd: project, env }).out).caches).toEqual([])
    expect(snapshot(project)).toEqual(before)
  })

  it('--dir finds caches directly in a directory and none below', async () => {
    const project = makeFolder()
    const cache = await openCache({ name: 'deep', dir: join(project, 'a/b/cache'), engine })
    cache.namespace('n', { codec: 'text' }).put('key', 'value')
    await cache.close()
    expect(runVarve(['gc', '--dir', 'a/b'], { cwd: project, env }).status).toBe(0)
    for (const dir of ['.', 'a']) expect(runVarve(['gc', '--dir', dir], { cwd: project, env }).status).toBe(3)
  })

  it('a cache over files of another program keeps entries in memory, warns once, and leaves the files', async () => {
    for (const name of NAMES) {
      const dir = join(makeFolder(), 'server')
      plant(join(dir, 'v1'), [name])
      const before = snapshot(dir)
      const warnings: VarveError[] = []
      const cache = await openCache({ name: 'x', dir, engine, onWarning: (warning) => void warnings.push(warning) })
      const namespace = cache.namespace('n', { codec: 'text' })
      namespace.put('key', 'value')
      expect(await cache.commit(), name).toMatchObject({ inMemory: true })
      expect(namespace.get('key')).toBe('value')
      namespace.put('other', 'value')
      await cache.commit()
      await cache.close()
      expect(warnings.filter(({ code }) => code === 'NOT_A_CACHE').map(({ message }) => message)).toEqual([
        expect.stringContaining(`Varve did not write '${name}'`),
      ])
      expect(snapshot(dir)).toEqual(before)
    }
  })

  it('files of another program in a cache stay and are reported by gc and repair', async () => {
    const dir = join(makeFolder(), 'cache')
    const commit = async (key: string): Promise<void> => {
      const cache = await openCache({ name: 'x', dir, engine })
      cache.namespace('n', { codec: 'text' }).put(key, 'value')
      await cache.close()
    }
    await commit('before')
    plant(join(dir, 'v1'), ['0-1.table', '900-7.table', '0.log.bad'])
    const planted = snapshot(dir)
    const outputs: string[] = []
    for (const command of [['gc'], ['gc', '--full'], ['repair'], ['files', 'gc']]) {
      await commit(command.join(' '))
      const { status, out } = runVarve([...command, '--dir', dir], { env })
      expect([status, command], out).toEqual([0, command])
      outputs.push(out)
    }
    expect(outputs[1]).toContain('Varve did not write them: 0-1.table, 900-7.table')
    for (const name of ['0-1.table', '900-7.table', '0.log.bad']) {
      const path = join(dir, 'v1', name)
      expect(snapshot(dir)[path], name).toBe(planted[path])
    }
    const cache = await openCache({ name: 'x', dir, engine })
    expect(cache.namespace('n', { codec: 'text' }).get('before')).toBe('value')
    await cache.close()
  })
})
