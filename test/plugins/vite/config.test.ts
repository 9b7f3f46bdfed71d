/** `vite build` with config files of a user: CommonJS and modules, in JavaScript and TypeScript. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url))

const REQUIRED = `const vue = require('@vitejs/plugin-vue')
const { varve } = require('@varve/plugins/vite')
module.exports = { plugins: [vue(), varve({ report: true })], build: { rollupOptions: { external: ['vue'] } } }
`
const IMPORTED = `import vue from '@vitejs/plugin-vue'
import { varve } from '@varve/plugins/vite'
export default { plugins: [vue(), varve({ report: true })], build: { rollupOptions: { external: ['vue'] } } }
`

/** A project with one component, and the packages of this repository. */
function project(config: string, text: string, type: 'commonjs' | 'module'): string {
  const folder = makeFolder()
  mkdirSync(join(folder, 'src'))
  symlinkSync(MODULES, join(folder, 'node_modules'))
  const files = {
    'package.json': JSON.stringify({ name: 'project', type }),
    'index.html': '<script type="module" src="/src/main.js"></script>',
    'src/main.js': "import App from './app.vue'\nconsole.log(App)\n",
    'src/app.vue': '<template><p>text</p></template>\n',
    [config]: text,
  }
  for (const [path, content] of Object.entries(files)) writeFileSync(join(folder, path), content)
  return folder
}

function build(folder: string): string {
  const vite = join(folder, 'node_modules/vite/bin/vite.js')
  const env = { ...process.env, NODE_ENV: '', VARVE_DIR: join(folder, 'caches'), NO_COLOR: '1' }
  const { status, stdout, stderr } = spawnSync(process.execPath, [vite, 'build'], {
    cwd: folder,
    encoding: 'utf8',
    env,
  })
  expect(status, stdout + stderr).toBe(0)
  return stdout + stderr
}

it.each([
  ['vite.config.js', REQUIRED, 'commonjs'],
  ['vite.config.cjs', REQUIRED, 'module'],
  ['vite.config.cts', REQUIRED, 'module'],
  ['vite.config.js', IMPORTED, 'commonjs'],
  ['vite.config.ts', IMPORTED, 'commonjs'],
  ['vite.config.mjs', IMPORTED, 'module'],
] as const)('the second build with varve() in %s comes from the cache: %#', (config, text, type) => {
  const folder = project(config, text, type)
  expect(build(folder)).toMatch(/varve: 0 of \d+ modules? from cache/)
  expect(build(folder)).toMatch(/varve: (\d+) of \1 modules? from cache/)
})
