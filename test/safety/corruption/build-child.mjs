// @ts-check
// Builds a small application over damaged caches, one after the other. Reports for each cache the output, how many modules
// were built again, and the messages. Its order names the round: `meet` damages the cache and builds; `again` is the next
// process over the same folders, which checks that every byte is sound and builds once more.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openCache } from 'varve'
import { answerCases } from './batches.mjs'
import { damageFolder } from './generations.mjs'

/** @typedef {'native' | 'wasm'} EngineName */
/** @typedef {{ dir: string, engine: EngineName }} CacheOptions */
/** `worked`: modules that were not taken from the cache; `reports`: messages of the cache; `complaints`: other messages of the tool. */
/** @typedef {{ worked: number, reports: string[], complaints: string[] }} Built */
/** @typedef {(order: { app: string, output: string, cache: CacheOptions | undefined }) => Promise<Built>} Build */
/** @typedef {Built & { failure: string | null, digest: string, ms: number, sound: boolean }} Answer */
/** @typedef {{ tool: string, base: string, work: string, round: 'meet' | 'again' }} Order */

/**
 * Builds, and takes the digest of what was written. Without a cache where `cache` is undefined.
 * @param {string} tool @param {string} app @param {CacheOptions | undefined} cache
 * @returns {Promise<Omit<Answer, 'sound'>>}
 */
export async function buildWith(tool, app, cache) {
  const { build } = /** @type {{ build: Build }} */ (await import(`./build-${tool}.mjs`))
  const output = `${cache?.dir ?? app}-dist`
  const startMs = performance.now()
  try {
    const built = await build({ app, output, cache })
    return { ...built, failure: null, digest: digestOf(output), ms: performance.now() - startMs }
  } catch (error) {
    const failure = String(error instanceof Error ? error.stack : error)
    return { worked: 0, reports: [], complaints: [], failure, digest: '', ms: performance.now() - startMs }
  } finally {
    rmSync(output, { recursive: true, force: true })
  }
}

/** @param {string} output */
function digestOf(output) {
  const hash = createHash('sha256')
  const files = readdirSync(output, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const path of files.map((file) => join(file.parentPath, file.name)).sort())
    hash.update(path.slice(output.length)).update(readFileSync(path))
  return hash.digest('hex')
}

/** @param {string} tool @param {CacheOptions} cache */
async function isSound(tool, cache) {
  const open = await openCache({ name: tool, ...cache, readOnly: true, onWarning: () => undefined })
  const { sound } = await open.verify()
  await open.close()
  return sound
}

/** @param {Order} order @param {string} text @param {number} index @returns {Promise<Answer>} */
async function meet({ tool, base, work, round }, text, index) {
  const [engines = '', form = '', ...rest] = text.split(' ')
  const [writer = '', reader = ''] = engines.split('>')
  const cache = { dir: join(work, String(index)), engine: /** @type {EngineName} */ (reader) }
  if (round === 'meet') damageFolder(join(base, `${writer}-${form}`), cache.dir, rest.join(' '))
  const sound = round === 'again' && (await isSound(tool, cache))
  return { ...(await buildWith(tool, join(base, 'app'), cache)), sound }
}

if (process.argv[1] === import.meta.filename) await answerCases(meet)
