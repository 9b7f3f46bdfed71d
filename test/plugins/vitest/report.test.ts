/** A run of Vitest reports what came from the cache, on standard error, because standard output may be that of a reporter. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url))

const CONFIG = `import { babel } from '@rollup/plugin-babel'
import { varve } from '@varve/plugins/vite'
const compiler = babel({ babelHelpers: 'bundled', presets: ['@babel/preset-env'], include: 'src/**' })
export default { plugins: [compiler, varve({ dir: 'cache' })] }
`
const TEST = "import { expect, test } from 'vitest'\nimport { a } from './a.js'\ntest('a', () => expect(a()).toBe(1))\n"

it('VARVE_REPORT=1 prints one line for a run of Vitest', () => {
  const folder = makeFolder()
  mkdirSync(join(folder, 'src'))
  symlinkSync(MODULES, join(folder, 'node_modules'))
  const files = {
    'package.json': '{ "type": "module" }',
    'vitest.config.js': CONFIG,
    'src/a.js': 'export const a = (x) => x?.y ?? 1\n',
    'src/a.test.js': TEST,
  }
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text)
  const run = (): string => {
    const vitest = join(folder, 'node_modules/vitest/vitest.mjs')
    const env = { ...process.env, VITEST: '', NODE_ENV: '', VARVE_REPORT: '1' }
    const { status, stdout, stderr } = spawnSync(process.execPath, [vitest, 'run'], {
      cwd: folder,
      encoding: 'utf8',
      env,
    })
    expect([status, stdout.includes('varve:')], stdout + stderr).toEqual([0, false])
    return stderr
  }
  expect(run()).toMatch(/^varve: 0 of 2 modules from cache, 2 rebuilt \(new\)\n$/)
  expect(run()).toMatch(/^varve: 2 of 2 modules from cache.*\n$/)
})
