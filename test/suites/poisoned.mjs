// @ts-check
// The suite of poisoned values of all plugins; `npm test` runs it, too.
import { spawn } from 'node:child_process'
import { root } from '../../scripts/common/root.mjs'
import { toolPath } from '../../scripts/common/tools.mjs'

/** @returns {Promise<boolean>} whether all tests passed */
export function runPoisoned() {
  return new Promise((resolve, reject) => {
    const args = [toolPath('vitest'), 'run', 'test/plugins/poisoned']
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
    child.on('error', reject).on('close', (code) => resolve(code === 0))
  })
}
