/** The cache in Vitest: the plugins of a config run once for each state of a module, in whichever run, project or checkout. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { slow } from '../../slow.ts'
import { addWorktree, commitAll, makeRepository } from '../../worktrees/repository.ts'
import { linkInstalled, type Stats } from '../stale/project.ts'

const VITEST = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url))

/** A config with a plugin of Babel in a file of its own, and with Vue. `OWN` is Vitest's own cache of modules, and `OPTIONS` are more of Varve's. */
const CONFIG = `import { appendFileSync } from 'node:fs'
import { babel } from '@rollup/plugin-babel'
import { varve } from '@varve/plugins/vite'
import vue from '@vitejs/plugin-vue'

const note = (stats) => appendFileSync('stats.txt', JSON.stringify(stats) + '\\n')
const options = { babelHelpers: 'bundled', babelrc: false, configFile: false, extensions: ['.js'] }
const compiled = babel({ ...options, plugins: ['@babel/plugin-transform-exponentiation-operator', './word.cjs'] })
const test = (name) => ({ extends: true, test: { name, include: ['src/*.test.js'] } })

const cache = varve({ plugins: ['babel', 'vue'], dir: process.env.CACHE_DIR, onStats: note, ...JSON.parse(process.env.OPTIONS) })

export default {
  plugins: [vue(), compiled, process.env.VARVE === 'yes' && cache],
  test: { projects: [test('one'), test('two')], watch: false, experimental: { fsModuleCache: process.env.OWN === 'yes' } },
}
`

const FILES = {
  'package.json': '{ "name": "application", "version": "1.0.0", "type": "module" }\n',
  '.gitignore': 'node_modules\nstats.txt\n',
  'vitest.config.mjs': CONFIG,
  'word.cjs':
    "module.exports = () => ({ visitor: { StringLiteral: ({ node }) => void (node.value === 'WORD' && (node.value = 'one')) } })\n",
  'src/power.js': "export const power = (base) => base ** 2\nexport const word = 'WORD'\n",
  'src/power.test.js':
    "import { expect, it } from 'vitest'\nimport { power } from './power.js'\nit('squares', () => expect(power(3)).toBe(9))\n",
  'src/word.test.js':
    "import { expect, it } from 'vitest'\nimport { word } from './power.js'\nit('says', () => expect(word).toBe('one'))\n",
  'src/mocked.test.js': `import { expect, it, vi } from 'vitest'
import { power } from './power.js'
vi.mock('./power.js', () => ({ power: () => 'mocked' }))
it('is mocked', () => expect(power(3)).toBe('mocked'))
`,
  'src/part.vue': "<script>export default { name: 'Part' }</script>\n<template><p>part</p></template>\n",
  'src/part.test.js':
    "import { expect, it } from 'vitest'\nimport Part from './part.vue'\nit('has a name', () => expect(Part.name).toBe('Part'))\n",
}

