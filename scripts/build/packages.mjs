// @ts-check
// Builds the packages: TypeScript to packages/*/dist, the bundles that are published to packages/*/dist/bundle, and the link
// with which npx finds the `varve` command.
import { accessSync, constants, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../common/root.mjs'
import { npm, tsc } from '../common/tools.mjs'
import { bundle, entryPoints } from './bundle.mjs'
import { embedWorker, writeRelease } from './embed.mjs'

export const packageFolders = ['packages/varve', 'packages/plugins', 'packages/remote', 'packages/view']

/** Programs of a package, by the name of their bundle. @type {Record<string, Record<string, string>>} */
const PROGRAMS = { 'packages/varve': { cli: 'cli/main.ts' } }

/** Sources that both engines load, and those that most commands load. */
const GROUPS = {
  open: ['engine/answers.ts'],
  command: ['cli/program.ts', 'cli/open/folder.ts', 'cli/open/entries.ts'],
}

/** The source of each bundle, relative to `src`. @param {string} folder @returns {Record<string, string>} */
export const sourcesOf = (folder) => ({ ...entryPoints(folder), ...PROGRAMS[folder] })

export async function buildPackages() {
  for (const folder of packageFolders) removeOrphans(at(folder))
  await embedWorker()
  writeRelease(undefined)
  await tsc(['--build'])
  for (const folder of packageFolders)
    await bundle(folder, PROGRAMS[folder] ?? {}, folder in PROGRAMS ? GROUPS : undefined)
  await linkCommand()
}

/**
 * Removes output of sources that no longer exist, which tsc leaves.
 * @param {string} folder
 */
function removeOrphans(folder) {
  const dist = join(folder, 'dist')
  if (!existsSync(dist)) return
  const built = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^(?!bundle\b).*\.(?:js|d\.ts)$/.test(path),
  )
  for (const path of built) {
    const source = join(folder, 'src', path.replace(/\.(?:js|d\.ts)$/, '.ts'))
    if (!existsSync(source)) rmSync(join(dist, path))
  }
}

/** Links the command again: at install, npm could not, because a fresh clone has not built it yet. */
async function linkCommand() {
  if (!existsSync(at('packages/varve/dist/bundle/cli.js'))) return
  try {
    accessSync(at('node_modules/.bin/varve'), constants.X_OK)
  } catch {
    await npm(['rebuild', '--ignore-scripts', 'varve'])
  }
}
