// @ts-check
// Private disks: a program runs in a mount namespace that ends with it, so no other process sees what it mounts. Needs root
// on Linux.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @import { Outcome, Part } from '../suite.mjs' */

/** Why this machine cannot mount a disk; undefined if it can. */
function whyNot() {
  if (process.platform !== 'linux') return `mounting is for Linux, and this is ${process.platform}`
  if (process.getuid?.() !== 0) return 'only root may mount'
  const { status, error } = spawnSync('unshare', [
    '--mount',
    '--propagation',
    'private',
    'mount',
    '-t',
    'tmpfs',
    'tmpfs',
    '/mnt',
  ])
  return error !== undefined || status !== 0
    ? 'mounting is forbidden here (no CAP_SYS_ADMIN, or no unshare)'
    : undefined
}

/**
 * A part that is a program of this folder, run with a folder of its own in a mount namespace. It prints its outcome.
 * @param {string} name
 * @param {string} program
 * @param {readonly string[]} [tools] programs that it needs
 * @returns {Part}
 */
export function mountingPart(name, program, tools = []) {
  return {
    name,
    async run({ seed, isLong, replay }) {
      const absent = tools.find((one) => spawnSync('sh', ['-c', `command -v ${one}`]).status !== 0)
      const skipped = whyNot() ?? (absent === undefined ? undefined : `${absent} is not installed`)
      if (skipped !== undefined) return { figures: {}, violations: [], skipped }
      const folder = mkdtempSync(join(tmpdir(), `varve-${name}-`))
      try {
        return await run(program, [folder, String(seed), String(isLong), replay ?? ''])
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}

/** @param {string} program @param {readonly string[]} args @returns {Promise<Outcome>} */
function run(program, args) {
  const path = fileURLToPath(new URL(program, import.meta.url))
  const unshare = ['--mount', '--propagation', 'private', process.execPath, path, ...args]
  const env = { ...process.env, VARVE_DIR: '', VARVE_ENGINE: '' }
  return new Promise((resolve, reject) => {
    const child = spawn('unshare', unshare, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ part) => void (text += part))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(JSON.parse(text))
      // The process must never crash, whatever the disk does.
      resolve({
        figures: {},
        violations: [{ what: `the process died with ${signal ?? code}: ${text.slice(-300)}`, replay: '' }],
      })
    })
  })
}

/** Runs a tool; throws if it fails. @param {string} command @param {...string} args */
export function tool(command, ...args) {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
}