describe('varve, in Vitest', () => {
  it('a second run takes all transforms from the cache, in another checkout all but those of Vue, and an edit is never stale', async () => {
    const dir = makeFolder()
    const folder = makeProject()
    const cold = await run(folder, dir)
    expect(cold).toMatchObject({ isPassed: true })
    const all = cold.hits + cold.misses
    expect(await run(folder, dir)).toMatchObject({ isPassed: true, misses: 0, hits: all })
    const other = await run(makeProject(), dir)
    expect(other).toMatchObject({ isPassed: true, hits: all - other.misses })
    // The component in two projects: the code that Vue's compiler makes for a development server has the path of its file.
    expect(other.misses).toBeLessThanOrEqual(2)
    writeFileSync(
      join(folder, 'src/power.js'),
      "export const power = (base) => base ** 3\nexport const word = 'WORD'\n",
    )
    writeFileSync(join(folder, 'src/part.vue'), FILES['src/part.vue'].replace("'Part'", "'Other'"))
    const edited = await run(folder, dir)
    expect(edited).toMatchObject({ isPassed: false })
    expect(edited.output).toContain('expected 27 to be 9')
    expect(edited.output).toContain("expected 'Other' to be 'Part'")
  }, 300_000)

  it('the shards of a run fill one cache, from which a whole run takes all transforms', slow, async () => {
    const dir = makeFolder()
    const folder = makeProject()
    for (const shard of ['1/2', '2/2'])
      expect(await run(folder, dir, { args: [`--shard=${shard}`] })).toMatchObject({ isPassed: true })
    expect(await run(folder, dir)).toMatchObject({ isPassed: true, misses: 0 })
  })

  it("a worktree takes the transforms of another one from the cache with dir: 'git'", slow, async () => {
    const repository = makeRepository()
    makeProject(repository)
    commitAll(repository)
    const cold = await run(repository, 'git')
    const worktree = addWorktree(repository, 'feature')
    linkInstalled(join(worktree, 'node_modules'))
    const warm = await run(worktree, 'git')
    expect(warm).toMatchObject({ isPassed: true, hits: cold.hits + cold.misses - warm.misses })
    expect(warm.misses).toBeLessThanOrEqual(2)
  })

  // docs/vitest.md advises on this.
  it.each([
    ['runs again with Varve alone', 'no', "expected 'two' to be 'one'"],
    ["is stale in Vitest's own cache, also with Varve beside it", 'yes', 'passed'],
  ])('a module whose Babel plugin changed %s, and an edited module never is', slow, async (_, own, expected) => {
    const [dir, folder] = [makeFolder(), makeProject()]
    expect(await run(folder, dir, { own })).toMatchObject({ isPassed: true })
    writeFileSync(join(folder, 'word.cjs'), FILES['word.cjs'].replace("= 'one'", "= 'two'"))
    const { isPassed, output } = await run(folder, dir, { own })
    expect([isPassed, output]).toEqual([own === 'yes', expect.stringContaining(expected)])
    writeFileSync(
      join(folder, 'src/power.js'),
      "export const power = (base) => base ** 3\nexport const word = 'WORD'\n",
    )
    expect((await run(folder, dir, { own })).output).toContain('expected 27 to be 9')
  })
})

/** A class whose fields are compiled as `tsconfig.json` demands. */
const FIELDS = {
  'tsconfig.json': '{ "compilerOptions": { "useDefineForClassFields": false } }\n',
  'src/base.js': 'export class Base { set word(value) { this.heard = value } }\n',
  'src/fields.ts': `import { Base } from './base.js'
class Fields extends Base { word = 'heard' }
export const kind: string = Object.hasOwn(new Fields(), 'word') ? 'defined' : 'assigned'
`,
  'src/fields.test.js': `import { expect, it } from 'vitest'
import { kind } from './fields.ts'
it('is assigned', () => expect(kind).toBe('assigned'))
`,
}

