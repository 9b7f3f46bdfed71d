/** VarveWebpackPlugin with the real webpack, each build in a separate process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { describe, expect, it } from 'vitest'
import { makeFolder, snapshot } from '../../folders.ts'
import { slow } from '../../slow.ts'

const BUILD = fileURLToPath(new URL('build.mjs', import.meta.url))
const MODULES = 40

interface Built {
  readonly failure: string | null
  readonly digest: string
  readonly hits: number
  readonly misses: number
  readonly skipped: number
  /** Modules that the loader ran for. */
  readonly loaded: string[]
}

/** An application of `MODULES` modules with a loader that notes each run. */
function makeApplication(): string {
  const folder = makeFolder()
  const names = Array.from({ length: MODULES }, (_, index) => `module-${index}.js`)
  names.forEach((name, index) => writeFileSync(join(folder, name), `export const value = ${index} * 2\n`))
  const imports = names.map((name, index) => `import { value as v${index} } from './${name}'`)
  writeFileSync(
    join(folder, 'main.js'),
    `${imports.join('\n')}\nconsole.log(${names.map((_, index) => `v${index}`).join(' + ')})\n`,
  )
  writeFileSync(join(folder, 'other.js'), "import { value } from './module-1.js'\nconsole.log('other', value)\n")
  writeFileSync(join(folder, 'package.json'), '{"name": "application", "version": "1.0.0"}')
  const note =
    "require('node:fs').appendFileSync(require('node:path').join(__dirname, '.runs-cache'), this.resourcePath + '\\n')"
  writeFileSync(join(folder, 'loader.cjs'), `module.exports = function (source) { ${note}; return source }\n`)
  return folder
}

async function build(folder: string, order: object = {}): Promise<Built> {
  const runs = join(folder, '.runs-cache')
  rmSync(runs, { force: true })
  const child = spawn(process.execPath, [BUILD, JSON.stringify({ folder, cache: 'varve', ...order })])
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()))
  await once(child, 'close')
  if (out === '') throw new Error(`the build died: ${err}`)
  const loaded = existsSync(runs) ? readFileSync(runs, 'utf8').trim().split('\n') : []
  return { ...JSON.parse(out), loaded }
}

describe('VarveWebpackPlugin', () => {
  it('a second webpack build takes everything from the cache, with the same bundle', async () => {
    const folder = makeApplication()
    const none = await build(folder, { cache: 'none' })
    const own = await build(folder, { cache: 'webpack' })
    const cold = await build(folder)
    const warm = await build(folder)
    expect([cold.failure, cold.loaded.length]).toEqual([null, MODULES + 1])
    expect([warm.failure, warm.loaded]).toEqual([null, []])
    expect(warm.hits / (warm.hits + warm.misses)).toBeGreaterThanOrEqual(0.95)
    expect([own.digest, cold.digest, warm.digest]).toEqual([none.digest, none.digest, none.digest])
  })

  it('webpack builds one changed module and no other', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    appendFileSync(join(folder, 'module-7.js'), 'export const more = 1\n')
    const changed = await build(folder)
    expect(changed.loaded).toEqual([join(folder, 'module-7.js')])
    expect(changed.digest).toBe((await build(folder, { cache: 'none' })).digest)
  })

  it('lazy parts are restored on demand, and stored again with the changes around them', slow, async () => {
    const folder = makeApplication()
    const configs = [
      { mode: 'development', devtool: false },
      { mode: 'development', devtool: 'source-map' },
    ]
    for (let round = 0; round < 6; round++) {
      // Three builds without maps, then three in another cache with maps of all sources.
      const config = configs[Math.floor(round / 3)]
      writeFileSync(join(folder, `module-${round}.js`), `export const value = ${round} * 5\n`)
      const built = await build(folder, { config, options: { name: String(config?.devtool) } })
      expect(built).toMatchObject({
        failure: null,
        skipped: [],
        digest: (await build(folder, { config, cache: 'none' })).digest,
      })
    }
  })

  it('a changed loader or version option is a full miss of the webpack cache', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    appendFileSync(join(folder, 'loader.cjs'), '// changed\n')
    expect((await build(folder)).loaded.length).toBe(MODULES + 1)
    expect((await build(folder)).loaded).toEqual([])
    expect((await build(folder, { options: { version: '2' } })).loaded.length).toBe(MODULES + 1)
  })

  it('each engine reads webpack builds of the other one', slow, async () => {
    for (const [writer, reader] of [
      ['native', 'wasm'],
      ['wasm', 'native'],
    ]) {
      const folder = makeApplication()
      await build(folder, { options: { engine: writer } })
      expect((await build(folder, { options: { engine: reader } })).loaded).toEqual([])
    }
  })

  it('two webpack builds at the same time lose nothing', slow, async () => {
    const folder = makeApplication()
    const orders = [{}, { entry: './other.js', output: 'dist-other', options: { name: 'other' } }]
    await Promise.all(orders.map((order) => build(folder, order)))
    for (const order of orders) expect((await build(folder, order)).loaded).toEqual([])
  })

  it('a damaged webpack cache costs time and never fails the build', slow, async () => {
    const folder = makeApplication()
    const { digest } = await build(folder)
    const files = readdirSync(join(folder, 'cache', 'v1')).map((name) => join(folder, 'cache', 'v1', name))
    const good = files.map((file) => readFileSync(file))
    for (let round = 0; round < 12; round++) {
      rmSync(join(folder, 'cache', 'v1'), { recursive: true })
      const { mkdirSync } = await import('node:fs')
      mkdirSync(join(folder, 'cache', 'v1'))
      files.forEach((file, index) => {
        const bytes = Buffer.from(good[index] ?? '')
        const at = Math.floor((bytes.length * (round + 0.5)) / 12)
        bytes[at] = (bytes[at] ?? 0) ^ 0x10
        writeFileSync(file, bytes)
      })
      expect(await build(folder), `round ${round}`).toMatchObject({ failure: null, digest })
      expect(await build(folder), `round ${round}, again`).toMatchObject({ failure: null, digest, loaded: [] })
    }
  })

  it('a webpack build with readOnly changes no byte of the cache', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    const before = snapshot(join(folder, 'cache'))
    appendFileSync(join(folder, 'module-7.js'), 'export const more = 1\n')
    expect((await build(folder, { options: { readOnly: true } })).loaded.length).toBe(1)
    expect(snapshot(join(folder, 'cache'))).toEqual(before)
  })

  it('twenty builds with one change each stay correct and small', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    for (let round = 0; round < 20; round++) {
      writeFileSync(join(folder, `module-${round}.js`), `export const value = ${round} * 3\n`)
      expect((await build(folder)).loaded.length).toBe(1)
    }
    const last = await build(folder)
    expect(last).toMatchObject({ loaded: [], digest: (await build(folder, { cache: 'none' })).digest })
    expect(readdirSync(join(folder, 'cache', 'v1')).length).toBeLessThanOrEqual(16)
  })

  it("an unknown option is an INVALID_OPTION with a suggestion, also for names of webpack's own cache", () => {
    const make = (options: object) => () => new VarveWebpackPlugin(options)
    const error = (text: string) =>
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(text) })
    expect(make({ verion: '1' })).toThrow(error("has no option 'verion'; did you mean 'version'?"))
    expect(make({ cacheDirectory: 'a' })).toThrow(error("did you mean 'dir'?"))
    expect(make({ compression: 'gzip' })).toThrow(error('values are always compressed'))
    expect(make({ idleTimeout: -1 })).toThrow(error("option 'idleTimeout' is -1; expected a number of milliseconds"))
  })
})
