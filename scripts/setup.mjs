// @ts-check
// `npm run setup`: prepares a fresh clone: dependencies, both engines, the packages. It skips everything that is up to date, so
// that every script can begin with it.
import { performance } from 'node:perf_hooks'
import { build, targets } from './build.mjs'
import { install, isInstalled } from './common/install.mjs'
import { isMain } from './common/root.mjs'
import { isCurrent } from './common/stamps.mjs'
import { printStep, runMain, secondsSince, step } from './common/steps.mjs'
import { addWasmTarget, checkNode, nodeFits, rustEnv } from './common/tools.mjs'

/** Whether everything is installed and built. */
export const isReady = () => isInstalled() && targets.every(isCurrent)

/**
 * Sets up everything that is not up to date. Writes to stderr only; throws StepFailed, with the reason already printed.
 * @param {() => Promise<unknown>} [meanwhile] work that runs while the engines are built
 */
export async function setup(meanwhile) {
  const startMs = performance.now()
  if (!nodeFits(process.versions.node)) await step('check Node', checkNode)
  const missing = !isInstalled()
  if (missing) await step('npm ci', install)
  const stale = targets.filter((target) => !isCurrent(target))
  /** @type {Promise<unknown> | undefined} */
  let other
  if (stale.some((target) => target.name !== 'packages')) {
    await step('check Rust', rustEnv)
    await step('WebAssembly target', addWasmTarget)
    other = meanwhile?.()
  }
  // One target at a time, in order: the packages need the generated engine, and building it makes them stale.
  for (const target of targets) if (!isCurrent(target)) await build(target)
  await other
  if (!missing && stale.length === 0) printStep('✓', 'setup: up to date', secondsSince(startMs))
}

if (isMain(import.meta)) await runMain(() => setup())