describe("varve beside Vitest's own cache", () => {
  it(
    'a second run has all modules from there, another checkout takes the transforms from Varve, and an edit is never stale',
    slow,
    async () => {
      const [dir, folder, other] = [makeFolder(), makeProject(), makeProject()]
      const both = { own: 'yes' }
      const cold = await run(folder, dir, both)
      expect(cold).toMatchObject({ isPassed: true })
      expect(await run(folder, dir, both)).toMatchObject({ isPassed: true, hits: 0, misses: 0 })
      const moved = await run(other, dir, both)
      expect(moved).toMatchObject({ isPassed: true, hits: cold.hits + cold.misses - moved.misses })
      expect(moved.misses).toBeLessThanOrEqual(2)
      expect(await run(other, dir, both)).toMatchObject({ isPassed: true, hits: 0, misses: 0 })
      writeFileSync(
        join(other, 'src/power.js'),
        "export const power = (base) => base ** 3\nexport const word = 'WORD'\n",
      )
      const edited = await run(other, dir, both)
      expect(edited.output).toContain('expected 27 to be 9')
      expect(await run(folder, dir, both)).toMatchObject({ isPassed: true, hits: 0, misses: 0 })
      expect(await run(folder, dir, { own: 'yes', args: ['--coverage', '--coverage.reporter=json'] })).toMatchObject({
        isPassed: true,
      })
    },
  )

  it.each([
    ['is transformed again with Varve', 'yes', "expected 'defined' to be 'assigned'"],
    ["is stale in Vitest's own cache without Varve", 'no', 'passed'],
  ])('a module whose tsconfig.json changed %s', slow, async (_, varve, expected) => {
    const [dir, folder] = [makeFolder(), makeProject(makeFolder(), { ...FILES, ...FIELDS })]
    expect(await run(folder, dir, { own: 'yes', varve })).toMatchObject({ isPassed: true })
    writeFileSync(join(folder, 'tsconfig.json'), FIELDS['tsconfig.json'].replace('false', 'true'))
    const { isPassed, output } = await run(folder, dir, { own: 'yes', varve })
    expect([isPassed, output]).toEqual([varve === 'no', expect.stringContaining(expected)])
  })

  it(
    'a module is transformed again if a file of option files or a variable of option env changed, in every project',
    slow,
    async () => {
      const [dir, folder] = [makeFolder(), makeProject()]
      const both = { own: 'yes', options: { files: ['word.cjs'], env: ['WORD'] } }
      expect(await run(folder, dir, both)).toMatchObject({ isPassed: true })
      writeFileSync(join(folder, 'word.cjs'), FILES['word.cjs'].replace("= 'one'", '= process.env.WORD'))
      expect((await run(folder, dir, { ...both, env: { WORD: 'two' } })).output).toContain("expected 'two' to be 'one'")
      expect(await run(folder, dir, { ...both, env: { WORD: 'one' } })).toMatchObject({ isPassed: true })
      const one = await run(folder, dir, { ...both, env: { WORD: 'one' }, args: ['--project', 'one'] })
      expect(one).toMatchObject({ isPassed: true, hits: 0, misses: 0 })
    },
  )
})

interface Run {
  readonly isPassed: boolean
  readonly output: string
  readonly hits: number
  readonly misses: number
}

interface Settings {
  readonly args?: readonly string[]
  /** `'yes'` turns Vitest's own cache on. */
  readonly own?: string
  /** `'no'` runs without Varve. */
  readonly varve?: string
  /** More options of Varve. */
  readonly options?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
}

function makeProject(folder: string = makeFolder(), files: Readonly<Record<string, string>> = FILES): string {
  linkInstalled(join(folder, 'node_modules'))
  mkdirSync(join(folder, 'src'))
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text)
  return folder
}

/** Runs the tests of a project, and sums up the results of the calls of its two test projects. */
async function run(
  folder: string,
  dir: string,
  { args = [], own = 'no', varve = 'yes', options = {}, env: more }: Settings = {},
): Promise<Run> {
  writeFileSync(join(folder, 'stats.txt'), '')
  const outer = Object.entries(process.env).filter(
    ([name]) => !/^(?:VITEST|NODE_ENV|TEST|DEV|PROD|MODE|BASE_URL|SSR)/.test(name),
  )
  const env = {
    ...Object.fromEntries(outer),
    CACHE_DIR: dir,
    OWN: own,
    VARVE: varve,
    OPTIONS: JSON.stringify(options),
    ...more,
  }
  const child = spawn(process.execPath, [VITEST, 'run', '--no-color', ...args], { cwd: folder, env })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => void (output += chunk.toString()))
  const [code] = await once(child, 'close')
  const lines = readFileSync(join(folder, 'stats.txt'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  const stats = lines.map((line): Stats => JSON.parse(line))
  const sum = (field: 'hits' | 'misses'): number => stats.reduce((total, one) => total + one[field], 0)
  return { isPassed: code === 0, output, hits: sum('hits'), misses: sum('misses') }
}
