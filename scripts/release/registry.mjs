// @ts-check
// The local registry of a rehearsal: Verdaccio on loopback, with an empty storage. It keeps the packages of Varve to itself, and takes all
// others from the registry that npm is configured with.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { run, step } from '../common/steps.mjs'
import { npm } from '../common/tools.mjs'

/** Where the registry and the package managers are installed. */
export const tools = join(import.meta.dirname, 'node_modules')

/** Installs the registry and the package managers beside this file if they are missing. No other part of the project needs them. */
export async function installTools() {
  if (existsSync(tools)) return
  await step('npm ci: Verdaccio, package managers', () =>
    run('npm', ['ci', '--ignore-scripts', '--no-workspaces'], { cwd: import.meta.dirname }),
  )
}

/** The registry that npm is configured with. */
export async function npmRegistry() {
  const printed = await npm(['config', 'get', 'registry', '--silent'])
  return /https?:\S+/.exec(printed)?.[0] ?? ''
}

/**
 * @typedef {object} Registry
 * @property {string} url
 * @property {string} config a configuration of npm that may publish to it
 * @property {() => void} close
 */

/** @param {string} folder an empty directory @returns {Promise<Registry>} */
export async function startRegistry(folder) {
  const settings = join(folder, 'verdaccio.yaml')
  const config = join(folder, 'npmrc')
  // JSON is YAML, too.
  await writeFile(settings, JSON.stringify(settingsOf(folder, await npmRegistry())))
  const { runServer } = createRequire(join(tools, 'verdaccio/package.json'))('verdaccio')
  /** @type {import('node:http').Server} */
  const server = await runServer(settings)
  await new Promise((resolve, reject) => server.on('error', reject).listen(0, '127.0.0.1', () => resolve(undefined)))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the local registry has no port')
  const host = `127.0.0.1:${address.port}`
  await writeFile(config, `registry=http://${host}/\n//${host}/:_authToken=rehearsal\n`)
  return { url: `http://${host}/`, config, close: () => server.close().closeAllConnections() }
}

/** @param {string} folder @param {string} uplink */
function settingsOf(folder, uplink) {
  const own = { access: '$all', publish: '$all' }
  return {
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd') } },
    uplinks: { npm: { url: uplink } },
    packages: { varve: own, '@varve/*': own, '**': { access: '$all', proxy: 'npm' } },
    web: { enable: false },
    log: { type: 'file', path: join(folder, 'verdaccio.log'), level: 'warn' },
  }
}
