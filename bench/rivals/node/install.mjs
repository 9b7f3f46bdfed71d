// @ts-check
// The rivals, installed beside this file when they are missing; the project itself never needs them. better-sqlite3 is
// built from its source: its own installer would fetch a binary from elsewhere.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run, step } from '../../../scripts/steps.mjs'

const here = import.meta.dirname
const sqlite = join(here, 'node_modules/better-sqlite3')

/** Installs what is missing. Throws StepFailed, already explained, if it cannot. */
export async function installRivals() {
  if (!existsSync(join(here, 'node_modules'))) {
    // Addons of the others come in their packages.
    await step('npm ci: rivals', () => run('npm', ['ci', '--ignore-scripts'], { cwd: here }))
  }
  if (!existsSync(join(sqlite, 'build/Release/better_sqlite3.node'))) {
    await step('build better-sqlite3', () => run('npm', ['run', 'build-release'], { cwd: sqlite, env: { ...process.env, ...headers() } }))
  }
}

/** Where node-gyp finds the headers of this Node without a download, if they came with it. */
function headers() {
  const folder = dirname(dirname(process.execPath))
  return existsSync(join(folder, 'include/node/node_api.h')) ? { npm_config_nodedir: folder } : {}
}
