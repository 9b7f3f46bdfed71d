/**
 * Stale results after a checkout of another branch: the lock file named the new version of a plugin, a build ran with the old one that
 * was still installed, and after the installation the results of the old one came from the cache.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { identityOf, installedBeside, unlocked } from '../../../packages/plugins/dist/build/identity.js'
import { localModules } from '../../../packages/plugins/dist/build/modules.js'
import { Root } from '../../../packages/plugins/dist/build/root.js'
import { makeFolder } from '../../folders.ts'

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

const YARN_1 = (version: string): string =>
  `plug@^1.0.0:\n  version "${version}"\n  resolved "https://registry/plug-${version}.tgz#0a"\n`
const YARN_4 = (version: string): string =>
  `"plug@npm:^1.0.0":\n  version: ${version}\n  resolution: "plug@npm:${version}"\n`
const PNPM = (version: string): string =>
  `packages:\n\n  plug@${version}:\n    resolution: {integrity: sha512-${version}}\n`

const INTEGRITY = '{\n  "lockfileEntries": {\n    "plug@^1.0.0": "https://registry/plug-1.0.0.tgz#0a"\n  }\n}'
const STATE = '"plug@virtual:0a1b#npm:1.0.0":\n  locations:\n    - "node_modules/plug"\n'

/** What Yarn writes without `pnpEnableInlining`: the project has the package by another name. */
const plugged = (reference: string, folder = './.yarn/cache'): object => ({
  packageRegistryData: [
    [
      null,
      [
        [
          null,
          {
            packageLocation: `${folder}/plug.zip/`,
            packageDependencies: [
              ['alias', ['plug', `virtual:0a1b#${reference}`]],
              ['peer', null],
            ],
          },
        ],
      ],
    ],
  ],
})
const DATA = JSON.stringify(plugged('npm:1.0.0'), null, 2)
const INLINED = String.raw`'          ["alias", ["plug", "virtual:0a1b#npm:1.0.0"]],\'`

it.each([
  ['pnpm', 'pnpm-lock.yaml', PNPM, 'node_modules/.pnpm/lock.yaml', PNPM('1.0.0'), 'plug@1.0.0'],
  ['Yarn 1', 'yarn.lock', YARN_1, 'node_modules/.yarn-integrity', INTEGRITY, 'plug-1.0.0'],
  ['Yarn 4', 'yarn.lock', YARN_4, 'node_modules/.yarn-state.yml', STATE, 'plug@npm:1.0.0'],
  ["Plug'n'Play", 'yarn.lock', YARN_4, '.pnp.cjs', INLINED, 'plug@npm:1.0.0'],
  ["Plug'n'Play with a data file", 'yarn.lock', YARN_4, '.pnp.data.json', DATA, 'plug@npm:1.0.0'],
])(
  'what %s has installed counts if the lock file names another version, and not if it names this one',
  (_, lock, textOf, record, text, found) => {
    const folder = makeFolder()
    write(folder, { [record]: text })
    expect(unlocked(join(folder, lock), textOf('1.0.0'))).toEqual([])
    expect(unlocked(join(folder, lock), textOf('1.1.0'))[0]).toContain(found)
  },
)

it("what Plug'n'Play gives to a package counts, and not where the archives are", () => {
  const treeOf = (reference: string, cache?: string): string[] => {
    const folder = makeFolder()
    write(folder, { '.pnp.data.json': JSON.stringify(plugged(reference, cache), null, 2) })
    return installedBeside(join(folder, 'yarn.lock'), '')
  }
  expect(treeOf('npm:1.0.0', '../../home/.yarn/berry/cache')).toEqual(treeOf('npm:1.0.0'))
  expect(treeOf('npm:1.1.0')).not.toEqual(treeOf('npm:1.0.0'))
})

it.each([
  ['Yarn has linked with nodeLinker: pnpm', 'yarn.lock', '.store/plug-npm-VERSION-0a1b/package'],
  ['Bun has linked with an isolated linker', 'bun.lock', '.bun/plug@VERSION/node_modules/plug'],
])('what %s counts', (_, lock, place) => {
  const treeOf = (version: string): string[] => {
    const folder = makeFolder()
    write(folder, { [`node_modules/${place.replace('VERSION', version)}/package.json`]: '{}' })
    return installedBeside(join(folder, lock), '')
  }
  expect(treeOf('1.1.0')).not.toEqual(treeOf('1.0.0'))
})

