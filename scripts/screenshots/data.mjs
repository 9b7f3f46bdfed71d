// @ts-check
// Makes view.json: what `varve view` finds in the cache of cache.mjs, as if its builds had run every few hours, in a directory that
// has the same name everywhere.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../common/root.mjs'
import { makeCache } from './cache.mjs'
import { DATA } from './pictures.mjs'

const COMMAND = at('packages/varve/dist/bundle/cli.js')
const HOME = '/home/user/app'
const START_MS = Date.UTC(2026, 0, 5, 8)
const BETWEEN_MS = 3 * 3_600_000

/** @param {string} folder an empty one */
export async function writeData(folder) {
  await makeCache(folder)
  const args = [COMMAND, 'view', '--dir', join(folder, 'node_modules/.cache/varve'), '--verify', '--json']
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26 })
  if (stdout === '') throw new Error(stderr)
  const {
    caches: [cache],
    ...view
  } = JSON.parse(stdout.replaceAll(folder, HOME))
  const { records: _, ...shown } = cache // what a click opens
  const builds = cache.builds.toReversed().map((/** @type {object} */ build, /** @type {number} */ index) => {
    return { ...build, startMs: START_MS + index * BETWEEN_MS }
  })
  const createdMs = START_MS + builds.length * BETWEEN_MS
  const findings = view.findings.filter(({ what = '' }) => what !== 'container' && what !== 'free space')
  writeFileSync(
    DATA,
    `${JSON.stringify({ ...view, createdMs, findings, caches: [{ ...shown, builds: builds.toReversed() }] }, null, 1)}\n`,
  )
}
