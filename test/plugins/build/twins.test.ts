/**
 * Two plugins of one name in one build. In Vite, the text of the config stands for the options of both, so a plugin got what the
 * other one makes of a module, and ran once more or not at all. Elsewhere, the same happened with one `cacheKey` for both.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cached as cachedInRolldown } from '@varve/plugins/rolldown'
import { cached as cachedInRollup } from '@varve/plugins/rollup'
import { cached, varve } from '@varve/plugins/vite'
import { rolldown } from 'rolldown'
import { rollup } from 'rollup'
import { build } from 'vite'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'

interface Named {
  readonly name: string
}

interface Tail extends Named {
  transform(code: string, id: string): { code: string; map: null } | null
}

/** Adds a statement to one module. */
const tail = (module: string): Tail => ({
  name: 'tail',
  transform: (code, id) =>
    id.endsWith(module) ? { code: `${code}\nconsole.log('tail of ${module}')`, map: null } : null,
})

const twins = (): Tail[] => [tail('a.js'), tail('b.js')]
const options = { trackReads: false }

function makeProject(): string {
  const folder = makeFolder()
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'vite.config.js'), 'export default {}')
  writeFileSync(join(folder, 'src/a.js'), `import './b.js'\nexport const a = 1\n`)
  writeFileSync(join(folder, 'src/b.js'), `console.log('b')\n`)
  return folder
}

const write = (folder: string): object => ({ file: join(folder, 'dist/out.js') })

async function buildByVite(root: string, plugins: readonly Named[]): Promise<void> {
  const lib = { entry: 'src/a.js', formats: ['es' as const], fileName: () => 'out.js' }
  await build({
    root,
    configFile: join(root, 'vite.config.js'),
    logLevel: 'silent',
    plugins: [...plugins],
    build: { lib, minify: false },
  })
}

async function buildByRollup(folder: string, plugins: readonly Named[]): Promise<void> {
  const bundle = await rollup({ input: join(folder, 'src/a.js'), plugins: [...plugins] })
  await bundle.write(write(folder))
  await bundle.close()
}

async function buildByRolldown(folder: string, plugins: readonly Named[]): Promise<void> {
  const bundle = await rolldown({ input: join(folder, 'src/a.js'), plugins: [...plugins] })
  await bundle.write(write(folder))
  await bundle.close()
}

describe('two plugins of one name have results of their own', () => {
  it.each<[string, typeof buildByVite, (dir: string) => readonly Named[]]>([
    ['in Vite, named', buildByVite, (dir) => [...twins(), varve({ ...options, dir, plugins: ['tail'] })]],
    [
      'in Vite, named, with one key',
      buildByVite,
      (dir) => [...twins(), varve({ ...options, dir, plugins: ['tail'], cacheKey: 'key' })],
    ],
    ['in Vite, wrapped', buildByVite, (dir) => twins().map((plugin) => cached(plugin, { ...options, dir }))],
    [
      'in Vite, wrapped and copied',
      buildByVite,
      (dir) => twins().map((plugin) => ({ ...cached(plugin, { ...options, dir }) })),
    ],
    [
      'in Rollup',
      buildByRollup,
      (dir) => twins().map((plugin) => cachedInRollup(plugin, { ...options, dir, cacheKey: 'key' })),
    ],
    [
      'in Rolldown',
      buildByRolldown,
      (dir) => twins().map((plugin) => cachedInRolldown(plugin, { ...options, dir, cacheKey: 'key' })),
    ],
  ])('%s', async (_, bundle, plugins) => {
    const folder = makeProject()
    const output = async (list: readonly Named[]): Promise<string> => {
      await bundle(folder, list)
      return readFileSync(join(folder, 'dist/out.js'), 'utf8')
    }
    const expected = await output(twins())
    expect(expected.match(/tail of/g)).toHaveLength(2)
    for (let round = 0; round < 3; round++) expect(await output(plugins(join(folder, 'cache')))).toBe(expected)
  })
})
