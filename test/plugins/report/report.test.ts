/** The line at the end of a build, by each tool and with each engine, and the record that the build leaves. */
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { varve } from '@varve/plugins/vite'
import { directory, generateKeys, openRemote, remoteStatus } from '@varve/remote'
import { type BuildRecord, openCache } from 'varve'
import { build as buildWithVite, createServer, type Plugin } from 'vite'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type EngineName, ENGINES } from '../../engines.ts'
import type { Compiler } from 'webpack'
import { makeHost } from '../webpack/compile.ts'
import { makeFolder } from '../../folders.ts'
import { lineOf } from '../../../packages/plugins/dist/build/report.js'
import { slow, slowOnWasm } from '../../slow.ts'
import { MODULES, TOOLS, writeApplication } from './tools.ts'

const ours = (lines: readonly string[]): string[] =>
  lines.filter((line) => line.includes('varve: ')).map((line) => line.replace(/^.*varve: /, ''))

async function historyOf(folder: string, name: string): Promise<readonly BuildRecord[]> {
  await using cache = await openCache({ name, dir: join(folder, 'cache'), readOnly: true })
  return cache.history()
}

afterEach(() => {
  vi.unstubAllEnvs()
})

it('a report says 1 min 60 s', () => {
  const saved = (savedMs: number): string =>
    lineOf({ hits: 1, misses: 0, savedMs }, true).replace(/^.*, (.*) saved$/, '$1')
  const durations = [999.4, 999.6, 59_940, 59_960, 119_400, 119_600].map(saved)
  expect(durations).toEqual(['999 ms', '1.0 s', '59.9 s', '1 min 0 s', '1 min 59 s', '2 min 0 s'])
})

it.each([
  ['rspack', 'VarveRspackPlugin'],
  ['webpack', 'VarveWebpackPlugin'],
  ['loader', '@varve/plugins/loader'],
])('a config that hides the log, as that of Rsbuild, hides the report that was asked for: %s', (tool, name) => {
  const folder = makeFolder()
  writeApplication(folder)
  const program = fileURLToPath(new URL('loaders.mjs', import.meta.url))
  const errors = (level: string): string =>
    spawnSync(process.execPath, [program, tool, '{"report":true}', level], { cwd: folder, encoding: 'utf8' }).stderr
  expect(errors('error')).toBe(`[${name}] varve: 0 of ${MODULES} modules from cache, ${MODULES} rebuilt (new)\n`)
  expect(errors('info')).toBe('')
})

it('a config that hides the log of Vite, as that of Astro, hides the report that was asked for', async () => {
  const folder = makeFolder()
  writeFileSync(join(folder, 'main.js'), 'console.log(1)')
  writeFileSync(join(folder, 'package.json'), '{}')
  const lines = await printedByVite(folder, { name: 'shout', transform: (code) => ({ code, map: null }) })
  expect(lines).toEqual([
    expect.stringMatching(/^\[plugin varve\] varve: 0 of \d modules from cache, \d rebuilt \(new\)\n$/),
  ])
})

/** What the plugin of Vite prints to stderr. */
async function printedBy(work: () => Promise<void>): Promise<readonly string[]> {
  const lines: string[] = []
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => lines.push(String(chunk)) > 0)
  try {
    await work()
  } finally {
    spy.mockRestore()
  }
  return lines
}

/** What a build of `main.js` with a cached plugin prints to stderr, by a config that hides the log. */
function printedByVite(folder: string, plugin: Plugin): Promise<readonly string[]> {
  return printedBy(async () => {
    await buildWithVite({
      root: folder,
      configFile: false,
      logLevel: 'error',
      build: { rolldownOptions: { input: join(folder, 'main.js') } },
      plugins: [plugin, varve({ plugins: [plugin.name], cacheKey: 1, dir: join(folder, 'cache'), report: true })],
    })
  })
}

