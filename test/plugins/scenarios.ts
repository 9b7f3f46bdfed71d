/**
 * What every tool's plugin must do, with the real tool and each build in a separate process. The test of a tool consists of
 * its program (`build.mjs`) and these scenarios.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { expect, it, onTestFinished } from 'vitest'
import { makeFolder, snapshot } from '../folders.ts'
import { slow } from '../slow.ts'

/** What a test asks of a build; `order.mjs` has the defaults. */
export interface Order {
  /** False: the plugin without Varve. */
  readonly isCached?: boolean
  readonly entry?: string
  /** Folder. */
  readonly output?: string
  /** An option of the plugin. */
  readonly banner?: string
  /** Of the plugin. */
  readonly version?: string
  /** Whether the cache gets no key for the plugin's options. */
  readonly isKeyless?: boolean
  /** Whether the build watches: it changes the shared file once, and kills itself after the next build. */
  readonly watches?: boolean
  /** Whether the plugin asks its tool what cannot be replayed. */
  readonly asks?: boolean
  /** Of the cache. */
  readonly options?: object
  /** More for the tool. */
  readonly config?: object
}

export const MODULES = 40

/** What a build prints, and the modules that the plugin ran for, relative to the application. */
export interface Built {
  readonly hits: number
  readonly misses: number
  readonly uncacheable: Readonly<Record<string, number>>
  readonly failure: string | null
  readonly warnings: readonly string[]
  readonly digest: string
  readonly ran: readonly string[]
}

/** A build of the application in `folder`, with WebAssembly in the place of addons or not. */
export type Build = (folder: string, order?: Order, isWasm?: boolean) => Promise<Built>

/** An application of modules, a text, an entry for all and one for a few. */
export function makeApplication(): string {
  const folder = makeFolder()
  const names = Array.from({ length: MODULES }, (_, index) => `module-${index}.js`)
  names.forEach((name, index) => writeFileSync(join(folder, name), `export const value = ${index} * 2\n`))
  const imports = names.map((name, index) => `import { value as v${index} } from './${name}'`)
  const sum = names.map((_, index) => `v${index}`).join(' + ')
  writeFileSync(
    join(folder, 'main.js'),
    `${imports.join('\n')}\nimport text from './some.text'\nconsole.log(text, ${sum})\n`,
  )
  writeFileSync(join(folder, 'other.js'), "import { value } from './own.js'\nconsole.log('other', value)\n")
  writeFileSync(join(folder, 'own.js'), 'export const value = 1\n')
  writeFileSync(join(folder, 'extra.js'), "console.log('extra')\n")
  writeFileSync(join(folder, 'some.text'), 'some text\n')
  writeFileSync(join(folder, 'shared.txt'), 'shared\n')
  writeFileSync(
    join(folder, 'package.json'),
    '{"name": "application", "version": "1.0.0", "type": "module", "sideEffects": true}',
  )
  return folder
}

/**
 * Runs `program` in the application's folder. For WebAssembly Node refuses all addons, unless the tool itself `isAddon`:
 * then Varve alone does without.
 */
export function buildWith(program: string, isAddon: boolean): Build {
  return async (folder, order = {}, isWasm = false) => {
    const runs = join(folder, '.runs-cache')
    if (order.isCached !== false) rmSync(runs, { force: true })
    rmSync(join(folder, order.output ?? 'dist'), { recursive: true, force: true })
    const flags = isWasm && !isAddon ? ['--no-addons'] : []
    const env = { ...process.env, NODE_ENV: '', VITEST: '', VARVE_ENGINE: isWasm && isAddon ? 'wasm' : '' }
    const child = spawn(process.execPath, [...flags, program, JSON.stringify(order)], { cwd: folder, env })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()))
    await once(child, 'close')
    if (!out.startsWith('{')) throw new Error(`the build died: ${out}${err}`)
    const ran = existsSync(runs)
      ? readFileSync(runs, 'utf8')
          .trim()
          .split('\n')
          .map((path) => path.replace(/^.*[\\/]/, ''))
      : []
    return { ...JSON.parse(out), ran: ran.sort() }
  }
}

/** Share of calls that the cache answered. */
function hitRate({ hits, misses }: Built): number {
  return hits / (hits + misses)
}

