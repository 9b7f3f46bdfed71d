/** Configs that one program builds one after another. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import webpack, { type Configuration } from 'webpack'
import { makeFolder } from '../../folders.ts'
import { buildOnce } from './compile.ts'

function makeProject(): string {
  const folder = makeFolder()
  const main = "import value from 'value'\nconsole.log(value, __filename)\n"
  const files = {
    'package.json': '{}',
    'main.js': main,
    'one.js': "export default 'one'\n",
    'two.js': "export default 'two'\n",
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

type Make = (folder: string) => Configuration

const withAlias =
  (name: string, rest: Configuration = {}): Make =>
  (folder) => ({ ...rest, resolve: { alias: { value: join(folder, name) } } })

it.each<[string, one: Make, other: Make]>([
  ['an alias', withAlias('one.js'), withAlias('two.js')],
  ['source maps', withAlias('one.js'), withAlias('one.js', { devtool: 'inline-source-map' })],
  [
    'options of the parser',
    withAlias('one.js', { node: { __filename: 'mock' } }),
    withAlias('one.js', { node: false }),
  ],
  ['externals', withAlias('one.js'), () => ({ externals: { value: 'outside' } })],
])(
  'a config that differs from the one before it only in this has its own output, and hits: %s',
  async (_, one, other) => {
    const folder = makeProject()
    const build = async (config: Configuration, filename: string): Promise<number> =>
      (await buildOnce(folder, { ...config, output: { filename } })).counts.built
    const outputs = (): string[] =>
      ['one', 'other'].map((name) => readFileSync(join(folder, 'dist', `${name}.js`), 'utf8'))
    const plain = async (config: Configuration, filename: string): Promise<void> => {
      const output = { path: join(folder, 'dist'), filename }
      const common = {
        context: folder,
        entry: './main.js',
        optimization: { minimize: false },
        output,
        cache: false,
      } as const
      const compiler = webpack({ mode: 'production', ...common, ...config })
      await new Promise<void>((resolve) => void compiler?.run(() => compiler.close(() => resolve())))
    }
    await plain(one(folder), 'one.js')
    await plain(other(folder), 'other.js')
    const expected = outputs()
    await build(one(folder), 'one.js')
    await build(other(folder), 'other.js')
    expect(outputs()).toEqual(expected)
    expect([await build(one(folder), 'one.js'), await build(other(folder), 'other.js')]).toEqual([0, 0])
    expect(outputs()).toEqual(expected)
  },
)
