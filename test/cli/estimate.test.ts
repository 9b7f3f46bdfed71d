/** `npx varve estimate` runs builds and reports what Varve could cache of them: builds with dear plugins, with none, and ones that fail. */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CliJson } from 'varve/cli-json'
import { describe, expect, it } from 'vitest'
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
