/** `varve stats` without `--dir`: which caches there are. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { type Ran, runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'

describe('varve stats without --dir', () => {
  it('lists the caches of the project and of VARVE_DIR with sizes, tools and a total', async () => {
    const folder = makeFolder()
    const elsewhere = makeFolder()
    writeFileSync(join(folder, 'package.json'), '{}')
    const one = join(folder, 'node_modules/.cache/varve/one')
    const two = join(elsewhere, 'two')
    for (const [name, dir] of [
      ['one', one],
      ['two', two],
    ] as const) {
      const cache = await openCache({ name, dir, history: name === 'one' ? 'auto' : 'never' })
      cache.namespace('pages', { codec: 'text' }).put('key', 'value')
      await cache.close()
    }
    const secret = 'a secret of at least thirty-two bytes'
    const locked = await openCache({ name: 'locked', dir: join(elsewhere, 'locked'), secret })
    locked.namespace('pages', { codec: 'text' }).put('key', 'value')
    await locked.close()
    const options = { cwd: folder, env: { VARVE_DIR: elsewhere, VARVE_SECRET: '' } }
    const run = (...args: string[]): Ran => runVarve(['stats', ...args], options)
    const { caches, entries, bytes } = JSON.parse(run('--json').out)
    expect(caches).toMatchObject(
      [
        { dir: join(elsewhere, 'locked'), entries: 0, problem: expect.stringContaining('VARVE_SECRET') },
        { dir: two, tools: [], namespaces: ['pages'], entries: 1, problem: null },
        { dir: one, tools: ['one'], entries: 1, problem: null },
      ].sort((left, right) => (left.dir < right.dir ? -1 : 1)),
    )
    expect([entries, bytes]).toEqual([2, caches[0].bytes + caches[1].bytes + caches[2].bytes])
    expect(Date.now() - caches.find(({ dir }: { dir: string }) => dir === one).usedMs).toBeLessThan(600_000)
    const { status, out } = run()
    expect([status, out]).toEqual([0, expect.stringMatching(/^node_modules.*one +one +1 /m)])
    expect(out).toMatch(/^3 caches, 2 entries, /m)
  })

  it('reports a project without caches', () => {
    const folder = makeFolder()
    const { status, out } = runVarve(['stats'], { cwd: folder, env: { VARVE_DIR: folder } })
    expect([status, out]).toEqual([0, `no caches in '${folder}'\n`])
  })
})
