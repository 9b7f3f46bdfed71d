// @ts-check
// Installs an example as a user does, outside of this repository, and builds it, each time in a new process: without Varve, with an
// empty cache and with the same again. All three have to write the same files.
import assert from 'node:assert'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { addonPath, hostPlatform } from '../../../scripts/build/native.mjs'
import { platforms } from '../../../scripts/build/platforms.mjs'
import { packAll } from '../../../scripts/pack.mjs'
import { at, targetDir } from '../../../scripts/common/root.mjs'
import { run } from '../../../scripts/common/steps.mjs'

/** @typedef {import('./projects.mjs').Example} Example */
/** @typedef {'without' | 'cold' | 'warm'} Way */
/** @typedef {{ files: string[], hits: number, misses: number, cpuSeconds: number, printed: string }} Built
 * `hits` and `misses` of all caches in this build; CPU time of all its processes; what it printed */

export const WAYS = /** @type {const} */ (['without', 'cold', 'warm'])

/** Nothing of these counts as an input or asks a question. */
const QUIET = { CI: 'true', NEXT_TELEMETRY_DISABLED: '1', NUXT_TELEMETRY_DISABLED: '1', STORYBOOK_DISABLE_TELEMETRY: '1' }
const NPM = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline']

/** Packs the packages of this checkout, as for the registry. The paths of the packed files. */
export async function packVarve() {
  const addons = platforms.filter(({ name }) => name === hostPlatform).map((platform) => ({ platform, addon: at(addonPath) }))
  const packed = await packAll(join(targetDir, 'examples'), addons)
  const wanted = ['varve', '@varve/plugins', `@varve/${hostPlatform}`]
  return packed.filter(({ manifest: { name } }) => wanted.includes(name)).map(({ tarball }) => tarball)
}

/**
 * Copies an example into a folder, and installs what its lock file names and then Varve, which the lock file cannot name.
 * @param {Example} example
 * @param {string} project
 * @param {readonly string[]} tarballs
 * @param {Manager} [manager]
 */
export async function installExample({ name }, project, tarballs, manager = 'npm') {
  const source = at(`examples/${name}`)
  await mkdir(project, { recursive: true })
  await cp(source, project, { recursive: true, filter: (path) => !path.includes('node_modules') })
  await run('git', ['init', '--quiet'], { cwd: project })
  await INSTALL[manager](project, tarballs)
}

/** @typedef {keyof typeof INSTALL} Manager */

const INSTALL = {
  npm: async (/** @type {string} */ project, /** @type {readonly string[]} */ tarballs) => {
    await run('npm', ['ci', ...NPM], { cwd: project })
    await run('npm', ['install', ...NPM, '--no-save', '--strict-peer-deps', ...tarballs], { cwd: project })
  },
  /** A directory for each package, links between them, and no package that the project does not name. */
  pnpm: async (/** @type {string} */ project, /** @type {readonly string[]} */ tarballs) => {
    const { dependencies } = JSON.parse(await readFile(at('scripts/release/package.json'), 'utf8'))
    const pnpm = (/** @type {string[]} */ ...args) => run('npx', ['--yes', `pnpm@${dependencies.pnpm}`, ...args], { cwd: project })
    const { workspaces = [] } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8'))
    const settings = (/** @type {object} */ more) => writeFile(join(project, 'pnpm-workspace.yaml'), JSON.stringify({ packages: workspaces, ...more }))
    await settings({})
    await pnpm('import') // what package-lock.json names
    await pnpm('install', '--frozen-lockfile', '--ignore-scripts', '--prefer-offline')
    // The packages depend on each other by versions that no registry has.
    const packed = tarballs.map((path) => [basename(path).replace(/-\d.*$/, '').replace(/^varve-/, '@varve/'), `file:${path}`])
    await settings({ overrides: Object.fromEntries(packed) })
    await pnpm('add', '--save-dev', '--ignore-scripts', '--prefer-offline', ...(workspaces.length === 0 ? [] : ['--workspace-root']), ...tarballs)
  },
}
export const MANAGERS = Object.keys(INSTALL)

