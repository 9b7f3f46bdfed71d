// @ts-check
// Builds the packages: TypeScript to packages/*/dist, and the link with which npx finds the `varve` command.
import { accessSync, constants, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../root.mjs'
import { npm, tsc } from '../tools.mjs'

export const packageFolders = ['packages/varve', 'packages/plugins']

export async function buildPackages() {
  for (const folder of packageFolders) removeOrphans(at(folder))
  await tsc(['--build'])
  await linkCommand()
}

/**
 * Removes output of sources that no longer exist, which tsc leaves.
 * @param {string} folder
 */
function removeOrphans(folder) {
  const dist = join(folder, 'dist')
  if (!existsSync(dist)) return
  const built = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((path) => /\.(?:js|d\.ts)$/.test(path))
  for (const path of built) {
    const source = join(folder, 'src', path.replace(/\.(?:js|d\.ts)$/, '.ts'))
    if (!existsSync(source)) rmSync(join(dist, path))
  }
}

/** Links the command again: at install, npm could not, because a fresh clone has not built it yet. */
async function linkCommand() {
  if (!existsSync(at('packages/varve/dist/cli/main.js'))) return
  try {
    accessSync(at('node_modules/.bin/varve'), constants.X_OK)
  } catch {
    await npm(['rebuild', '--ignore-scripts', 'varve'])
  }
}