it('what pnpm gives to a package counts if both versions of it are in the lock file', () => {
  const textOf = (one: string, two: string): string =>
    `snapshots:\n\n  one@1.0.0:\n    dependencies:\n      plug: ${one}\n\n  two@1.0.0:\n    dependencies:\n      plug: ${two}\n`
  const folder = makeFolder()
  write(folder, { 'node_modules/.pnpm/lock.yaml': textOf('1.0.0', '1.1.0') })
  expect(unlocked(join(folder, 'pnpm-lock.yaml'), textOf('1.1.0', '1.0.0'))).not.toEqual([])
})

it('where Yarn puts a package with nodeLinker: node-modules counts if both versions of it are in the lock file', () => {
  const stateOf = (one: string, two: string): string =>
    `"plug@npm:${one}":\n  locations:\n    - "node_modules/plug"\n\n"plug@npm:${two}":\n  locations:\n    - "packages/a/node_modules/plug"\n`
  const treeOf = (state: string): string[] => {
    const folder = makeFolder()
    write(folder, { 'node_modules/.yarn-state.yml': state })
    return installedBeside(join(folder, 'yarn.lock'), '')
  }
  expect(treeOf(stateOf('1.0.0', '1.1.0'))).not.toEqual(treeOf(stateOf('1.1.0', '1.0.0')))
})

it.each([
  ['package.json', '{ "workspaces": ["packages/*"] }'],
  ['pnpm-workspace.yaml', ''],
])('what the root of workspaces has installed counts in one with a lock file left from before (%s)', (name, text) => {
  const folder = makeFolder()
  write(folder, { 'packages/a/package-lock.json': '{}', [name]: text })
  const packagesWith = (record: string): string | undefined => {
    write(folder, { 'node_modules/.package-lock.json': record })
    return identityOf({ cacheKey: 'none' }, new Root(join(folder, 'packages/a')))['packages']
  }
  expect(packagesWith('two')).not.toBe(packagesWith('one'))
})

it('what a directory above has installed does not count in a project with a lock file, without workspaces', () => {
  const folder = makeFolder()
  write(folder, { 'app/package-lock.json': '{}', 'package.json': '{}' })
  const packagesWith = (record: string): string | undefined => {
    write(folder, { 'node_modules/.package-lock.json': record })
    return identityOf({ cacheKey: 'none' }, new Root(join(folder, 'app')))['packages']
  }
  expect(packagesWith('two')).toBe(packagesWith('one'))
})

const PATCH = '--- a/node_modules/plug/index.js\n+++ b/node_modules/plug/index.js\n@@ -1 +1 @@\n-one\n+two\n'

it.each([
  ["pnpm's lock file, if npm has left its record", { 'node_modules/.package-lock.json': '{}' }, 'pnpm-lock.yaml'],
  ["Bun's lock file, if npm has left its record", { 'node_modules/.package-lock.json': '{}' }, 'bun.lock'],
  ["Bun's lock file, if there is one of Yarn", { 'yarn.lock': '' }, 'bun.lock'],
  ['the lock file of npm without a record', {}, 'package-lock.json'],
  [
    'a file that a patch of patch-package is for',
    { 'yarn.lock': '', 'patches/plug+1.0.0.patch': PATCH },
    'node_modules/plug/index.js',
  ],
])('%s counts', (_, files, changed) => {
  const folder = makeFolder()
  const packagesWith = (text: string): string | undefined => {
    write(folder, { ...files, [changed]: text })
    return identityOf({ cacheKey: 'none' }, new Root(folder))['packages']
  }
  expect(packagesWith('two')).not.toBe(packagesWith('one'))
})

it('the walk finds the manifests of installed packages that local modules import, and of no others', () => {
  const folder = makeFolder()
  const manifest = 'node_modules/plug/package.json'
  write(folder, { [manifest]: '{ "version": "1.0.0" }', 'node_modules/other/package.json': '{}' })
  write(folder, { 'a.js': "import './b.js'", 'b.js': "import 'plug/sub.js'" })
  expect(localModules([join(folder, 'a.js')]).manifests).toEqual([join(folder, manifest)])
})
