/** The cache in Vitest: the plugins of a config run once for each state of a module, in whichever run, project or checkout. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { linkInstalled, type Stats } from '../stale/project.ts'

const VITEST = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url))

const CONFIG = `import { appendFileSync } from 'node:fs'
import { babel } from '@rollup/plugin-babel'
import { varve } from '@varve/plugins/vite'

const note = (stats) => appendFileSync('stats.txt', JSON.stringify(stats) + '\\n')
const compiled = babel({ babelHelpers: 'bundled', babelrc: false, configFile: false, plugins: ['@babel/plugin-transform-exponentiation-operator'] })
const test = (name) => ({ extends: true, test: { name, include: ['src/*.test.js'] } })

export default {
  plugins: [compiled, varve({ plugins: ['babel'], dir: process.env.CACHE_DIR, onStats: note })],
  test: { projects: [test('one'), test('two')], watch: false },
}
`

const FILES = {
  'package.json': '{ "name": "application", "version": "1.0.0", "type": "module" }\n',
  'vitest.config.mjs': CONFIG,
  'src/power.js': 'export const power = (base) => base ** 2\n',
  'src/power.test.js': "import { expect, it } from 'vitest'\nimport { power } from './power.js'\nit('squares', () => expect(power(3)).toBe(9))\n",
}

describe('varve, in Vitest', () => {
  it('a second run, also in another checkout, takes all transforms from the cache, and an edit is never stale', async () => {
    const dir = makeFolder()
    const folder = makeProject()
    const cold = await run(folder, dir)
    expect(cold).toMatchObject({ isPassed: true })
    expect(cold.misses).toBeGreaterThan(1)
    expect(await run(folder, dir)).toMatchObject({ isPassed: true, misses: 0, hits: cold.hits + cold.misses })
    expect(await run(makeProject(), dir)).toMatchObject({ isPassed: true, misses: 0, hits: cold.hits + cold.misses })
    writeFileSync(join(folder, 'src/power.js'), 'export const power = (base) => base ** 3\n')
    const edited = await run(folder, dir)
    expect(edited).toMatchObject({ isPassed: false })
    expect(edited.output).toContain('expected 27 to be 9')
  }, 180_000)
})

interface Run {
  readonly isPassed: boolean
  readonly output: string
  readonly hits: number
  readonly misses: number
}

function makeProject(): string {
  const folder = makeFolder()
  linkInstalled(join(folder, 'node_modules'))
  mkdirSync(join(folder, 'src'))
  for (const [path, text] of Object.entries(FILES)) writeFileSync(join(folder, path), text)
  return folder
}

/** Runs the tests of a project, and sums up the results of the calls of its two test projects. */
async function run(folder: string, dir: string): Promise<Run> {
  writeFileSync(join(folder, 'stats.txt'), '')
  const outer = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|NODE_ENV|TEST|DEV|PROD|MODE|BASE_URL|SSR)/.test(name))
  const child = spawn(process.execPath, [VITEST, 'run', '--no-color'], { cwd: folder, env: { ...Object.fromEntries(outer), CACHE_DIR: dir } })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => void (output += chunk.toString()))
  const [code] = await once(child, 'close')
  const lines = readFileSync(join(folder, 'stats.txt'), 'utf8').split('\n').filter((line) => line !== '')
  const stats = lines.map((line): Stats => JSON.parse(line))
  const sum = (field: 'hits' | 'misses'): number => stats.reduce((total, one) => total + one[field], 0)
  return { isPassed: code === 0, output, hits: sum('hits'), misses: sum('misses') }
}
