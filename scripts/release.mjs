// @ts-check
// `npm run release`: publishes all packages with their provenance, each after those that it depends on. It runs in a workflow of GitHub,
// after `npm run build -- --all`, and refuses unless the versions agree, the changelog names the day, and every platform is built.
//
//   --dry-run   publishes to a registry on this machine, installs from it with each package manager, and runs the steps of
//               `platforms/checks.mjs` there. Packages of platforms that are not built have no addon: Yarn insists that they exist
//   --table     writes the results of the rehearsal into docs/platforms.md
//   --only Yarn rehearses with the package managers whose name contains this text
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { addonPath, hostPlatform } from './build/native.mjs'
import { crossAddon, platforms } from './build/platforms.mjs'
import { packAll, place } from './pack.mjs'
import { install, MANAGERS, tryManager } from './release/managers.mjs'
import { publish } from './release/publish.mjs'
import { installTools, npmRegistry, startRegistry } from './release/registry.mjs'
import { packedProblems, sourceProblems, version } from './release/versions.mjs'
import { at } from './common/root.mjs'
import { setup } from './setup.mjs'
import { runMain, step, stepEach } from './common/steps.mjs'
import { writeTable } from './common/table.mjs'

const HEAD = ['package manager', 'seconds', 'MB on disk', 'engine', 'steps, native', 'steps, WebAssembly']

const { values: options } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    table: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
})

/** Throws an error that names all problems. @param {readonly string[]} problems */
function expectNone(problems) {
  if (problems.length > 0) throw new Error(problems.join('\n'))
}

/** @typedef {import('./build/platforms.mjs').Platform} Platform */

/** Packs everything with the addons that `addonOf` names. @param {(platform: Platform) => string | undefined} addonOf */
async function packWith(addonOf, fields = {}) {
  const packed = await packAll(
    place,
    platforms.map((platform) => ({ platform, addon: addonOf(platform) })),
    fields,
  )
  await step('packed manifests agree', () =>
    expectNone(
      packedProblems(
        packed.map(({ manifest }) => manifest),
        version(),
      ),
    ),
  )
  return packed
}

/** The addon of the checkout replaces a missing build for this machine. @param {Platform} platform */
function builtAddon(platform) {
  if (existsSync(crossAddon(platform))) return crossAddon(platform)
  return platform.name === hostPlatform ? at(addonPath) : undefined
}

async function rehearse() {
  const chosen = MANAGERS.filter(({ name }) => name.includes(options.only))
  if (chosen.length === 0) throw new Error(`no package manager has '${options.only}' in its name`)
  await installTools()
  const packed = await packWith(builtAddon)
  const home = await mkdtemp(join(tmpdir(), 'varve-release-'))
  const registry = await startRegistry(await makeFolder(home, 'registry'))
  try {
    const publishAll = () => publish(packed, registry.url, [`--userconfig=${registry.config}`])
    await step(`publish ${packed.length} packages`, publishAll)
    await step('publishing again publishes nothing', async () => {
      const again = await publishAll()
      if (again > 0) throw new Error(`${again} packages were published twice`)
    })
    await tryManagers(chosen, home, registry.url)
  } finally {
    registry.close()
    await rm(home, { recursive: true, force: true })
  }
  const missing = platforms.filter((platform) => !existsSync(crossAddon(platform))).map(({ name }) => name)
  if (missing.length > 0) process.stderr.write(`\n  not built, and needed for a release: ${missing.join(', ')}\n`)
}

/** @param {typeof MANAGERS} chosen @param {string} home @param {string} registry */
async function tryManagers(chosen, home, registry) {
  /** @type {string[][]} */
  const rows = []
  // The measured installations find the packages of others in the local registry.
  await step(
    'first installation',
    async () => chosen[0] && install(chosen[0], await makeFolder(home, 'first'), registry),
  )
  await stepEach(
    'package managers',
    chosen,
    ({ name }) => name,
    async (manager) => {
      const folder = await makeFolder(home, String(chosen.indexOf(manager)))
      rows.push(await tryManager(manager, folder, registry))
    },
  ).finally(() => {
    for (const row of [HEAD, ...rows]) process.stdout.write(`${row.join(' | ')}\n`)
  })
  if (options.table) await writeTable('docs/platforms.md', 'installations', [HEAD, ...rows])
}

/** @param {string} parent @param {string} name */
async function makeFolder(parent, name) {
  const folder = join(parent, name)
  await mkdir(folder)
  return folder
}

/** The provenance binds a package to the repository that its manifest names. */
async function release() {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_REF_NAME: tag } = process.env
  if (server === undefined || repository === undefined)
    throw new Error('only the workflow release.yml publishes: push the tag of the version')
  if (tag !== `v${version()}`) throw new Error(`the tag is ${tag} instead of v${version()}`)
  const missing = platforms.filter((platform) => !existsSync(crossAddon(platform)))
  expectNone(missing.map(({ name }) => `the addon for ${name} is missing: run 'npm run build -- --all' first`))
  const packed = await packWith(crossAddon, { repository: { type: 'git', url: `git+${server}/${repository}.git` } })
  await step(`publish ${packed.length} packages`, async () => publish(packed, await npmRegistry(), ['--provenance']))
}

await runMain(async () => {
  await setup()
  await step('versions and changelog agree', () => expectNone(sourceProblems({ isDated: !options['dry-run'] })))
  await (options['dry-run'] ? rehearse() : release())
})
