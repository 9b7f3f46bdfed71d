/** `varve view` of a cache of webpack: its modules, although hundreds of them are one value. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { openCache } from 'varve'
import type { TreeJson } from 'varve/cli-json'
import { expect, it } from 'vitest'
import webpack from 'webpack'
import type * as sources from '../../packages/varve/src/cli/view.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'

const { ViewSource }: typeof sources = await import(
  new URL('../../packages/varve/src/cli/view.ts', import.meta.url).href
)

/** Takes long enough to have a cost. */
const LOADER = 'module.exports = (text) => { for (const end = Date.now() + 20; Date.now() < end; ); return text }'

function project(): string {
  const root = makeFolder()
  for (const folder of ['src', 'node_modules/pkg']) mkdirSync(join(root, folder), { recursive: true })
  const large = `export const large = '${'x'.repeat(5000)}'`
  const files = {
    'package.json': '{}',
    'src/main.js': "import './small.js'; import 'pkg'",
    'src/small.js': '1',
    'node_modules/pkg/index.js': large,
  }
  for (const [path, text] of Object.entries({ ...files, 'loader.cjs': LOADER })) writeFileSync(join(root, path), text)
  return root
}

async function build(root: string, engine: 'native' | 'wasm'): Promise<void> {
  const compiler = webpack({
    mode: 'development',
    context: root,
    entry: './src/main.js',
    output: { path: join(root, 'dist') },
    cache: { type: 'memory' },
    module: { rules: [{ test: /small\.js$/, use: join(root, 'loader.cjs') }] },
    plugins: [new VarveWebpackPlugin({ dir: join(root, 'cache'), engine })],
  })
  const stats = await promisify(compiler.run.bind(compiler))()
  expect(stats?.hasErrors()).toBe(false)
  await promisify(compiler.close.bind(compiler))()
}

/** What the page shows of a tree. */
const shownIn = ({ name, title = name ?? '', parts = [] }: TreeJson): string[] => [title, ...parts.flatMap(shownIn)]

const leavesOf = (node: TreeJson): TreeJson[] => node.parts?.flatMap(leavesOf) ?? [node]

it.each(ENGINES)(
  'modules of webpack are listed by their package, with bytes and time, and all sums are those of stats (%s)',
  async (engine) => {
    const root = project()
    await build(root, engine)
    const dir = join(root, 'cache')
    const source = new ViewSource(dir, root)
    const { tree } = await source.contents(dir, { signal: undefined, onProgress: undefined })
    expect(await source.why(dir, [{ id: 'src/small.js' }])).toMatchObject([{ tool: 'webpack, development, web' }])
    const webpackPart = tree.parts?.find(({ name }) => name === 'webpack, development, web')
    expect(webpackPart?.parts?.map(({ name }) => name)).toEqual(expect.arrayContaining(['pkg', 'src/']))
    expect(leavesOf(tree).map(({ name }) => name)).toContain('chunk main') // an asset
    const moduleOf = (path: string): TreeJson | undefined => leavesOf(tree).find(({ name }) => name === path)
    // The names of environments and of namespaces are not for users.
    expect(shownIn(tree)).toContain('notes of webpack')
    expect(shownIn(tree).filter((shown) => /default|\0|\.\.|packs|task:|<varve/.test(shown))).toEqual([])
    const [large, small, main] = ['node_modules/pkg/index.js', 'src/small.js', 'src/main.js'].map(moduleOf)
    expect(large?.bytes).toBeGreaterThan(2 * (small?.bytes ?? 0))
    expect(small?.workMs).toBeGreaterThan(0)
    expect(main).toBeDefined()
    const cache = await openCache({ name: 'webpack', dir, engine })
    const { namespaces } = await cache.stats()
    await cache.close()
    const total = { entries: 0, bytes: 0 }
    for (const { entries, keyBytes, valueBytes } of namespaces) {
      total.entries += entries
      total.bytes += keyBytes + valueBytes
    }
    expect(tree).toMatchObject(total)
    for (const sum of ['entries', 'bytes'] as const)
      expect(leavesOf(tree).reduce((all, leaf) => all + leaf[sum], 0)).toBe(total[sum])
  },
)
