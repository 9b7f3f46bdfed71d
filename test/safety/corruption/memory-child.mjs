// @ts-check
// Opens hostile caches one after the other, reads, scans, verifies, commits and compacts. Prints the results and the peak
// memory of this process.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { VarveError } from 'varve'
import { answerCases } from './batches.mjs'
import { heal, isHealed, open } from './caches.mjs'

/** @typedef {{ found: string | undefined, codes: string[], errors: string[], healed: boolean, peakBytes: number }} Answer */

/** @param {{ work: string, folders: Record<string, string> }} order @param {string} text @returns {Promise<Answer>} */
async function meet({ work, folders }, text) {
  const [engine = ''] = text.split(' ')
  const dir = join(work, folders[text] ?? '')
  /** @type {Answer} */
  const answer = { found: undefined, codes: [], errors: [], healed: false, peakBytes: 0 }
  const name = /** @type {import('./caches.mjs').EngineName} */ (engine)
  await attempt(answer, () => use(answer, dir, name))
  await attempt(answer, async () => {
    const cache = await open(dir, name)
    answer.healed = isHealed(cache)
    await cache.close()
  })
  rmSync(dir, { recursive: true, force: true })
  return { ...answer, peakBytes: process.resourceUsage().maxRSS * 1024 }
}

/** @param {Answer} answer @param {string} dir @param {import('./caches.mjs').EngineName} engine */
async function use(answer, dir, engine) {
  const cache = await open(dir, engine)
  const namespace = cache.namespace('n', { version: '1' })
  await attempt(
    answer,
    async () =>
      void (answer.found = ((value) => value && Buffer.from(value.subarray(0, 40)).toString('latin1'))(
        namespace.get('key 0'),
      )),
  )
  await attempt(answer, async () => void namespace.getMany(['key 0', 'key 1', '']))
  // One entry at a time, because memory of the caller does not count for the engine.
  await attempt(answer, async () => {
    for (const key of namespace.keys()) if (key.length > 0xffff) throw new Error('a key longer than any')
  })
  await attempt(answer, async () => void (await cache.stats()))
  await attempt(answer, async () => void (await cache.verify()))
  await attempt(answer, () => heal(cache))
  await attempt(answer, async () => void (await cache.compact({ full: true })))
  await cache.close()
}

/** @param {Answer} answer @param {() => Promise<void>} work */
async function attempt(answer, work) {
  try {
    await work()
  } catch (error) {
    if (error instanceof VarveError && error.code !== 'INTERNAL') answer.codes.push(error.code)
    else answer.errors.push(`${error instanceof Error ? error.message : error}`)
  }
}

await answerCases(meet)
