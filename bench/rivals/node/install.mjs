// @ts-check
// Installs the rivals next to this file if they are missing; the project itself never needs them. better-sqlite3 is built from
// source, because its own installer would fetch a binary from elsewhere.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run, step } from '../../../scripts/common/steps.mjs'

const here = import.meta.dirname
const sqlite = join(here, 'node_modules/better-sqlite3')

/** Installs missing packages. Throws StepFailed, with the reason already printed. */
export async function installRivals() {
  if (!existsSync(join(here, 'node_modules'))) {
    // The addons of the other packages are prebuilt.
    await step('npm ci: rivals', () => run('npm', ['ci', '--ignore-scripts'], { cwd: here }))
  }
  if (!existsSync(join(sqlite, 'build/Release/better_sqlite3.node'))) {
    await step('build better-sqlite3', () =>
      run('npm', ['run', 'build-release'], { cwd: sqlite, env: { ...process.env, ...headers() } }),
    )
  }
}

/** The environment in which node-gyp finds the headers of this Node without a download, if it has them. */
function headers() {
  const folder = dirname(dirname(process.execPath))
  return existsSync(join(folder, 'include/node/node_api.h')) ? { npm_config_nodedir: folder } : {}
}
