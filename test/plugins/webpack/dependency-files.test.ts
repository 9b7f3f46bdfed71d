/** How build dependencies are followed: to the files that webpack finds by itself, with fewer looks at the disk. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import webpack, { type Compilation, type Compiler } from 'webpack'
import { dependencyFiles } from '../../../packages/plugins/dist/webpack/dependency-files.js'
import { Packages } from '../../../packages/plugins/dist/webpack/packages.js'
import { makeFolder } from '../../folders.ts'

type Info = Compilation['fileSystemInfo']
type Resolution = NonNullable<Parameters<Parameters<Info['resolveBuildDependencies']>[3]>[1]>

const manifest = (name: string, exports?: object): string =>
  JSON.stringify({ name, version: '1.0.0', ...(exports === undefined ? {} : { exports }) })

/** Packages whose files name each other in every way, one that is a link to another package, and one that is a link into the project. */
const FILES: Readonly<Record<string, string>> = {
  'main.js': '',
  'config.cjs': "require('plug')\nrequire('local')\n",
  'config.mjs': "import 'plug/module'\nimport('plug/not-there').catch(() => 0)\n",
  'node_modules/plug/package.json': manifest('plug', {
    '.': './index.js',
    './module': './module.mjs',
    './inner': './found/by-exports.mjs',
  }),
  'node_modules/plug/index.js':
    "require('./sub')\nrequire('./folder')\nrequire('./data')\nrequire('linked')\nrequire('@scope/part')\n",
  'node_modules/plug/sub.js': "require('./folder/index.js')\n",
  'node_modules/plug/sub/index.js': '',
  'node_modules/plug/folder/index.js': "require('../sub')\n",
  'node_modules/plug/data.json': '{}',
  'node_modules/plug/module.mjs': "import './sub.js'\nimport 'plug/inner'\nimport './missing.mjs'\n",
  'node_modules/plug/missing.mjs': '',
  'node_modules/plug/inner.js': '',
  'node_modules/plug/found/by-exports.mjs': '',
  'node_modules/@scope/part/package.json': manifest('@scope/part'),
  'node_modules/@scope/part/index.js': "require('./lib/deep/file')\n",
  'node_modules/@scope/part/lib/deep/file.js': '',
  'node_modules/.store/linked@1/node_modules/linked/package.json': manifest('linked'),
  'node_modules/.store/linked@1/node_modules/linked/index.js': "require('./part.js')\n",
  'node_modules/.store/linked@1/node_modules/linked/part.js': '',
  'packages/local/package.json': manifest('local'),
  'packages/local/index.js': "require('./part')\n",
  'packages/local/part.js': '',
}

function makeProject(): string {
  const folder = makeFolder()
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  symlinkSync('.store/linked@1/node_modules/linked', join(folder, 'node_modules/linked'))
  symlinkSync('../packages/local', join(folder, 'node_modules/local'))
  createRequire(join(folder, 'main.js'))('./config.cjs')
  return folder
}

/** What a compiler with these options knows of files. */
function infoOf(context: string): Promise<Info> {
  return new Promise((resolve, reject) => {
    const apply = ({ hooks }: Compiler): void =>
      hooks.thisCompilation.tap('test', ({ fileSystemInfo }) => resolve(fileSystemInfo))
    const compiler = webpack({
      context,
      entry: './main.js',
      output: { path: join(context, 'dist') },
      plugins: [{ apply }],
    })
    compiler.run((error) => (error ? reject(error) : undefined))
  })
}

function follow(info: Info, folder: string): Promise<Resolution> {
  const files = ['config.cjs', 'config.mjs'].map((name) => join(folder, name))
  return new Promise((resolve, reject) => {
    info.resolveBuildDependencies(folder, files, [], (error, resolution) =>
      resolution === undefined ? reject(error) : resolve(resolution),
    )
  })
}

it('the files of packages that name each other are those that webpack finds, without looking around each', async () => {
  const folder = makeProject()
  const info = await infoOf(folder)
  const own = await follow(info, folder)
  const ours = await follow(dependencyFiles(info, new Packages({ managedPaths: [/node_modules/] }), new Set()), folder)
  expect([...ours.files].sort()).toEqual([...own.files].sort())
  const hard = ['node_modules/plug/found/by-exports.mjs', 'packages/local/part.js'].map((name) => join(folder, name))
  expect([...ours.files]).toEqual(expect.arrayContaining(hard))
  expect([...ours.resolveResults].sort()).toEqual([...own.resolveResults].sort())
  const lookedFor = ({ resolveDependencies: { missing } }: Resolution): string[] =>
    [...missing].filter((path) => path.includes('/lib/deep/'))
  expect([lookedFor(own).length > 0, lookedFor(ours)]).toEqual([true, []])
})

it('a package that is not managed is followed as a part of the project', async () => {
  const folder = makeProject()
  const info = await infoOf(folder)
  const packages = new Packages({ managedPaths: [/node_modules/], unmanagedPaths: [/node_modules/] })
  expect(await follow(dependencyFiles(info, packages, new Set()), folder)).toEqual(await follow(info, folder))
})

it('a module that was loaded and then removed counts as empty when webpack runs in a context of its own, as in Jest', async () => {
  const missing: unknown = runInNewContext("Object.assign(new Error('no such file'), { code: 'ENOENT' })")
  expect(missing).not.toBeInstanceOf(Error)
  const fail = (_: string, callback: (error: unknown) => void): void => callback(missing)
  const gone = new Set<string>()
  const info = Object.create(null, { fs: { value: { readlink: fail, realpath: fail, readFile: fail } } })
  const { fs } = dependencyFiles(info, new Packages({}), gone)
  const real = await new Promise((resolve, reject) =>
    fs.realpath?.('/project/gone.js', (error, path) => (error ? reject(error) : resolve(path))),
  )
  expect(real).toBe('/project/gone.js')
  expect([...gone]).toEqual(['/project/gone.js'])
})