it('a server that was asked for nothing reports a build without modules', async () => {
  const folder = makeFolder()
  writeFileSync(join(folder, 'package.json'), '{}')
  writeFileSync(join(folder, 'main.js'), 'console.log(1)')
  const lines = (requests: readonly string[]): Promise<readonly string[]> =>
    printedBy(async () => {
      const shout = { name: 'shout', transform: (code: string) => ({ code, map: null }) }
      const server = await createServer({
        root: folder,
        configFile: false,
        logLevel: 'silent',
        optimizeDeps: { noDiscovery: true },
        server: { middlewareMode: true, ws: false },
        plugins: [shout, varve({ plugins: ['shout'], cacheKey: 1, dir: join(folder, 'cache'), report: true })],
      })
      for (const request of requests) await server.transformRequest(request)
      await server.close()
    })
  expect(await lines([])).toEqual([])
  expect(await lines(['/main.js'])).toEqual([expect.stringMatching(/^varve: 0 of 1 modules from cache/)])
})

it('the report of a build whose plugin is refused says so, and counts nothing', async () => {
  const folder = makeFolder()
  writeFileSync(join(folder, 'package.json'), '{}')
  writeFileSync(join(folder, 'main.js'), 'console.log(1)')
  const collect: Plugin = {
    name: 'collect',
    transform: (code) => ({ code, map: null }),
    generateBundle() {},
  }
  const lines = await printedByVite(folder, collect)
  const refused = "refused: plugin 'collect': its hook 'generateBundle' may use what it keeps of each module"
  expect(ours(lines)).toEqual([`${refused}\n`])
  expect(await historyOf(folder, 'vite')).toMatchObject([{ hits: 0, misses: 0, reasons: { [refused]: 1 } }])
})

it('modules of a child compiler that are built for the first time are new, and not changed', async () => {
  const folder = makeFolder()
  for (const name of ['main.js', 'page.js']) writeFileSync(join(folder, name), 'console.log(1)')
  const child = {
    apply(compiler: Compiler) {
      compiler.hooks.make.tapAsync('child', (compilation, callback) => {
        const page = compilation.createChildCompiler('page', { filename: 'page.js' })
        new compiler.webpack.EntryPlugin(folder, './page.js', { name: 'page' }).apply(page)
        page.runAsChild((error) => callback(error))
      })
    },
  }
  const host = makeHost(folder, { plugins: [child] })
  await host.run()
  await host.close()
  expect(await historyOf(folder, 'webpack')).toMatchObject([{ misses: 2, reasons: { new: 2 } }])
})