/** The environment of a build. @param {string} project @param {Way} way @param {string} [caches] */
export function environmentOf(project, way, caches = cachesOf(project)) {
  const { NODE_ENV: _, ...env } = process.env
  return { ...env, ...QUIET, ...(way === 'without' && { WITHOUT_VARVE: '1' }), VARVE_DIR: caches, VARVE_HISTORY: 'always', VARVE_REPORT: '1' }
}

/** The directory for caches of a project: beside it, because some tools list the files of a project. @param {string} project */
const cachesOf = (project) => `${project}-caches`

/** Removes what a build wrote, and for a cold one the cache of Varve. @param {Example} example @param {string} project @param {Way} way @param {string} caches */
async function clean({ output, leftovers = [] }, project, way, caches) {
  const paths = [output, ...leftovers, 'node_modules/.cache'].map((path) => join(project, path))
  for (const path of way === 'warm' ? paths : [...paths, caches]) await rm(path, { recursive: true, force: true })
}

/** The sum of all builds in all caches of a project. @param {string} project @param {string} folder */
async function countsOf(project, folder) {
  if (!existsSync(folder)) return { hits: 0, misses: 0 }
  const command = join(project, 'node_modules/varve/dist/bundle/cli.js')
  const args = [command, 'history', '--json', '--limit', '1000']
  const printed = await run(process.execPath, args, { cwd: project, env: environmentOf(project, 'warm', folder) })
  /** @type {{ caches: { builds: { hits: number, misses: number }[] }[] }} */
  const { caches } = JSON.parse(printed)
  const builds = caches.flatMap((cache) => cache.builds)
  const sum = (/** @type {'hits' | 'misses'} */ field) => builds.reduce((total, counts) => total + counts[field], 0)
  return { hits: sum('hits'), misses: sum('misses') }
}

/** The path and the digest of each file that a build wrote. @param {Example} example @param {string} project */
export async function filesOf({ output, random = [], unordered = [], ignored = [] }, project) {
  const folder = join(project, output)
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
  assert.ok(files.length > 0, `the build wrote no file to ${folder}`)
  const same = (/** @type {string} */ text) => random.reduce((rest, pattern) => rest.replaceAll(pattern, 'RANDOM'), text)
  const lines = files.filter((path) => !ignored.some((pattern) => pattern.test(path))).map(async (path) => {
    const text = same(await readFile(join(folder, path), 'latin1'))
    // The last item of a list has no comma.
    const linesOf = () => text.split('\n').map((line) => line.replace(/,$/, '')).toSorted().join('\n')
    const compared = unordered.some((pattern) => pattern.test(path)) ? linesOf() : text
    return `${same(path)} ${createHash('sha256').update(compared).digest('hex')}`
  })
  return (await Promise.all(lines)).toSorted()
}

/** Builds once. @param {Example} example @param {string} project @param {Way} way @param {string} [caches] @returns {Promise<Built>} */
export async function build(example, project, way, caches = cachesOf(project)) {
  await clean(example, project, way, caches)
  const before = await countsOf(project, caches)
  const printed = await run('bash', ['-c', "TIMEFORMAT='%U %S'; time npm run build"], { cwd: project, env: environmentOf(project, way, caches) })
  const [user = 0, system = 0] = (printed.trim().split('\n').at(-1) ?? '').split(' ').map(Number)
  const { hits, misses } = await countsOf(project, caches)
  const files = await filesOf(example, project)
  return { files, hits: hits - before.hits, misses: misses - before.misses, cpuSeconds: user + system, printed }
}

/**
 * Copies a project to a directory of another name, as another checkout with other times of all its files, moves its packages there, and builds with
 * the caches of the first one: the output, the report, the history and `why` are those of a build that took everything from the cache.
 * @param {Example} example @param {string} project @param {Built} warm
 */
