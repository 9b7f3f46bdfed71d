/**
 * A real project on two machines: a monorepo with code above the application, in two folders, that shares a cache
 * through S3. The report of each tool says that the second checkout took all modules from there.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder, snapshot } from '../folders.ts'
import { KEYS } from './machines.ts'
import { type Started, STORES } from './servers.ts'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const BABEL = "babel({ babelHelpers: 'bundled', presets: ['@babel/preset-env'], include: '../**/src/**' })"

const FILES: Readonly<Record<string, string>> = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  'package.json': '{ "private": true, "workspaces": ["packages/*"] }',
  'package-lock.json': '{ "lockfileVersion": 3, "packages": {} }',
  'packages/ui/package.json': '{ "name": "ui", "type": "module" }',
  'packages/ui/src/title.js': 'export const title = (name) => `Hello ${name ?? "world"}`\n',
  'packages/app/package.json': '{ "name": "app", "type": "module" }',
  'packages/app/src/main.js': "import { title } from '../../ui/src/title.js'\nconsole.log(title('app'))\n",
  'packages/app/src/title.test.js': `import { expect, test } from 'vitest'
import { title } from '../../ui/src/title.js'
test('a title without a name', () => expect(title()).toBe('Hello world'))
`,
  'packages/app/index.html': '<script type="module" src="/src/main.js"></script>\n',
  'packages/app/vite.config.js': `import { babel } from '@rollup/plugin-babel'
import { varve } from '@varve/plugins/vite'
export default { plugins: [${BABEL}, varve()] }
`,
  'packages/app/rollup.config.js': `import { babel } from '@rollup/plugin-babel'
import { cached } from '@varve/plugins/rollup'
export default { input: 'src/main.js', output: { dir: 'dist' }, plugins: [cached(${BABEL}, { cacheKey: 'env' })] }
`,
  'packages/app/webpack.mjs': `import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'
const compiler = webpack({ mode: 'production', entry: './src/main.js', cache: { type: 'memory' }, plugins: [new VarveWebpackPlugin()] })
compiler.run((error, stats) => {
  if (error ?? stats.hasErrors()) throw error ?? new Error(stats.toString())
  compiler.close(() => undefined)
})
`,
}

/** The program of each tool with its arguments, in the folder of the application. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  Vite: ['../../node_modules/vite/bin/vite.js', 'build'],
  webpack: ['webpack.mjs'],
  Rollup: ['../../node_modules/rollup/dist/bin/rollup', '-c'],
  Vitest: ['../../node_modules/vitest/vitest.mjs', 'run'],
}

/** Checks the project out into `folder`. Its packages are a link out of it, so both checkouts have one depth. */
function checkOut(folder: string): string {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  symlinkSync(MODULES, join(folder, 'node_modules'), 'junction')
  return folder
}

/** What a build has written; nothing for a run of tests. */
function outputOf(checkout: string): Readonly<Record<string, string>> {
  const folder = join(checkout, 'packages/app/dist')
  const files = existsSync(folder) ? Object.entries(snapshot(folder)) : []
  return Object.fromEntries(files.map(([path, content]) => [path.slice(folder.length), content]))
}

describe.each(STORES.filter(({ name }) => name.startsWith('S3')))('through $name', ({ start }) => {
  let server: Started | undefined
  beforeAll(async () => void (server = await start?.()))
  afterAll(() => server?.stop())

  it.runIf(start !== undefined).for(Object.entries(TOOLS))(
    '%s in another checkout takes all modules from the remote',
    async ([tool, command]) => {
      const folder = makeFolder()
      const build = async (checkout: string, own: Readonly<Record<string, string>>): Promise<string> => {
        const child = spawn(process.execPath, command, {
          cwd: join(checkout, 'packages/app'),
          env: {
            ...process.env,
            ...server?.env,
            ...own,
            NODE_ENV: '',
            VITEST: '',
            VARVE_REMOTE: server?.address.replace('?', `/${tool}?`),
            VARVE_TRUSTED_KEYS: KEYS.publicKey,
            VARVE_REPORT: '1',
            VARVE_DIR: join(checkout, '.cache'),
          },
        })
        const [out, err] = await Promise.all([textOf(child.stdout), textOf(child.stderr), once(child, 'close')])
        return `${out}${err}`
      }
      const one = checkOut(join(folder, 'one'))
      const cold = await build(one, { VARVE_REMOTE_MODE: 'read-write', VARVE_SIGNING_KEY: KEYS.signingKey })
      const [, modules = 'no'] = /varve: 0 of (\d+) modules from cache/.exec(cold) ?? []
      const other = checkOut(join(folder, 'other'))
      const warm = await build(other, {})
      expect(warm).toMatch(
        RegExp(
          `varve: ${modules} of ${modules} modules from cache, .*; remote: results from 1 layer, \\d+ kB fetched in`,
        ),
      )
      expect(outputOf(other)).toEqual(outputOf(one))
    },
  )
})
