// @ts-check
// Loaders and plugins of the suite, installed beside this file when they are missing; nothing else of the project needs them.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { run, step } from '../../../scripts/common/steps.mjs'

/** Throws StepFailed, already explained, if they cannot be installed. */
export async function installPlugins() {
  const here = import.meta.dirname
  if (existsSync(join(here, 'node_modules'))) return
  await step('npm ci: loaders and plugins', () =>
    run('npm', ['ci', '--ignore-scripts', '--no-workspaces'], { cwd: here }),
  )
}
