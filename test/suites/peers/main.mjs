// @ts-check
// `npm run test:suites -- peers`: installs the packed packages beside each major version of a tool, which npm refuses if a peer range is too narrow,
// and builds a project there without a cache, cold and warm. It writes the table of docs/platforms.md. The packages come through a local
// registry, which keeps those of others in target/peers. `-- --only vite` builds some, and writes nothing.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { addonPath, hostPlatform } from '../../../scripts/build/native.mjs'
import { platforms } from '../../../scripts/build/platforms.mjs'
import { packAll } from '../../../scripts/pack.mjs'
import { publish } from '../../../scripts/release/publish.mjs'
import { installTools, startRegistry } from '../../../scripts/release/registry.mjs'
import { at, targetDir } from '../../../scripts/common/root.mjs'
import { setup } from '../../../scripts/setup.mjs'
import { run, runMain, step, StepFailed } from '../../../scripts/common/steps.mjs'
import { writeTable } from '../../../scripts/common/table.mjs'
import { writeApplication } from './build.mjs'
import { PEERS } from './projects.mjs'

const place = join(targetDir, 'peers')
const HEAD = ['tool', 'version', 'results from the cache', 'output of cold and warm builds']

/**
 * Installs a tool and Varve into a new project, and builds it. The row of the table.
 * @param {import('./projects.mjs').Peer} peer
 * @param {string} registry
 */
async function tryPeer({ tool, range, build }, registry) {
  const project = join(place, `${tool}${range}`.replace(/[^\w.]+/g, '-'))
  await rm(project, { recursive: true, force: true })
  await mkdir(project, { recursive: true })
  await writeFile(join(project, 'package.json'), '{ "name": "project", "version": "1.0.0", "private": true }\n')
  const options = ['--strict-peer-deps', '--no-audit', '--no-fund', `--registry=${registry}`]
  await run('npm', ['install', ...options, 'varve', '@varve/plugins', `${tool}@${range}`], { cwd: project })
  await writeApplication(project)
  const hits = await build(project)
  const { version } = JSON.parse(await readFile(join(project, 'node_modules', tool, 'package.json'), 'utf8'))
  await rm(project, { recursive: true })
  return [tool, version, String(hits), 'identical']
}

/** A registry with the packages of this checkout. */
async function startWithVarve() {
  await installTools()
  const addons = platforms
    .filter(({ name }) => name === hostPlatform)
    .map((platform) => ({ platform, addon: at(addonPath) }))
  const packed = await packAll(join(place, 'packages'), addons)
  const folder = join(place, 'registry')
  for (const name of ['varve', '@varve']) await rm(join(folder, 'storage', name), { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const registry = await startRegistry(folder)
  await step('publish to the local registry', () => publish(packed, registry.url, [`--userconfig=${registry.config}`]))
  return registry
}

await runMain(async () => {
  const { values: options } = parseArgs({ options: { only: { type: 'string' } } })
  const chosen = PEERS.filter(({ tool }) => options.only === undefined || tool === options.only)
  if (chosen.length === 0)
    throw new Error(`--only takes one of ${[...new Set(PEERS.map(({ tool }) => tool))].join(', ')}`)
  await setup()
  const registry = await startWithVarve()
  /** @type {string[][]} */
  const rows = []
  let failed = 0
  for (const peer of chosen) {
    await step(`${peer.tool} ${peer.range}`, async () => rows.push(await tryPeer(peer, registry.url))).catch(
      (error) => {
        if (!(error instanceof StepFailed)) throw error
        failed++
      },
    )
  }
  registry.close()
  for (const row of [HEAD, ...rows]) process.stdout.write(`${row.join(' | ')}\n`)
  if (failed > 0) throw new StepFailed(`${failed} projects failed`)
  if (options.only === undefined) await writeTable('docs/platforms.md', 'peers', [HEAD, ...rows])
})
