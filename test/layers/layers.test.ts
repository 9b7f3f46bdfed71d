/** `VARVE_LAYERS`, trust in layers, the commands, and a build over a layer. */
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runVarve } from '../command.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { slowOnWasm } from '../slow.ts'
import { buildWith, makeApplication } from '../plugins/scenarios.ts'
import { build as buildWebpack } from '../plugins/webpack/runner.ts'

afterEach(() => void vi.unstubAllEnvs())

async function valueIn(dir: string, options: object = {}): Promise<string | undefined> {
  const cache = await openCache({ name: 'tool', dir, ...options })
  const value = cache.namespace('n', { codec: 'text' }).get('key')
  await cache.close()
  return value
}

/** A folder `layers` with a layer for the tool. */
async function layers(value: string): Promise<string> {
  const [dir, out] = [join(makeFolder(), 'tool'), join(makeFolder(), 'layers')]
  const cache = await openCache({ name: 'tool', dir })
  cache.namespace('n', { codec: 'text' }).put('key', value)
  await cache.commit()
  await cache.close()
  const { status, err } = runVarve(['export', '--layer', out, '--dir', dir])
  expect([status, err]).toEqual([0, ''])
  return out
}

describe('VARVE_LAYERS', () => {
  it('names directories with a layer for each tool, the newest first; other tools and option `layers` are independent', async () => {
    const [first, second] = [await layers('first'), await layers('second')]
    vi.stubEnv('VARVE_LAYERS', [first, second].join(delimiter))
    const dir = join(makeFolder(), 'cache')
    expect(await valueIn(dir)).toBe('first')
    expect(await valueIn(dir, { name: 'other' })).toBeUndefined()
    expect(await valueIn(dir, { layers: [] })).toBeUndefined()
    expect(await valueIn(dir, { layers: [join(second, 'tool')] })).toBe('second')
    expect(existsSync(dir)).toBe(false)
  })

  it('a directory that does not exist is one warning, and one without a layer of the tool is none', async () => {
    const missing = join(makeFolder(), 'missing')
    vi.stubEnv('VARVE_LAYERS', [makeFolder(), missing].join(delimiter))
    const warnings: string[] = []
    expect(
      await valueIn(join(makeFolder(), 'cache'), { onWarning: ({ message }: Error) => void warnings.push(message) }),
    ).toBeUndefined()
    expect(warnings).toEqual([expect.stringContaining(`'${join(missing, 'tool')}'`)])
  })
})

it('a layer that other users can replace is not used, with one warning', async () => {
  const out = await layers('forged')
  chmodSync(join(out, 'tool'), 0o777)
  const warnings: string[] = []
  const options = { layers: [join(out, 'tool')], onWarning: ({ message }: Error) => void warnings.push(message) }
  expect(await valueIn(join(makeFolder(), 'cache'), options)).toBeUndefined()
  expect(warnings).toEqual([expect.stringContaining('is not used: others may write to')])
  expect(await valueIn(join(makeFolder(), 'cache'), { ...options, shared: false })).toBeUndefined()
})

it.each(ENGINES)('a layer that %s sealed is read by both engines, and below a cache in memory', async (engine) => {
  const layer = join(makeFolder(), 'layer')
  const cache = await openCache({ name: 'tool', dir: join(makeFolder(), 'cache'), engine })
  cache.namespace('n', { codec: 'text' }).put('key', 'value '.repeat(400_000))
  await cache.commit()
  await cache.seal(layer)
  await cache.close()
  const places = [
    ...ENGINES.map((reader) => ({ dir: join(makeFolder(), 'cache'), engine: reader })),
    { inMemory: true },
  ]
  for (const place of places)
    expect(await valueIn('', { dir: undefined, layers: [layer], ...place })).toBe('value '.repeat(400_000))
})

describe('commands', () => {
  it('varve export --layer --since writes a delta, and varve stats and doctor name the layers', async () => {
    const [out, delta, dir] = [await layers('base'), join(makeFolder(), 'delta'), join(makeFolder(), 'tool')]
    vi.stubEnv('VARVE_LAYERS', out)
    const cache = await openCache({ name: 'tool', dir })
    cache.namespace('n', { codec: 'text' }).put('more', 'own')
    await cache.commit()
    await cache.close()
    const { caches } = JSON.parse(runVarve(['export', '--layer', delta, '--since', out, '--dir', dir, '--json']).out)
    expect(caches).toMatchObject([{ dir, layer: join(delta, 'tool'), entries: 1, deletes: 0 }])
    const env = { VARVE_LAYERS: [delta, out].join(delimiter) }
    const found = JSON.parse(runVarve(['stats', '--dir', dir, '--json'], { env }).out)
    const paths = [join(delta, 'tool'), join(out, 'tool')]
    expect(found.caches[0].layers).toMatchObject(paths.map((path) => ({ path, problem: null })))
    for (const command of ['stats', 'doctor']) {
      const { out: text } = runVarve([command, '--dir', dir], { env })
      for (const path of paths) expect(text, command).toContain(path)
    }
    expect(runVarve(['repair', '--check', '--dir', dir], { env }).status).toBe(0)
    const again = runVarve(['export', '--layer', out, '--dir', dir])
    expect([again.status, again.err]).toEqual([2, expect.stringContaining("already has 'manifest-1'")])
    const wrong = runVarve([
      'export',
      '--layer',
      join(makeFolder(), 'new'),
      '--since',
      join(dir, 'missing'),
      '--dir',
      dir,
    ])
    expect([wrong.status, wrong.err]).toEqual([2, expect.stringContaining('is not a readable layer')])
  })
})

