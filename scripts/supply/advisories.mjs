// @ts-check
// Known vulnerabilities of what Varve is built from. The data is on the network, and cargo-deny takes minutes to build: where
// either is missing, the step is skipped, and says so.
import { CommandFailed, run, Skipped } from '../steps.mjs'
import { cargo, npm, rustEnv } from '../tools.mjs'

/** Crates, by the RustSec database. */
export async function checkCrates() {
  const version = await run('cargo', ['deny', '--version'], { env: rustEnv() }).catch(() => undefined)
  if (version === undefined) throw new Skipped("cargo-deny is not installed: 'cargo install --locked cargo-deny'")
  await cargo('deny', ['fetch', 'db']).catch(() => {
    throw new Skipped('the advisory database of RustSec cannot be fetched')
  })
  await cargo('deny', ['check'])
}

/** Packages of npm, by the registry's own list. */
export async function checkPackages() {
  const output = await npm(['audit', '--json', '--audit-level=high']).catch((error) => {
    if (error instanceof CommandFailed) return error.output
    throw error
  })
  const report = readReport(output)
  if (report === undefined) throw new Skipped('the registry answers no audit')
  const found = Object.values(report).filter(({ severity }) => severity === 'high' || severity === 'critical')
  if (found.length > 0) throw new CommandFailed(`npm audit: ${found.map(({ name }) => name).join(', ')}`, output)
}

/**
 * The vulnerabilities of a report of `npm audit --json`, undefined where it is none. Warnings of npm stand before it.
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
