// @ts-check
// Tests the packages as users get them: each is packed as for the registry and unpacked into its own directory, with the package
// of this platform beside them. A program is compiled against them (NodeNext, import and require) and run (both engines, import and
// require, without a warning).
import { access, cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { addonPath, hostPlatform } from '../build/native.mjs'
import { platforms, writePlatformPackage } from '../build/platforms.mjs'
import { writePackage } from '../pack.mjs'
import { PACKAGES } from '../release/versions.mjs'
import { at } from '../common/root.mjs'
import { run } from '../common/steps.mjs'
import { tsc } from '../common/tools.mjs'

const FIXTURE = 'test/types'
/** The other packages of a consumer: types of Node, a dependency, and the bundlers. */
const INSTALLED = ['@types/node', 'aws4', '@rspack/core', 'esbuild', 'rolldown', 'rollup', 'vite', 'webpack']

/** Writes the program and its packages. @param {string} folder an empty directory */
export async function writeConsumer(folder) {
  await cp(at(FIXTURE), folder, { recursive: true })
  for (const name of PACKAGES) await writePackage(name, join(folder, 'node_modules', name))
  for (const name of INSTALLED) await link(name, folder)
}

export async function checkConsumer() {
  const folder = await mkdtemp(join(tmpdir(), 'varve-consumer-'))
  try {
    await writeConsumer(folder)
    await addPlatform(join(folder, 'node_modules'))
    for (const name of [...PACKAGES, `@varve/${hostPlatform}`]) await checkPage(join(folder, 'node_modules', name))
    for (const project of ['tsconfig.json', 'tsconfig.plugins.json']) await tsc(['--project', join(folder, project)])
    for (const script of ['import.mjs', 'require.cjs']) await runProgram(join(folder, script))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Checks that the page of a package in the registry has links and a text. @param {string} target */
async function checkPage(target) {
  const manifest = JSON.parse(await readFile(join(target, 'package.json'), 'utf8'))
  const missing = ['description', 'license', 'homepage', 'bugs', 'repository'].filter(
    (field) => manifest[field] === undefined,
  )
  if (missing.length > 0) throw new Error(`${manifest.name}: its package.json lacks ${missing.join(', ')}`)
  const directory = at(manifest.repository.directory)
  for (const path of [join(target, 'README.md'), join(target, 'LICENSE'), directory]) await access(path)
}

/** Adds the addon of this machine, if it is a platform with one. @param {string} modules */
async function addPlatform(modules) {
  const platform = platforms.find(({ name }) => name === hostPlatform)
  if (platform !== undefined) await writePlatformPackage(platform, at(addonPath), join(modules, '@varve', hostPlatform))
}

/** @param {string} name @param {string} folder */
async function link(name, folder) {
  const target = join(folder, 'node_modules', name)
  await mkdir(dirname(target), { recursive: true })
  await symlink(at(`node_modules/${name}`), target, 'junction')
}

/** @param {string} script prints "ok"; anything else is a warning that users would see */
async function runProgram(script) {
  const output = await run(process.execPath, [script], { cwd: dirname(script) })
  if (output.trim() !== 'ok') throw new Error(`${script} printed:\n${output}`)
}