describe('a build over a layer', () => {
  const build = buildWith(fileURLToPath(new URL('../plugins/vite/build.mjs', import.meta.url)), true)
  const order = { options: { dir: 'caches/vite' } }

  for (const engine of ENGINES) {
    it(
      `hits everything and writes nothing; another checkout first records its file times (${engine})`,
      slowOnWasm(engine),
      async () => {
        const isWasm = engine === 'wasm'
        const [main, worktree, out] = [makeApplication(), makeApplication(), join(makeFolder(), 'layers')]
        const { digest } = await build(main, order, isWasm)
        expect(runVarve(['export', '--layer', out, '--dir', join(main, 'caches')]).status).toBe(0)
        const before = snapshot(out)
        vi.stubEnv('VARVE_LAYERS', out)
        rmSync(join(main, 'caches'), { recursive: true })
        const all = { failure: null, digest, misses: 0, ran: [] }
        expect(await build(main, order, isWasm)).toMatchObject(all)
        expect(existsSync(join(main, 'caches'))).toBe(false)
        expect(await build(worktree, order, isWasm)).toMatchObject(all)
        const recorded = snapshot(join(worktree, 'caches'))
        expect(await build(worktree, order, isWasm)).toMatchObject(all)
        expect([snapshot(join(worktree, 'caches')), snapshot(out)]).toEqual([recorded, before])
      },
    )
  }

  for (const engine of ENGINES) {
    it(
      `by webpack hits everything and writes nothing (${engine})`,
      { timeout: 120_000, ...slowOnWasm(engine) },
      async () => {
        const [folder, out] = [makeApplication(), join(makeFolder(), 'layers')]
        const rules = "module: { rules: [{ test: /text$/, type: 'asset/source' }] }"
        writeFileSync(join(folder, 'webpack.config.mjs'), `export default () => ({ entry: './main.js', ${rules} })\n`)
        vi.stubEnv('VARVE_ENGINE', engine)
        const dir = join(folder, 'varve-cache')
        const [cold] = await buildWebpack([{ folder, cache: 'varve' }])
        const cache = await openCache({ name: 'webpack', dir })
        await cache.seal(join(out, 'webpack'))
        await cache.close()
        const before = snapshot(out)
        vi.stubEnv('VARVE_LAYERS', out)
        rmSync(dir, { recursive: true })
        const [warm] = await buildWebpack([{ folder, cache: 'varve' }])
        expect(warm).toMatchObject({ errors: [], complaints: [], built: 0, taken: cold?.built, files: cold?.files })
        expect([existsSync(dir), snapshot(out)]).toEqual([false, before])
      },
    )
  }
})

describe('the cap', () => {
  it.each(ENGINES)(
    'counts the cache that is written, and not its layers: a small cache over a large layer evicts nothing (%s)',
    async (engine) => {
      const [base, out, dir] = [join(makeFolder(), 'base'), join(makeFolder(), 'layer'), join(makeFolder(), 'cache')]
      const open = (where: string, options: object = {}): ReturnType<typeof openCache> =>
        openCache({ name: 'tool', dir: where, engine, ...options })
      const large = await open(base)
      for (let index = 0; index < 100; index++) large.namespace('n').put(`base ${index}`, randomBytes(10_000))
      await large.commit()
      await large.seal(out)
      await large.close()
      const options = { layers: [out], maxBytes: 200_000 }
      const cache = await open(dir, options)
      for (let index = 0; index < 10; index++) cache.namespace('n').put(`own ${index}`, randomBytes(10_000))
      await cache.commit()
      await cache.compact({ full: true })
      await cache.close()
      const again = await open(dir, options)
      const keys = ['base', 'own'].flatMap((name) =>
        Array.from({ length: name === 'own' ? 10 : 100 }, (_, index) => `${name} ${index}`),
      )
      expect(keys.filter((key) => again.namespace('n').get(key)?.length !== 10_000)).toEqual([])
      for (let index = 10; index < 60; index++) again.namespace('n').put(`own ${index}`, randomBytes(10_000))
      await again.commit()
      await again.compact({ full: true })
      const { bytes } = await again.stats()
      await again.close()
      const last = await open(dir, options)
      const own = Array.from({ length: 60 }, (_, index) => last.namespace('n').get(`own ${index}`)).filter(
        (value) => value !== undefined,
      )
      expect([bytes <= 200_000, own.length > 0, own.length < 60, last.namespace('n').get('base 7')?.length]).toEqual([
        true,
        true,
        true,
        10_000,
      ])
      await last.close()
    },
  )
})
