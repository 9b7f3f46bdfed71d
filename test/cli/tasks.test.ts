/** `varve why` and `varve ls --task`: reports about tasks, from the cache alone. */
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { type Ran, runVarve } from '../command.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'

/** A project with a cache in which two tasks have run; `varve` runs in its folder. */
async function project(): Promise<{ root: string; varve(args: readonly string[], env?: Record<string, string>): Ran }> {
  const root = realpathSync(makeFolder())
  writeFileSync(join(root, 'package.json'), '{}')
  mkdirSync(join(root, 'src'))
  for (const name of ['a.css', 'b.css']) writeFileSync(join(root, 'src', name), name)
  await new Promise((resolve) => setTimeout(resolve, 50)) // files that just changed may be changing
  const cache = await openCache({ name: 'tool', dir: join(root, 'node_modules/.cache/varve/tool') })
  const styles = cache.task('styles', { root })
  for (const config of ['old', 'new']) {
    const inputs = { source: 'same', config }
    await styles.run(
      { id: join(root, 'src/a.css'), inputs, files: ['src/a.css'], env: ['VARVE_TEST_MODE'] },
      (context) => {
        context.addFile('src/b.css')
        return config
      },
    )
    await new Promise((resolve) => setTimeout(resolve, 5)) // so that one was made later
  }
  await styles.run({ id: 'line\nbreak' }, () => 1)
  await cache.task('scripts', { root, version: '2', codec: 'text' }).run({ id: 'src/a.css' }, () => 'x')
  cache.namespace('raw').put('key', new Uint8Array(1))
  await cache.commit()
  await cache.close()
  return { root, varve: (args, env = {}) => runVarve(args, { cwd: root, env }) }
}

describe('varve ls --task', () => {
  it('varve ls --task lists tasks and ids, or the ids of one task', async () => {
    const { varve } = await project()
    expect(varve(['ls', '--task']).out.trimEnd().split('\n').sort()).toEqual([
      'scripts  src/a.css',
      String.raw`styles  line\x0abreak`,
      'styles  src/a.css',
    ])
    expect(varve(['ls', '--task', 'scripts']).out).toBe('src/a.css\n')
    expect(varve(['ls', '--task', 'styles', '--long']).out).toMatch(/2 variants .* src\/a\.css\n/)
    const listed = JSON.parse(varve(['ls', '--task', 'scripts', '--json']).out)
    expect(listed).toEqual({
      format: 1,
      ids: [{ task: 'scripts', id: 'src/a.css', variants: 1, newestMs: expect.any(Number) }],
    })
    expect(varve(['ls', '--task', 'style'])).toMatchObject({
      status: 2,
      err: expect.stringContaining("did you mean 'styles'"),
    })
  })
})

