/** `npx varve why` for webpack: which dependency of a module, or of the whole cache, made an entry invalid. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openCache } from 'varve'
import type { CliJson } from 'varve/cli-json'
import type { StoredInput } from 'varve/internal'
import { Why } from '../../../packages/plugins/dist/webpack/why.js'
import { runVarve } from '../../command.ts'
import { makeFolder } from '../../folders.ts'
import { writeProject } from './projects.ts'
import { build as buildIn } from './runner.ts'
import { slow } from '../../slow.ts'

type Found = CliJson['why']['records'][number]

const LOADER = `const { readFileSync } = require('node:fs')
module.exports = function (text) {
  this.addDependency(require('node:path').join(__dirname, 'words.txt'))
  void process.env.TEST_WORD
  readFileSync(require('node:path').join(__dirname, '.wordsrc'), 'utf8')
  return text
}`

function makeProject(): string {
  const folder = makeFolder()
  writeProject(folder, {
    config: "{ entry: './main.js', module: { rules: [{ test: /part\\.js$/, use: join(folder, 'loader.cjs') }] } }",
    files: {
      'main.js': "import { part } from './part.js'\nimport 'installed'\nconsole.log(part())\n",
      'part.js': 'export const part = () => Math.random()\n', // webpack concatenates ES modules, and lists only the result
      'words.txt': 'one',
      '.wordsrc': 'one',
      'loader.cjs': LOADER,
      'node_modules/installed/package.json': '{ "name": "installed", "version": "1.0.0" }',
      'node_modules/installed/index.js': 'console.log(2)\n',
    },
  })
  return folder
}

/** The modules that a build in its own process builds. */
async function build(folder: string, options: object = {}): Promise<number | undefined> {
  const [built] = await buildIn([{ folder, cache: 'varve', options }])
  return built?.built
}

function why(folder: string, id: string, env: { [name: string]: string } = {}): Found {
  const { out, err } = runVarve(['why', id, '--dir', 'varve-cache', '--json'], { cwd: folder, env })
  const [record] = (JSON.parse(out === '' ? '{}' : out) as CliJson['why']).records ?? []
  if (record === undefined) throw new Error(`no record of '${id}': ${err}`)
  return record
}

const changesIn = ({ variants }: Found): string[] =>
  variants[0]?.differences.map(({ kind, name }) => `${kind} ${name}`) ?? []
const holds = ({ variants }: Found): boolean => variants[0]?.holds === true

describe('varve why of a webpack build', () => {
  it('names the file that makes the entry of a module invalid, before and after the next build', async () => {
    const folder = makeProject()
    expect(await build(folder)).toBe(3)
    expect([
      holds(why(folder, 'part.js')),
      holds(why(folder, join(folder, 'main.js'))),
      holds(why(folder, '.')),
    ]).toEqual([true, true, true])
    writeFileSync(join(folder, 'words.txt'), 'two')
    expect(changesIn(why(folder, 'part.js'))).toEqual(['file words.txt'])
    expect([changesIn(why(folder, 'main.js')), changesIn(why(folder, '.'))]).toEqual([[], []])
    expect(await build(folder)).toBe(1)
    const after = why(folder, 'part.js')
    expect([holds(after), after.variants.length, after.between.map(({ name }) => name)]).toEqual([
      true,
      2,
      ['words.txt'],
    ])
    expect(why(folder, 'main.js').variants).toHaveLength(1)
  })

  it('a cold build has two variants of everything, because webpack loads a package while its dependencies are followed', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'late.json'), '{}')
    await using cache = await openCache({ name: 'webpack', dir: join(folder, 'varve-cache') })
    const identity = { name: 'default', digest: '', inputs: {}, digests: {}, buildDependencies: [] }
    const records = new Why(cache, identity, folder, (name) => join(folder, name))
    const missing = (name: string): StoredInput => ['type', name, 'missing', 0, 0, 0, 0]
    records.noteEverything([missing('.wordsrc')])
    records.noteEverything([missing('.wordsrc'), ['content', 'late.json', 'x', 0, 0, 0, 0]])
    await records.putAll('1', undefined)
    await cache.commit()
    const { variants } = why(folder, '.')
    expect(variants.map(({ files }) => files.map(({ name }) => name))).toEqual([['.wordsrc', 'late.json']])
  })

  it('names what makes the whole cache invalid', slow, async () => {
    const folder = makeProject()
    await build(folder)
    const env = { TEST_WORD: 'x' }
    expect(changesIn(why(folder, '.', env))).toEqual(['env TEST_WORD'])
    writeFileSync(join(folder, '.wordsrc'), 'two')
    writeFileSync(join(folder, 'loader.cjs'), `${LOADER} // changed`)
    expect(changesIn(why(folder, '.')).sort()).toEqual(['file .wordsrc', 'file loader.cjs'])
    expect(await build(folder)).toBe(3)
    expect(
      why(folder, '.')
        .between.map(({ name }) => name)
        .sort(),
    ).toEqual(['.wordsrc', 'loader.cjs'])
    expect(why(folder, 'main.js').between.map(({ name }) => name)).toEqual(['the whole cache (id .)'])
    await build(folder, { version: 'next' })
    expect(why(folder, '.').between.map(({ kind, name }) => `${kind} ${name}`)).toEqual(['input version'])
  })

  it('a build that changes nothing leaves the records as they are', async () => {
    const folder = makeProject()
    await build(folder)
    const before = [why(folder, '.'), why(folder, 'main.js')]
    expect(await build(folder)).toBe(0)
    expect([why(folder, '.'), why(folder, 'main.js')]).toEqual(before)
  })
})
