// @ts-check
/**
 * Projects that Yarn installs with Plug'n'Play, whose packages are files in zip archives: a cold build, a warm one, and one after each
 * change. Every build has to write what a build without a cache writes.
 */
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { at } from '../../../scripts/common/root.mjs'
import { run, step } from '../../../scripts/common/steps.mjs'
import { PROJECTS } from './projects.mjs'

/** @typedef {import('./projects.mjs').Project} Project */

const YARN = join(import.meta.dirname, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js')

/** Runs all steps of all projects. Returns the number of wrong ones. @param {(line: string) => void} report */
export async function runPnp(report) {
  if (!existsSync(YARN))
    await step('npm ci: Yarn', () =>
      run('npm', ['ci', '--ignore-scripts', '--no-workspaces'], { cwd: import.meta.dirname }),
    )
  let wrong = 0
  for (const project of PROJECTS) wrong += await runProject(project, report)
  return wrong
}

/** @param {Project} project @param {(line: string) => void} report */
async function runProject(project, report) {
  const home = await mkdtemp(join(tmpdir(), 'varve-pnp-'))
  const folder = join(home, 'project')
  let { dependencies } = project
  let wrong = 0
  try {
    await copyPackages(home)
    for (const { name, versions, resolution, files, isLate = false, built, why } of project.steps) {
      dependencies = { ...dependencies, ...versions }
      await writeFiles(folder, { ...files, 'package.json': manifestOf(dependencies) })
      const installed = isLate ? await readFile(join(folder, '.pnp.cjs')) : undefined
      await run(
        process.execPath,
        [YARN, ...(resolution === undefined ? ['install'] : ['set', 'resolution', ...resolution])],
        { cwd: folder },
      )
      if (installed !== undefined) await writeFile(join(folder, '.pnp.cjs'), installed)
      for (const tool of project.tools) {
        const difference = (await compare(folder, tool, built)) ?? (why && (await compareWhy(folder, tool, why)))
        if (difference !== undefined) wrong++
        report(
          `${difference === undefined ? 'right' : 'WRONG'} Yarn PnP / ${tool} / ${name}${difference === undefined ? '' : `: ${difference}`}`,
        )
      }
    }
  } finally {
    await rm(home, { recursive: true, force: true })
  }
  return wrong
}

/** Copies what is published of the packages: the suite must not find their dependencies in this repository. @param {string} home */
async function copyPackages(home) {
  for (const name of ['varve', 'plugins']) {
    await cp(at(`packages/${name}`), join(home, name), {
      recursive: true,
      filter: (path) => !/(?:src|native|node_modules)$/.test(path),
    })
  }
  const settings = [
    'nodeLinker: pnp',
    'enableTelemetry: false',
    'enableGlobalCache: false',
    'enableImmutableInstalls: false',
  ]
  await writeFiles(join(home, 'project'), { '.yarnrc.yml': `${settings.join('\n')}\n`, 'yarn.lock': '' })
}

/** @param {string} folder @param {Readonly<Record<string, string>>} files */
async function writeFiles(folder, files) {
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
}

/** @param {Readonly<Record<string, string>>} versions */
function manifestOf(versions) {
  const [varve, plugins] = ['file:../varve', 'file:../plugins']
  return JSON.stringify({
    name: 'project',
    private: true,
    dependencies: { ...versions, varve, '@varve/plugins': plugins },
    resolutions: { varve },
  })
}

/**
 * Asks why a result was made again. Returns how the answer is wrong.
 * @param {string} folder
 * @param {string} tool
 * @param {Readonly<{ id: string, reason: string }>} expected
 */
async function compareWhy(folder, tool, { id, reason }) {
  const answer = await run(process.execPath, [YARN, 'varve', 'why', '--dir', `cache-${tool}`, id], { cwd: folder })
  return answer.includes(reason) ? undefined : `'varve why ${id}' does not name the reason, ${reason}: ${answer}`
}

/**
 * Builds with and without a cache. Returns how the cached build is wrong.
 * @param {string} folder
 * @param {string} tool
 * @param {string} expected
 */
async function compare(folder, tool, expected) {
  const build = async (/** @type {string} */ way) =>
    JSON.parse(await run(process.execPath, [YARN, 'node', 'build.mjs', way, tool], { cwd: folder }))
  const [cached, plain] = [await build('cached'), await build('plain')]
  if (cached.digest !== plain.digest) return 'the output differs from that of a build without a cache'
  const { hits, misses } = cached
  const found = misses === 0 ? 'none' : hits === 0 ? 'all' : 'some'
  return found === expected ? undefined : `${hits} hits and ${misses} misses, expected that ${tool} builds ${expected}`
}