describe('varve why', () => {
  it('varve why reports for each variant what changed, and how the last two differ', async () => {
    const { root, varve } = await project()
    const { status, out } = varve(['why', 'src/a.css', '--task', 'styles', '--json'])
    const [before] = JSON.parse(out).records
    expect(status).toBe(0)
    expect(before).toMatchObject({
      task: 'styles',
      id: 'src/a.css',
      variants: [
        { holds: true, differences: [] },
        { holds: true, differences: [] },
      ],
    })
    expect(before.between).toEqual([{ kind: 'input', name: 'config', before: '="old"', after: '="new"' }])

    writeFileSync(join(root, 'src/b.css'), 'changed')
    const why = ['why', join(root, 'src/a.css'), '--task', 'styles', '--json']
    const [after] = JSON.parse(varve(why, { VARVE_TEST_MODE: 'x' }).out).records
    const names = after.variants.map(
      ({ holds, differences }: { holds: boolean; differences: { kind: string; name: string }[] }) => [
        holds,
        ...differences.map(({ kind, name }) => `${kind} ${name}`),
      ],
    )
    expect(names).toEqual([
      [false, 'env VARVE_TEST_MODE', 'file src/b.css'],
      [false, 'env VARVE_TEST_MODE', 'file src/b.css'],
    ])
    const text = varve(['why', 'src/a.css', '--task', 'styles']).out
    expect(text).toContain('task styles, id src/a.css: 2 variants')
    expect(text).toMatch(/a miss:[^]*file .*src\/b\.css[^]*differ in:[^]*input .*config/)
    expect(text).not.toContain('source')
  })

  it.each(ENGINES)(
    'varve why names the layer that has a result, and none if the cache itself has it (%s)',
    async (engine) => {
      const root = realpathSync(makeFolder())
      writeFileSync(join(root, 'package.json'), '{}')
      const run = async (id: string, folder: string, layers: readonly string[], target?: string): Promise<void> => {
        const cache = await openCache({ name: 'tool', dir: join(root, folder, 'tool'), engine, layers })
        await cache.task('styles', { root }).run({ id }, () => `result of ${id}`)
        await cache.commit()
        if (target !== undefined) await cache.seal(target)
        await cache.close()
      }
      const layer = join(root, 'layers/tool')
      await run('src/a.css', 'base', [], layer)
      await run('src/b.css', 'node_modules/.cache/varve', [layer])
      const why = (id: string, ...args: string[]): string =>
        runVarve(['why', id, ...args], { cwd: root, env: { VARVE_LAYERS: join(root, 'layers'), VARVE_ENGINE: engine } })
          .out
      expect(JSON.parse(why('src/a.css', '--json')).records).toMatchObject([{ variants: [{ holds: true, layer }] }])
      expect(JSON.parse(why('src/b.css', '--json')).records).toMatchObject([
        { variants: [{ holds: true, layer: null }] },
      ])
      expect([why('src/a.css'), why('src/b.css')]).toEqual([
        expect.stringContaining(`from the layer ${layer}`),
        expect.not.stringContaining('layer'),
      ])
    },
  )

  it.each(ENGINES)(
    'varve why, ls and stats answer from the layers on a machine that has only read over them (%s)',
    async (engine) => {
      const root = realpathSync(makeFolder())
      writeFileSync(join(root, 'package.json'), '{}')
      const cache = await openCache({ name: 'tool', dir: join(root, 'base/tool'), engine })
      await cache.task('styles', { root }).run({ id: 'src/a.css' }, () => 'result')
      await cache.commit()
      await cache.seal(join(root, 'layers/tool'))
      await cache.close()
      const varve = (...args: string[]): Ran =>
        runVarve([...args, '--json'], { cwd: root, env: { VARVE_LAYERS: join(root, 'layers'), VARVE_ENGINE: engine } })
      const dir = join(root, 'node_modules/.cache/varve/tool')
      for (const where of [[], ['--dir', dir]]) {
        const { records } = JSON.parse(varve('why', 'src/a.css', ...where).out)
        expect(records).toMatchObject([{ variants: [{ holds: true, layer: join(root, 'layers/tool') }] }])
      }
      expect(JSON.parse(varve('ls', '--task', 'styles').out)).toMatchObject({ ids: [{ id: 'src/a.css' }] })
      expect(JSON.parse(varve('stats', '--dir', dir).out).caches).toMatchObject([
        { dir, layers: [{ path: join(root, 'layers/tool') }] },
      ])
      expect(varve('why', 'src/a.css', '--dir', join(root, 'node_modules/.cache/varve/other'))).toMatchObject({
        status: 3,
      })
      expect(varve('clear', '--yes', '--namespace', 'task:styles')).toMatchObject({ status: 3 }) // a command that writes needs the cache itself
      expect(existsSync(dir)).toBe(false)
    },
  )

  /**
   * The root of Vite in a monorepo has no package.json, and Vite sets NODE_ENV itself. In the shell, hundreds of files were gone and NODE_ENV
   * was no longer set, though the next build hit.
   */
  it('varve why compares with the root and the variables of the build, wherever it runs', async () => {
    const root = realpathSync(makeFolder())
    const app = join(root, 'app')
    mkdirSync(join(app, 'src'), { recursive: true })
    writeFileSync(join(root, 'package.json'), '{}')
    for (const name of ['a.js', 'words.txt']) writeFileSync(join(app, 'src', name), name)
    await new Promise((resolve) => setTimeout(resolve, 50))
    process.env['TESTED_OF_BUILD'] = 'production'
    const cache = await openCache({ name: 'tool', dir: join(root, 'node_modules/.cache/varve/tool') })
    await cache
      .task('plugin', { root: app, trackReads: true })
      .run({ id: join(app, 'src/a.js'), files: ['src/a.js'] }, () => {
        // As code does that goes through all variables, and names one.
        return [
          readFileSync(join(app, 'src/words.txt'), 'utf8'),
          process.env['TESTED_OF_BUILD'],
          Object.keys(process.env).length,
        ]
      })
    await cache.close()
    delete process.env['TESTED_OF_BUILD']
    const why = (cwd: string, id: string, env = {}): string => runVarve(['why', id], { cwd, env }).out
    const places: readonly [string, string][] = [
      [app, 'src/a.js'],
      [join(app, 'src'), 'a.js'],
      [root, 'app/src/a.js'],
      [app, join(app, 'src/a.js')],
    ]
    for (const [cwd, id] of places) {
      expect(why(cwd, id), id).toContain(
        'a hit, if its inputs are the same (which variables are set, TESTED_OF_BUILD production)',
      )
    }
    expect(why(app, 'src/a.js', { TESTED_OF_BUILD: 'other' })).toContain('TESTED_OF_BUILD production -> other')
    writeFileSync(join(app, 'src/words.txt'), 'edited')
    for (const cwd of [app, root]) {
      const out = why(cwd, join(app, 'src/a.js'))
      expect(out).toContain('a miss: src/words.txt changed')
      expect(out).not.toMatch(/is gone|no longer set/)
    }
  })

  it('varve why reports a missing result', async () => {
    const { root, varve } = await project()
    const cache = await openCache({ name: 'tool', dir: join(root, 'node_modules/.cache/varve/tool') })
    const { namespaces } = await cache.stats()
    const results = cache.namespace('result:styles', {
      version: namespaces.find(({ name }) => name === 'result:styles')?.version.split(' ')[0],
      codec: 'json',
    })
    for (const [key, value] of results.entries()) if (value === 'new') results.delete(key)
    await cache.commit()
    await cache.close()
    const [{ variants }] = JSON.parse(varve(['why', 'src/a.css', '--task', 'styles', '--json']).out).records
    expect(variants).toMatchObject([
      { holds: false, isLost: true },
      { holds: true, isLost: false },
    ])
    expect(varve(['why', 'src/a.css', '--task', 'styles']).out).toContain('its result is gone')
  })

  it('varve why searches all tasks unless one is named, and accepts escaped ids', async () => {
    const { varve } = await project()
    const both = JSON.parse(varve(['why', 'src/a.css', '--json']).out).records
    expect(both.map(({ task }: { task: string }) => task).sort()).toEqual(['scripts', 'styles'])
    expect(varve(['why', String.raw`line\x0abreak`]).out).toContain(String.raw`id line\x0abreak: 1 variant`)
    expect(varve(['why', 'src/a.css', '--task', 'scripts']).out).toMatch(/a hit, if its inputs are the same/)
  })

  it('varve why of a missing id exits with 1 and lists the ids', async () => {
    const { varve } = await project()
    expect(varve(['why', 'a.css'])).toMatchObject({ status: 1, out: '', err: expect.stringContaining('src/a.css') })
    expect(varve(['why', 'nothing'])).toMatchObject({
      status: 1,
      out: '',
      err: expect.stringContaining('varve ls --task'),
    })
    const none = varve(['why', 'nothing', '--json'])
    expect([none.status, JSON.parse(none.out)]).toEqual([1, { format: 1, records: [] }])
  })
})
