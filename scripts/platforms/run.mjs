// @ts-check
// Runs `checks.mjs` in a project and reads what it found; and Node.js for other platforms.
import { existsSync } from 'node:fs'
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { targetDir } from '../common/root.mjs'
import { CommandFailed, run } from '../common/steps.mjs'
import { npm } from '../common/tools.mjs'

/** The number of steps in `checks.mjs`. */
export const STEPS = 13

/** @typedef {'native' | 'wasm' | 'memory'} Engine */
/** @typedef {{ passed: readonly string[], failed: Readonly<Record<string, string>> }} Checked */

/**
 * Node.js for Windows can write to a file under Wine, but not to a pipe.
 * @param {string} folder of the project
 * @param {readonly string[]} command everything before the arguments of `checks.mjs`
 * @param {Engine} engine
 * @param {NodeJS.ProcessEnv} [extra]
 * @returns {Promise<Checked>}
 */
export async function runChecks(folder, [program = '', ...args], engine, extra = {}) {
  const results = join(folder, `${engine}.json`)
  const printed = join(folder, `${engine}.txt`)
  await rm(results, { force: true })
  const output = await open(printed, 'w')
  try {
    await run(program, [...args, engine, results], {
      cwd: folder,
      env: { ...process.env, ...extra },
      stdout: output.fd,
    })
    return JSON.parse(await readFile(results, 'utf8'))
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new CommandFailed(message, await readFile(printed, 'utf8'))
  } finally {
    await output.close()
  }
}

/** Throws unless exactly these steps failed. @param {Checked} checked @param {string} engine @param {readonly string[]} [expected] */
export function expectFailed({ passed, failed }, engine, expected = []) {
  const names = Object.keys(failed)
  if (names.join() === expected.join() && passed.length === STEPS - expected.length) return
  const errors = Object.entries(failed).map(([name, error]) => `${engine}, ${name}: ${error}`)
  throw new Error(
    `${engine}: ${passed.length} steps passed, ${names.join(', ') || 'none'} failed\n${errors.join('\n')}`,
  )
}

/** The directory of Node.js for another platform, from the npm registry. @param {string} spec */
export async function nodeOf(spec) {
  const name = spec.replace(/@.*/, '')
  const prefix = join(targetDir, 'platforms', 'node', name)
  const found = join(prefix, 'node_modules', name)
  if (!existsSync(found)) {
    await mkdir(prefix, { recursive: true })
    await npm(['install', '--force', '--ignore-scripts', '--no-save', '--prefix', prefix, spec])
  }
  return found
}