/** The scenarios. `calls` is how often the plugin runs for a whole build of the application. */
export function scenarios(build: Build, calls: number): void {
  it('a second build takes everything from the cache, with the same files and warnings', async () => {
    const folder = makeApplication()
    const none = await build(folder, { isCached: false })
    const cold = await build(folder)
    const warm = await build(folder)
    expect(none).toMatchObject({ failure: null })
    expect(cold).toMatchObject({ failure: null, digest: none.digest, warnings: none.warnings, hits: 0, misses: calls })
    expect(warm).toMatchObject({
      failure: null,
      digest: none.digest,
      warnings: none.warnings,
      ran: [],
      uncacheable: {},
    })
    expect(hitRate(warm)).toBeGreaterThanOrEqual(0.95)
  })

  it('the plugin runs for a changed module and no other one', async () => {
    const folder = makeApplication()
    await build(folder)
    appendFileSync(join(folder, 'module-7.js'), 'export const more = 1\n')
    const changed = await build(folder)
    expect(changed.ran).toEqual(['module-7.js'])
    expect(changed.digest).toBe((await build(folder, { isCached: false })).digest)
  })

  it('the plugin runs for no other module after one is removed', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    appendFileSync(join(folder, 'module-7.js'), 'export const more = 1\n')
    await build(folder) // a run beside hits
    rmSync(join(folder, 'module-8.js'))
    const main = readFileSync(join(folder, 'main.js'), 'utf8')
    writeFileSync(join(folder, 'main.js'), main.replace(/^.*module-8\.js.*$/m, 'const v8 = 0'))
    expect((await build(folder)).ran.filter((name) => name !== 'main.js')).toEqual([])
  })

  it('the plugin runs again for modules that watch a changed file', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    writeFileSync(join(folder, 'shared.txt'), 'other\n')
    const changed = await build(folder)
    expect(changed.ran.length).toBe(calls - 1)
    expect(changed.ran).not.toContain('some.text')
    expect(changed.digest).toBe((await build(folder, { isCached: false })).digest)
  })

  changesOfWhatDecides(build, calls)
  placesAndProcesses(build, calls)
  troubles(build, calls)
}

function changesOfWhatDecides(build: Build, calls: number): void {
  it('a changed plugin option, plugin version, lock file, config file or variable is a full miss', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    const fullMiss = { failure: null, hits: 0, misses: calls }
    expect(await build(folder, { banner: 'loud' })).toMatchObject(fullMiss)
    expect(await build(folder, { version: '1.0.1' })).toMatchObject(fullMiss)
    expect(await build(folder, { options: { version: '2' } })).toMatchObject(fullMiss)
    expect(await build(folder)).toMatchObject({ ran: [] })
    writeFileSync(join(folder, 'package-lock.json'), '{"lockfileVersion": 3}')
    expect(await build(folder)).toMatchObject(fullMiss)
    writeFileSync(join(folder, '.babelrc'), '{}')
    expect(await build(folder)).toMatchObject(fullMiss)
    expect(await build(folder, { options: { env: ['HOME'] } })).toMatchObject(fullMiss)
    expect(await build(folder)).toMatchObject({ ran: [] })
  })

  it('an unknown plugin option is refused with a suggestion', async () => {
    const folder = makeApplication()
    expect((await build(folder, { options: { verion: '1' } })).failure).toContain("did you mean 'version'")
  })
}

/** For tools whose plugins hide their options. */
export function keyScenario(build: Build, calls: number): void {
  it('without a key nothing is cached, and the plugin reports that', slow, async () => {
    const folder = makeApplication()
    const { digest } = await build(folder, { isCached: false })
    for (let round = 0; round < 2; round++) {
      const built = await build(folder, { isKeyless: true })
      expect(built).toMatchObject({ failure: null, digest, hits: 0 })
      expect(built.ran.length).toBe(calls)
      expect(built.warnings.filter((text) => text.includes("option 'cacheKey'")).length).toBe(1)
    }
  })
}

/** For tools that watch. */
export function watchScenario(build: Build): void {
  it(
    'watch mode watches the files of replayed calls, and keeps each build even if the process is killed',
    slow,
    async () => {
      const folder = makeApplication()
      const shared = join(folder, 'shared.txt')
      for (const hasRun of [true, false]) {
        writeFileSync(shared, 'shared\n')
        await expect(build(folder, { watches: true })).rejects.toThrow('the build died')
        expect(readFileSync(shared, 'utf8')).toBe('changed\n')
        expect(existsSync(join(folder, '.runs-cache'))).toBe(hasRun)
      }
    },
  )
}

