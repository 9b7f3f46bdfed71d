// @ts-check
// What other programs do to files that a cache has open: a worker thread receives an attack and performs it immediately,
// while the main thread reads.
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { noise } from './contents.mjs'
import { randomOf } from '../random.mjs'

/** Attacks on one file. */
export const ATTACKS = [
  'cut',
  'cut-to-nothing',
  'cut-and-grow',
  'overwrite',
  'append',
  'unlink',
  'replace',
  'replace-by-folder',
  'replace-by-link',
  'forbid',
  'rename',
]
/** Attacks on all files. */
export const SWEEPS = [
  'remove-v1',
  'remove-folder',
  'forbid-v1',
  'rename-folder',
  'cut-all',
  'overwrite-all',
  'unlink-all',
]
/** Which file. */
export const TARGETS = {
  manifest: /^manifest-\d+$/,
  log: /^\d+\.log$/,
  table: /\.table$/,
  file: /^files\/..\/[0-9a-f]{64}$/,
}

/** @param {string} dir @param {string} attack @param {string} target @param {number} seed */
export function strike(dir, attack, target, seed) {
  const random = randomOf(seed)
  const v1 = join(dir, 'v1')
  if (attack === 'remove-v1') return rmSync(v1, { recursive: true, force: true })
  if (attack === 'remove-folder') return rmSync(dir, { recursive: true, force: true })
  if (attack === 'forbid-v1') return chmodSync(v1, 0o000)
  if (attack === 'rename-folder') return renameSync(dir, `${dir}.moved`)
  const files = readdirSync(v1, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map((file) => join(file.parentPath, file.name)).sort()
  if (attack.endsWith('-all')) return paths.forEach((path) => void strikeFile(path, attack.slice(0, -4), random))
  const pattern = TARGETS[/** @type {keyof typeof TARGETS} */ (target)]
  const fitting = paths.filter((path) => pattern.test(path.slice(v1.length + 1)))
  const path = fitting[random(Math.max(1, fitting.length))]
  return path === undefined ? undefined : strikeFile(path, attack, random)
}

/** @param {string} path @param {string} attack @param {import('../random.mjs').Random} random */
function strikeFile(path, attack, random) {
  const bytes = statSync(path).size
  const at = random(Math.max(1, bytes))
  if (attack === 'cut') truncateSync(path, at)
  else if (attack === 'cut-to-nothing') truncateSync(path, 0)
  else if (attack === 'cut-and-grow')
    withOpen(path, 'r+', (file) => void (ftruncateSync(file, at), ftruncateSync(file, bytes + random(9_000))))
  else if (attack === 'overwrite')
    withOpen(
      path,
      'r+',
      (file) => void writeSync(file, noise(random, Math.min(bytes - at, 1 + random(9_000))), 0, null, at),
    )
  else if (attack === 'append') withOpen(path, 'a', (file) => void writeSync(file, noise(random, 1 + random(9_000))))
  else if (attack === 'unlink') unlinkSync(path)
  else if (attack === 'forbid') chmodSync(path, 0o000)
  else if (attack === 'rename') renameSync(path, `${path}.moved`)
  else {
    const other = `${path}.other`
    if (attack === 'replace') writeFileSync(other, noise(random, bytes))
    else if (attack === 'replace-by-link') symlinkSync('/dev/zero', other)
    else mkdirSync(other)
    if (attack === 'replace-by-folder') unlinkSync(path)
    renameSync(other, path)
  }
}

/** @param {string} path @param {string} flags @param {(file: number) => void} use */
function withOpen(path, flags, use) {
  const file = openSync(path, flags)
  try {
    use(file)
  } finally {
    closeSync(file)
  }
}

parentPort?.on('message', ({ dir, attack, target, seed, flag }) => {
  const state = new Int32Array(flag)
  let problem = ''
  try {
    strike(dir, attack, target, seed)
  } catch (error) {
    // The cache itself may have removed or renamed the file meanwhile.
    problem = String(error)
  }
  Atomics.store(state, 0, problem === '' ? 1 : 2)
})