describe.each(Object.keys(TOOLS))('the report of a build by %s', (tool) => {
  const speed = (engine: EngineName) => (tool === 'rollup' || tool === 'webpack' ? slowOnWasm(engine) : slow)

  const build = TOOLS[tool] ?? Promise.reject

  for (const engine of ENGINES) {
    it(
      `a build prints one line: from cache, the work of the hits, and why others were rebuilt (${engine})`,
      speed(engine),
      async () => {
        const folder = makeFolder()
        writeApplication(folder)
        const cold = ours(await build(folder, { engine, report: true }))
        expect(cold).toEqual([`0 of ${MODULES} modules from cache, ${MODULES} rebuilt (new)`])
        const [warm = '', ...others] = ours(await build(folder, { engine, report: true }))
        expect(warm).toMatch(new RegExp(`^${MODULES} of ${MODULES} modules from cache, [\\d.]+ m?s (?:saved|of work)$`))
        expect(others).toEqual([])
        // 5 ms of work for each module and plugin; esbuild and webpack run one for each module.
        const [, amount, unit] = /([\d.]+) (m?s) (?:saved|of work)/.exec(warm) ?? []
        expect(Number(amount) * (unit === 's' ? 1000 : 1)).toBeGreaterThanOrEqual(5 * MODULES)

        appendFileSync(join(folder, 'module-3.js'), '// changed\n')
        const [changed = ''] = ours(await build(folder, { engine, report: true }))
        expect(changed).toMatch(
          new RegExp(
            `^${MODULES - 1} of ${MODULES} modules from cache, [\\d.]+ m?s (?:saved|of work), 1 rebuilt \\(.*changed\\)$`,
          ),
        )

        writeFileSync(join(folder, 'settings.json'), '2 and more')
        expect(ours(await build(folder, { engine, report: true }))).toEqual([
          `0 of ${MODULES} modules from cache, ${MODULES} rebuilt (settings.json changed)`,
        ])
        const counts = async (): Promise<unknown> => {
          const all = (await historyOf(folder, tool)).map(({ name, hits, misses, engine: used }) => [
            name,
            hits,
            misses,
            used,
          ])
          // The warm build leaves a record only if it commits: when files that were too new for their times to count are no longer new.
          expect([[], [[tool, MODULES, 0, engine]]]).toContainEqual(all.splice(2, all.length - 3))
          return all
        }
        // esbuild does not wait until a plugin has closed its cache.
        await expect.poll(counts, { timeout: 20_000 }).toEqual([
          [tool, 0, MODULES, engine],
          [tool, MODULES - 1, 1, engine],
          [tool, 0, MODULES, engine],
        ])
      },
    )
  }

  it('a build prints nothing unless it is asked for, by the option or by VARVE_REPORT', speed('native'), async () => {
    const folder = makeFolder()
    writeApplication(folder)
    expect(ours(await build(folder, {}))).toEqual([])
    vi.stubEnv('VARVE_REPORT', '1')
    expect(ours(await build(folder, {}))).toHaveLength(1)
    expect(ours(await build(folder, { report: false }))).toEqual([])
  })

  for (const engine of ENGINES) {
    it(
      `with a remote, the line ends with what came from it, and what that took (${engine})`,
      speed(engine),
      async () => {
        const folder = makeFolder()
        writeApplication(folder)
        const { publicKey, signingKey } = generateKeys()
        const store = join(folder, 'store')
        const env = {
          VARVE_REMOTE: pathToFileURL(store).href,
          VARVE_TRUSTED_KEYS: publicKey,
          VARVE_LAYERS: '',
          VARVE_OFFLINE: '',
        }
        for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
        vi.stubEnv('VARVE_REMOTE_MODE', 'read-write')
        vi.stubEnv('VARVE_SIGNING_KEY', signingKey)
        const [cold] = ours(await build(folder, { engine, report: true }))
        expect(cold).toMatch(/rebuilt \(new\); remote: no layers, nothing new, [\d.]+ m?s waited$/)
        const remote = openRemote({ store: directory(store), dir: join(folder, 'other'), trustedKeys: [publicKey] })
        const layers = async (): Promise<unknown> => (await remoteStatus(remote)).scopes[0]?.layers
        await expect.poll(layers, { timeout: 20_000 }).toHaveLength(1) // esbuild does not wait until a plugin has closed its cache
        // Another process removes them: what this one reads outside of builds counts as their configuration.
        const remove = "for (const name of ['cache', '.remote']) require('node:fs').rmSync(name, { recursive: true })"
        execFileSync(process.execPath, ['-e', remove], { cwd: folder })
        vi.stubEnv('VARVE_REMOTE_MODE', 'read')
        const [fresh = ''] = ours(await build(folder, { engine, report: true }))
        const answered = 'results from 1 layer, \\d+ kB fetched in'
        expect(fresh).toMatch(
          new RegExp(`^${MODULES} of ${MODULES} modules from cache, .* (?:saved|of work); remote: ${answered}`),
        )
      },
    )
  }

  it('the job summary of GitHub Actions gets the line if the report is a summary', speed('native'), async () => {
    const folder = makeFolder()
    const summary = join(folder, 'summary.md')
    writeApplication(folder)
    vi.stubEnv('GITHUB_STEP_SUMMARY', summary)
    await build(folder, { report: true })
    expect(existsSync(summary)).toBe(false)
    const lines = ours(await build(folder, { report: 'summary' }))
    expect(lines).toHaveLength(1)
    expect(readFileSync(summary, 'utf8')).toBe(`- **varve, ${tool}**: \`${lines[0]}\`\n`)
  })
})
