// @ts-check
// The machine of a measurement, and the versions of all programs in it.
import { readFileSync } from 'node:fs'
import { availableParallelism, release, totalmem, type } from 'node:os'
import { at } from '../scripts/common/root.mjs'
import { run } from '../scripts/common/steps.mjs'
import { rustEnv } from '../scripts/common/tools.mjs'
import { processor } from './processor.mjs'

/** @typedef {{ cpu: string, cores: number, memory: string, kernel: string, node: string, rustc: string }} Machine */

const CRATES = ['rspack-turbo-persistence', 'heed', 'redb', 'fjall', 'rusqlite']

/** @returns {Promise<Machine>} */
export async function readMachine() {
  const rustc = await run('rustc', ['--version'], { env: rustEnv() })
  return {
    cpu: processor(),
    cores: availableParallelism(),
    memory: `${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
    kernel: `${type()} ${release()}`,
    node: process.version.slice(1),
    rustc: rustc.split(' ')[1] ?? 'unknown',
  }
}

/** @returns {Record<string, string>} */
export function readVersions() {
  const lock = readFileSync(at('bench/rivals/rust/Cargo.lock'), 'utf8')
  const crates = CRATES.map((name) => [name, new RegExp(`^name = "${name}"\\nversion = "(.+)"$`, 'm').exec(lock)?.[1]])
  const { version } = readJson('packages/varve/package.json')
  const { webpack } = readJson('package.json').devDependencies
  return {
    varve: version,
    ...Object.fromEntries(crates),
    ...readJson('bench/rivals/node/package.json').dependencies,
    webpack,
  }
}

/** @param {string} path */
const readJson = (path) => JSON.parse(readFileSync(at(path), 'utf8'))
