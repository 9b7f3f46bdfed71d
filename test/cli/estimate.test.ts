/** `npx varve estimate` runs builds and reports what Varve could cache of them: builds with dear plugins, with none, and ones that fail. */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CliJson } from 'varve/cli-json'
import { describe, expect, it } from 'vitest'
import { bundlingIn } from '../../packages/varve/dist/cli/estimate/profile.js'
import { runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** A plugin whose `transform` keeps the thread busy for this long in each of four modules. */
const plugin = (milliseconds: number): string => `export default {
  name: 'dear',
  transform(code) {
    for (const end = Date.now() + ${milliseconds}; Date.now() < end;) Math.sqrt(2)
    return code + '\\nconsole.log(1)'
  },
}
`

const BUILD = `import { rollup } from 'rollup'
import dear from './plugins/dear.mjs'

const bundle = await rollup({ input: 'main.js', plugins: [dear] })
await bundle.write({ file: 'dist/main.js' })
`

/** A config of Vite with a plugin that lets Babel work asynchronously. */
const BABEL = `import { transformAsync } from '@babel/core'

const babel = {
  name: 'babel',
  async transform(code, id) {
    const options = { filename: id, babelrc: false, configFile: false, presets: [['@babel/preset-env', { targets: 'ie 11' }]] }
    return id.endsWith('.js') ? transformAsync(code, options) : null
  },
}
export default { plugins: [babel], build: { rolldownOptions: { input: 'main.js' }, minify: false } }
`

function makeProject(milliseconds: number): string {
  const folder = makeFolder()
  mkdirSync(join(folder, 'plugins'))
  symlinkSync(MODULES, join(folder, 'node_modules'))
  writeFileSync(join(folder, 'plugins/dear.mjs'), plugin(milliseconds))
  writeFileSync(join(folder, 'build.mjs'), BUILD)
  writeFileSync(join(folder, 'main.js'), ['a', 'b', 'c'].map((name) => `import './${name}.js'\n`).join(''))
  for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, `${name}.js`), `console.log('${name}')\n`)
  return folder
}

/** A profile with a sample of a millisecond in the last function of each stack, outermost first. */
function profileOf(...stacks: readonly (readonly string[])[]): string {
  const nodes: { id: number; callFrame: { functionName: string; url: string }; children: number[] }[] = []
  const add = (url: string): number =>
    nodes.push({ id: nodes.length + 1, callFrame: { functionName: '', url }, children: [] })
  add('')
  const samples = stacks.map((urls) => {
    let last = 1
    for (const url of urls) {
      const id = add(url.startsWith('node:') ? url : `file:///project/node_modules/${url}/index.js`)
      nodes[last - 1]?.children.push(id)
      last = id
    }
    return last
  })
  return JSON.stringify({ nodes, samples, timeDeltas: samples.map(() => 1000) })
}

it.each([
  ['the outermost plugin', ['vite', 'p-map', '@vitejs/plugin-vue', '@vue/compiler-sfc'], ['@vitejs/plugin-vue']],
  ['an unknown plugin', ['vite', '@company/shout', 'left-pad'], ['@company/shout']],
  ['a package that Node.js loads', ['vite', 'node:internal/modules/cjs/loader', 'aria-query'], []],
  [
    'a program that Node.js loads, and that runs the bundler',
    ['node:internal/modules/cjs/loader', 'rollup', 'rollup-plugin-dear'],
    ['rollup-plugin-dear'],
  ],
  ['a plugin with state, which is not cached', ['vite', '@sveltejs/vite-plugin-svelte', 'svelte'], []],
  ['the compiler of such a plugin after an await', ['p-limit', 'svelte'], []],
  ['TypeScript, which makes declarations of all modules', ['rollup', '@rollup/plugin-typescript', 'typescript'], []],
])('time belongs to another package than the one that a user knows: %s', (_, stack, names) => {
  const found = bundlingIn(profileOf(['vite'], stack), '/project')
  expect([...(found?.parts.keys() ?? [])]).toEqual(names)
})

describe('varve estimate', () => {
  it('names the plugin that a build spends its time in, and leaves no file behind', () => {
    const cwd = makeProject(500)
    const { status, out } = runVarve(['estimate', '--json', '--', process.execPath, 'build.mjs'], { cwd })
    expect(status).toBe(0)
    const { tool, cacheableMs, tookMs, parts }: CliJson['estimate'] = JSON.parse(out)
    expect(tool).toBe('Rollup')
    expect(parts[0]?.name).toBe('plugins/dear.mjs')
    expect(cacheableMs).toBeGreaterThan(1000)
    expect(cacheableMs).toBeLessThan(tookMs)
    expect(existsSync(join(cwd, 'dist/main.js'))).toBe(true)
    const words = runVarve(['estimate', '--', process.execPath, 'build.mjs'], { cwd }).out
    expect(words).toMatch(
      /of .* s, up to .* are in plugins\/dear\.mjs \(.*\): a second build with Varve would take about/,
    )
  })

  it('names a helper of Babel, which works in its steps after an await, and the temporary directory of a config of Vite', () => {
    const cwd = makeFolder()
    symlinkSync(MODULES, join(cwd, 'node_modules'))
    const lines = Array.from(
      { length: 150 },
      (_, line) => `export const f${line} = async ({ a = ${line}, ...b }) => [...a, ...b?.c ?? []]\n`,
    )
    writeFileSync(join(cwd, 'package.json'), '{ "type": "module" }')
    writeFileSync(
      join(cwd, 'main.js'),
      ['a', 'b'].map((name) => `import * as ${name} from './${name}.js'\nconsole.log(${name})\n`).join(''),
    )
    for (const name of ['a', 'b']) writeFileSync(join(cwd, `${name}.js`), lines.join(''))
    writeFileSync(join(cwd, 'vite.config.js'), BABEL)
    const vite = join(cwd, 'node_modules/vite/bin/vite.js')
    const { out } = runVarve(['estimate', '--json', '--', process.execPath, vite, 'build', '--logLevel=silent'], {
      cwd,
    })
    const { tool, cacheableMs, parts }: CliJson['estimate'] = JSON.parse(out)
    expect([tool, parts[0]?.name]).toEqual(['Vite', '@babel/core'])
    const large = parts.filter(({ ms }) => ms > 0.05 * cacheableMs).map(({ name }) => name)
    expect(large.filter((name) => !['@babel/core', 'vite.config.js'].includes(name))).toEqual([])
  })

  it('finds nothing that is worth caching in a build whose plugins do little, and in a program that is no build', () => {
    const cwd = makeProject(0)
    for (const build of [['build.mjs'], ['--eval', '0']]) {
      const { status, out } = runVarve(['estimate', '--', process.execPath, ...build], { cwd })
      expect(status).toBe(0)
      expect(out).toContain('nothing here is worth caching')
    }
  })

  it('gives no estimate of a build that fails or cannot be started', () => {
    const cwd = makeProject(0)
    const failed = runVarve(['estimate', '--', process.execPath, '--eval', 'process.exit(3)'], { cwd })
    expect(failed.status).toBe(4)
    expect(failed.out).toContain('the build failed with exit code 3')
    expect(runVarve(['estimate', '--', './no-such-program'], { cwd }).status).toBe(2)
  })
})