function placesAndProcesses(build: Build, calls: number): void {
  it('a moved project hits, with the output of a build in its new folder', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    // No text to replace with: '$$' is '$' there. The plugin's files are outside, and stay as far away.
    const moved = `${makeFolder()}some$$where`
    onTestFinished(() => rmSync(moved, { recursive: true }))
    cpSync(folder, moved, { recursive: true })
    const warm = await build(moved)
    expect(warm.ran).toEqual([])
    expect(warm.digest).toBe((await build(moved, { isCached: false })).digest)
  })

  it('concurrent builds of one project lose nothing', slow, async () => {
    const folder = makeApplication()
    const orders = [{}, { entry: 'other.js', output: 'dist-other' }]
    const built = await Promise.all(orders.map((order) => build(folder, order)))
    expect(built.map(({ failure }) => failure)).toEqual([null, null])
    for (const order of orders) expect((await build(folder, order)).ran).toEqual([])
  })

  it('builds run on WebAssembly without addons, and each engine reads entries of the other one', slow, async () => {
    const folder = makeApplication()
    const { digest } = await build(folder, { isCached: false })
    expect(await build(folder, {}, true)).toMatchObject({ failure: null, digest, misses: calls })
    expect(await build(folder, {}, true)).toMatchObject({ failure: null, digest, ran: [] })
    expect(await build(folder)).toMatchObject({ failure: null, digest, ran: [] })
  })

  it('a build with readOnly changes no byte of the cache', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    const before = snapshot(join(folder, 'cache'))
    appendFileSync(join(folder, 'module-7.js'), 'export const more = 1\n')
    expect((await build(folder, { options: { readOnly: true } })).ran).toEqual(['module-7.js'])
    expect(snapshot(join(folder, 'cache'))).toEqual(before)
  })
}

function troubles(build: Build, calls: number): void {
  it('an error is not cached, and the other results are', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    const path = join(folder, 'module-7.js')
    writeFileSync(path, 'export const value = "BROKEN"\n')
    for (let round = 0; round < 2; round++) expect((await build(folder)).failure).toContain('module 7 is broken')
    writeFileSync(path, 'export const value = "mended"\n')
    expect(await build(folder)).toMatchObject({ failure: null, ran: ['module-7.js'] })
  })

  it('a call that cannot be replayed always runs', slow, async () => {
    const folder = makeApplication()
    const { digest } = await build(folder, { isCached: false, asks: true })
    expect(await build(folder, { asks: true })).toMatchObject({ failure: null, digest, misses: calls - 1 })
    expect(await build(folder, { asks: true })).toMatchObject({
      failure: null,
      digest,
      misses: 0,
      ran: ['module-3.js'],
    })
  })

  it('an unusable cache directory costs one warning, not the build', slow, async () => {
    const folder = makeApplication()
    writeFileSync(join(folder, 'cache'), 'a file where the folder should be')
    const none = await build(folder, { isCached: false })
    const built = await build(folder)
    expect(built).toMatchObject({ failure: null, digest: none.digest })
    const more = built.warnings.filter((text) => !none.warnings.includes(text))
    expect(more).toEqual([expect.stringContaining('using an in-memory cache')])
  })

  it('a damaged cache costs time and never fails the build', slow, async () => {
    const folder = makeApplication()
    const { digest } = await build(folder)
    const home = join(folder, 'cache', 'v1')
    const good = readdirSync(home).map((name) => [join(home, name), readFileSync(join(home, name))] as const)
    for (let round = 0; round < 3; round++) {
      rmSync(home, { recursive: true })
      mkdirSync(home)
      for (const [file, bytes] of good) writeFileSync(file, flipped(bytes, (round + 0.5) / 3))
      expect(await build(folder), `round ${round}`).toMatchObject({ failure: null, digest })
      expect(await build(folder), `round ${round}, again`).toMatchObject({ failure: null, digest, ran: [] })
    }
  })

  // esbuild showed damage that was reported while it started, and none that was found later.
  it('damage that is found during a build is reported once', slow, async () => {
    const folder = makeApplication()
    const { warnings } = await build(folder)
    const cache = await openCache({ name: 'folded', dir: join(folder, 'cache') })
    await cache.compact({ full: true })
    await cache.close()
    const home = join(folder, 'cache', 'v1')
    const tables = readdirSync(home).filter((name) => name.endsWith('.table'))
    for (const file of tables.map((name) => join(home, name))) writeFileSync(file, flipped(readFileSync(file), 0.1))
    const more = (await build(folder)).warnings.filter((text) => !warnings.includes(text))
    expect(more).toEqual([expect.stringContaining('the cache is damaged')])
    expect((await build(folder)).warnings).toEqual(warnings)
  })
}

/** A copy with one bit flipped. */
function flipped(bytes: Buffer, place: number): Buffer {
  const copy = Buffer.from(bytes)
  const at = Math.floor(copy.length * place)
  copy[at] = (copy[at] ?? 0) ^ 0x10
  return copy
}