export async function buildElsewhere(example, project, warm) {
  const elsewhere = `${project}-elsewhere`
  const caches = cachesOf(project)
  const packages = join(project, 'node_modules')
  await cp(project, elsewhere, { recursive: true, verbatimSymlinks: true, filter: (path) => path !== packages })
  await rename(packages, join(elsewhere, 'node_modules')) // a copy takes as long as a build
  const built = await build(example, elsewhere, 'warm', caches)
  const withoutVarve = () => build(example, elsewhere, 'without', `${caches}-none`)
  const isSame = pathsOfDifferences(built.files, warm.files).size === 0
  const reference = isSame ? warm : await withoutVarve() // some frameworks put paths of the project into their output
  await compareFiles('a build in another directory', built, reference, withoutVarve)
  const { missesElsewhere = 0 } = example
  assert.ok(built.misses <= missesElsewhere, `a build in another directory misses ${built.misses} times: ${linesOf(built)}`)
  assert.ok(built.hits + built.misses >= warm.hits, 'a build in another directory looks up less')
  assert.equal(reportedIn(built).hits, reportedIn(warm).hits + built.hits - warm.hits, 'a build in another directory reports other hits')
  const varve = (/** @type {string[]} */ ...args) => {
    const command = join(elsewhere, 'node_modules/varve/dist/bundle/cli.js')
    return run(process.execPath, [command, ...args], { cwd: elsewhere, env: environmentOf(elsewhere, 'warm', caches) })
  }
  const [page = ''] = example.pages
  const shown = [await varve('history', '--limit', '1'), await varve('why', page)]
  assert.match(shown[1] ?? '', /a hit/)
  assert.ok(shown[1]?.includes(` ${page}: `), `why does not name ${page} by its path in the project: ${shown[1]}`)
  assert.doesNotMatch(shown.join(''), /task:|reads:|packs|<varve|\.\.\/|%20/)
}

/** The lines of Varve in what a build printed. @param {Built} built */
const linesOf = ({ printed }) => (printed.match(/.*\bvarve: .*/g) ?? []).join('; ')

/** What a build reported: the sum of its lines. @param {Built} built */
function reportedIn({ printed }) {
  const lines = [...printed.matchAll(/varve: ([\d,]+) of ([\d,]+) modules from cache/g)]
  assert.ok(lines.length > 0, 'a build reports nothing')
  return { hits: lines.reduce((sum, [, hits = '']) => sum + Number(hits.replaceAll(',', '')), 0) }
}

/** The paths of the files that one build wrote and the other did not, or with other bytes. @param {readonly string[]} one @param {readonly string[]} other */
export function pathsOfDifferences(one, other) {
  const lines = [...one.filter((line) => !other.includes(line)), ...other.filter((line) => !one.includes(line))]
  return new Set(lines.map((line) => line.slice(0, line.lastIndexOf(' '))))
}

/**
 * Compares what a build wrote with one without Varve. If it differs, another build without Varve shows which files the tool itself does not repeat;
 * those are named, and not blamed on the cache.
 * @param {string} what
 * @param {Pick<Built, 'files'>} built
 * @param {Pick<Built, 'files'>} without
 * @param {() => Promise<Pick<Built, 'files'>>} buildAgain without Varve
 */
export async function compareFiles(what, built, without, buildAgain) {
  const differing = pathsOfDifferences(built.files, without.files)
  if (differing.size === 0) return
  const unstable = pathsOfDifferences((await buildAgain()).files, without.files)
  const blamed = [...differing].filter((path) => !unstable.has(path))
  assert.ok(blamed.length === 0, `${what} writes other files than one without Varve: ${blamed.join(', ')}`)
  assert.ok(unstable.size < without.files.length, `two builds without Varve have no file in common`)
  process.stdout.write(`    two builds without Varve differ in ${[...unstable].join(', ')}\n`)
}

/** Builds three times, and compares. @param {Example} example @param {string} project */
export async function buildThrice(example, project) {
  const without = await build(example, project, 'without')
  const cold = await build(example, project, 'cold')
  const warm = await build(example, project, 'warm')
  assert.deepEqual([without.hits, without.misses], [0, 0], 'a build without Varve used it')
  const again = () => build(example, project, 'without', `${cachesOf(project)}-none`)
  await compareFiles('a cold build', cold, without, again)
  await compareFiles('a warm build', warm, without, again)
  assert.ok(cold.misses > 0 && warm.hits > 0, `Varve took no part: ${cold.misses} misses, then ${warm.hits} hits`)
  const { missesMax = 0 } = example
  assert.ok(warm.misses <= missesMax, `the warm build missed ${warm.misses} times, at most ${missesMax} are expected`)
  return { without, cold, warm }
}
