/** Poisoned caches of the plugins for Rollup, Rolldown, Vite, esbuild and Babel. */
import { hash } from 'node:crypto'
import { dirname } from 'node:path'
import { cachedBabel } from '@varve/plugins/babel'
import { cached as cachedEsbuild } from '@varve/plugins/esbuild'
import { cached as cachedRolldown } from '@varve/plugins/rolldown'
import { cached as cachedRollup } from '@varve/plugins/rollup'
import { cached as cachedVite } from '@varve/plugins/vite'
import { build as esbuild, type Plugin as EsbuildPlugin } from 'esbuild'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown, type Plugin as RolldownPlugin } from 'rolldown'
import { rollup } from 'rollup'
import { build as vite, createLogger, type Plugin as VitePlugin } from 'vite'
import { expect, it } from 'vitest'
import { slow } from '../../slow.ts'
import { makeApplication, MODULES, plugin } from './application.ts'
import { attack, type Build } from './attack.ts'
import { watchdog } from './watchdog.ts'

const beat = watchdog()

interface Output {
  readonly fileName: string
  readonly code?: string
  readonly source?: string | Uint8Array
}

const filesOf = (output: readonly Output[]): Record<string, string> =>
  Object.fromEntries(
    output.map(({ fileName, code, source }) => [fileName, hash('sha256', code ?? source ?? '')]).sort(),
  )

/** Options of the cache, and the hits that it counts. */
function counting(folder: string) {
  const counts = { hits: 0 }
  const onStats = ({ hits }: { readonly hits: number }): void => void (counts.hits += hits)
  return { counts, options: { cacheKey: 'key', root: folder, dir: 'cache', onStats } }
}

/** What Babel returns, with all that can be stored. */
const transform = (code: string, path: string) => ({
  code: `${code}// ${'long '.repeat(60)}\n`,
  map: { version: 3, sources: [path], sourcesContent: [code], names: ['value'], mappings: 'AAAAA;' },
  metadata: { helpers: ['one', 'two'] },
  sourceType: 'module',
  externalDependencies: [join(dirname(path), 'shared.txt')],
})

/** Rolldown reports how long plugins took if a build is slow, which a build from a cache may be or not. */
const checks = { bundlerTimings: false }

const BUILDS: Readonly<Record<string, Build>> = {
  async Rollup(folder, isCached) {
    const { counts, options } = counting(folder)
    const messages: string[] = []
    const plugins = [isCached ? cachedRollup(plugin(folder), options) : plugin(folder)]
    const bundle = await rollup({
      input: join(folder, 'main.js'),
      plugins,
      onwarn: ({ message }) => void messages.push(message),
    })
    const { output } = await bundle.generate({ sourcemap: true })
    await bundle.close()
    return { files: filesOf(output), messages, ...counts }
  },

  async Rolldown(folder, isCached) {
    const { counts, options } = counting(folder)
    const messages: string[] = []
    const made: RolldownPlugin = plugin(folder)
    const plugins = [isCached ? cachedRolldown(made, options) : made]
    const input = join(folder, 'main.js')
    const bundle = await rolldown({
      input,
      plugins,
      checks,
      onwarn: ({ message }) => void messages.push(message ?? ''),
    })
    const { output } = await bundle.generate({ sourcemap: true })
    await bundle.close()
    return { files: filesOf(output), messages, ...counts }
  },

  async Vite(folder, isCached) {
    const { counts, options } = counting(folder)
    const messages: string[] = []
    const warn = (text: string): void => void messages.push(text)
    const made: VitePlugin = plugin(folder)
    const built = await vite({
      root: folder,
      configFile: false,
      logLevel: 'warn',
      customLogger: { ...createLogger('warn'), warn, warnOnce: warn },
      plugins: [isCached ? cachedVite(made, options) : made],
      build: {
        write: false,
        minify: false,
        sourcemap: true,
        rolldownOptions: { input: join(folder, 'main.js'), checks },
      },
    })
    if (!('output' in built)) throw new Error('Vite built nothing')
    return { files: filesOf(built.output), messages, ...counts }
  },

  async Babel(folder, isCached) {
    const { counts, options } = counting(folder)
    const core = {
      version: '1',
      transformAsync: async (code: string, { filename }: { filename: string }) => transform(code, filename),
    }
    const babel = await cachedBabel(core, isCached ? options : { ...options, dir: 'other' })
    const texts = Array.from({ length: MODULES }, async (_, index) => {
      const path = join(folder, `module-${index}.js`)
      return [path, JSON.stringify(await babel.transformFileAsync(path))] as const
    })
    const files = Object.fromEntries(await Promise.all(texts))
    await babel.close()
    return { files, messages: [], ...counts }
  },

  async esbuild(folder, isCached) {
    const { counts, options } = counting(folder)
    const made: EsbuildPlugin = {
      name: 'expensive',
      setup({ onLoad }) {
        onLoad({ filter: /\.text$/ }, ({ path }) => ({ contents: readFileSync(path), loader: 'text' }))
        onLoad({ filter: /\.js$/ }, ({ path }) => ({
          contents: `${readFileSync(path, 'utf8')}// ${'long '.repeat(60)}\n`,
          loader: 'js',
          resolveDir: dirname(path),
          warnings: path.endsWith('1.js')
            ? [{ text: 'is old', location: { file: path, line: 1, column: 0 }, notes: [{ text: 'a note' }] }]
            : [],
          watchFiles: [join(folder, 'shared.txt')],
        }))
      },
    }
    const plugins = [isCached ? cachedEsbuild(made, options) : made]
    const output = { write: false, outdir: 'dist', logLevel: 'silent' } as const
    const built = await esbuild({ entryPoints: ['main.js'], bundle: true, absWorkingDir: folder, ...output, plugins })
    const files = built.outputFiles.map(({ path, contents }) => ({ fileName: path, source: contents }))
    // The cache is closed when esbuild disposes of the build, a moment later.
    await new Promise((resolve) => setTimeout(resolve, 20))
    return { files: filesOf(files), messages: built.warnings.map(({ text }) => text), ...counts }
  },
}

const isSlow = (name: string): boolean => name === 'Vite' || name === 'Rolldown' // their plugin is the one of Rollup
const names = Object.keys(BUILDS)

async function expectSound(name: string): Promise<void> {
  const build = BUILDS[name]
  expect(build).toBeDefined()
  if (build !== undefined) await attack(name, makeApplication(), build, beat)
}

it.each(names.filter((name) => !isSlow(name)))(
  'a build by %s from a cache of values that no plugin stored is the build without a cache',
  expectSound,
)
it.each(names.filter(isSlow))(
  'a build by %s from a cache of values that no plugin stored is the build without a cache',
  slow,
  expectSound,
)
