// @ts-check
// The platforms with an addon, in the only list of them. Each is a package `@varve/<platform>` that contains the addon, and that the
// published `varve` declares as an optional dependency in exactly its own version. npm installs the one for the machine.
import { readFileSync } from 'node:fs'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { at, targetDir } from '../common/root.mjs'

/**
 * @typedef {object} Platform
 * @property {string} name as in `@varve/<name>`, and as the loader makes it
 * @property {string} os @property {string} cpu values of `process.platform` and `process.arch`
 * @property {'glibc' | 'musl' | undefined} libc on Linux
 * @property {string} target of Rust
 * @property {string} [floor] the oldest version of glibc, or of macOS, on which the addon loads
 */

const GLIBC = '2.17'
const MACOS = '11.0'

/** @type {readonly Platform[]} */
export const platforms = [
  { name: 'linux-x64-gnu', os: 'linux', cpu: 'x64', libc: 'glibc', target: 'x86_64-unknown-linux-gnu', floor: GLIBC },
  { name: 'linux-x64-musl', os: 'linux', cpu: 'x64', libc: 'musl', target: 'x86_64-unknown-linux-musl' },
  {
    name: 'linux-arm64-gnu',
    os: 'linux',
    cpu: 'arm64',
    libc: 'glibc',
    target: 'aarch64-unknown-linux-gnu',
    floor: GLIBC,
  },
  { name: 'linux-arm64-musl', os: 'linux', cpu: 'arm64', libc: 'musl', target: 'aarch64-unknown-linux-musl' },
  { name: 'darwin-x64', os: 'darwin', cpu: 'x64', libc: undefined, target: 'x86_64-apple-darwin', floor: MACOS },
  { name: 'darwin-arm64', os: 'darwin', cpu: 'arm64', libc: undefined, target: 'aarch64-apple-darwin', floor: MACOS },
  { name: 'win32-x64', os: 'win32', cpu: 'x64', libc: undefined, target: 'x86_64-pc-windows-gnullvm' },
  { name: 'win32-arm64', os: 'win32', cpu: 'arm64', libc: undefined, target: 'aarch64-pc-windows-gnullvm' },
]

const ADDON = 'varve.node'

/** The addon that `npm run build -- --all` made. @param {Platform} platform */
export const crossAddon = ({ name }) => join(targetDir, 'platforms', name, ADDON)

/** What the published `varve` adds to its manifest. @param {string} version */
export const optionalDependencies = (version) =>
  Object.fromEntries(platforms.map(({ name }) => [`@varve/${name}`, version]))

/** The address of the repository, which has its only place in the manifest of the root. @type {{ readonly url: string }} */
const { url } = JSON.parse(readFileSync(at('package.json'), 'utf8')).repository

/**
 * What a published manifest has beside that of the sources. npm accepts the provenance of a package only if `repository.url` is the
 * repository whose workflow published it.
 * @param {string} directory of the package in the repository
 */
export function repositoryFields(directory) {
  const page = url.replace(/^git\+|\.git$/g, '')
  return { homepage: `${page}#readme`, bugs: { url: `${page}/issues` }, repository: { type: 'git', url, directory } }
}

/**
 * Writes the package of a platform.
 * @param {Platform} platform
 * @param {string | undefined} addon undefined for the manifest alone
 * @param {string} folder
 */
export async function writePlatformPackage({ name, os, cpu, libc }, addon, folder) {
  const { version, license, engines } = JSON.parse(await readFile(at('packages/varve/package.json'), 'utf8'))
  const description = `The addon of Varve for ${name}. Install the package 'varve', which depends on it`
  const limits = { os: [os], cpu: [cpu], ...(libc === undefined ? {} : { libc: [libc] }) }
  const manifest = {
    name: `@varve/${name}`,
    version,
    description,
    license,
    ...repositoryFields('crates/node'),
    main: ADDON,
    ...limits,
    engines,
  }
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  await writeFile(join(folder, 'README.md'), `# @varve/${name}\n\n${description}.\n`)
  if (addon !== undefined) await copyFile(addon, join(folder, ADDON))
  for (const notice of ['LICENSE', 'THIRD-PARTY-NOTICES.txt'])
    await copyFile(at(`packages/varve/${notice}`), join(folder, notice))
}
