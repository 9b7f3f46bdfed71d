// @ts-check
// Checks the dependencies of Varve for known vulnerabilities. The data is on the network, and cargo-deny takes minutes to build.
// If either is missing, the step is skipped with a message.
import { CommandFailed, run, Skipped } from '../common/steps.mjs'
import { cargo, npm, rustEnv } from '../common/tools.mjs'

/** Checks crates with the RustSec database. */
export async function checkCrates() {
  const version = await run('cargo', ['deny', '--version'], { env: rustEnv() }).catch(() => undefined)
  if (version === undefined) throw new Skipped("cargo-deny is not installed: 'cargo install --locked cargo-deny'")
  await cargo('deny', ['fetch', 'db']).catch(() => {
    throw new Skipped('the advisory database of RustSec cannot be fetched')
  })
  await cargo('deny', ['check'])
}

/** Checks npm packages with the registry's own list. */
export async function checkPackages() {
  const output = await npm(['audit', '--json', '--audit-level=high']).catch((error) => {
    if (error instanceof CommandFailed) return error.output
    throw error
  })
  const report = readReport(output)
  if (report === undefined) throw new Skipped('the registry does not answer audit requests')
  const found = Object.values(report).filter(({ severity }) => severity === 'high' || severity === 'critical')
  if (found.length > 0) throw new CommandFailed(`npm audit: ${found.map(({ name }) => name).join(', ')}`, output)
}

/**
 * Returns the vulnerabilities in a report of `npm audit --json`, or undefined if it has none. Warnings of npm precede it.
 * @param {string} output
 * @returns {Record<string, { name: string, severity: string }> | undefined}
 */
export function readReport(output) {
  try {
    return JSON.parse(output.slice(output.indexOf('{'))).vulnerabilities
  } catch {
    return undefined
  }
}
