// @ts-check
// A process in which a panic is planted: `node --expose-gc victim.mjs <package> <folder> <engine> <point>`. It uses two
// caches, the victim and a bystander, until the panic occurs, then checks both. Prints one line of JSON; a process that ends
// without it, or with an exit code other than 0, has crashed.
import { deepStrictEqual } from 'node:assert'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CONTENT, LATER, steps } from './steps.mjs'

/** @typedef {import('varve').Cache} Cache */

const [, , packageFolder = '', folder = '', engine = '', point = ''] = process.argv
/** @type {typeof import('varve')} */
const varve = await import(pathToFileURL(join(packageFolder, 'dist/index.js')).href)

/** The module for archives is another instance, so its trap ends no cache. */
const inArchives = engine === 'wasm' && point === 'stream-call'
const inWorker = engine === 'wasm-worker'
/** In WebAssembly all caches of a thread share the instance that a trap ends, unless a worker had it. */
const sharesFate = engine === 'wasm' && !inArchives

/** @type {string[]} */
const problems = []
/** @type {string[]} Codes of warnings: a lookup that fails is a miss and a warning. */
let warnings = []

/** @param {string} name @returns {Promise<Cache>} */
const open = (name) => {
  const dir = join(folder, name)
  const kind = engine === 'native' ? 'native' : 'wasm'
  return varve.openCache({ name, dir, engine: kind, onWarning: ({ code }) => void warnings.push(code) })
}

/** @param {unknown} error */
const codeOf = (error) => (error instanceof varve.VarveError ? error.code : `no VarveError: ${error}`)

/** @param {string} what @param {() => unknown} check */
async function expect(what, check) {
  try {
    await check()
  } catch (error) {
    problems.push(`${what}: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
  }
}

/** The error code of a call; 'nothing' if it succeeds. @param {() => unknown} call */
async function failureOf(call) {
  try {
    await call()
    return 'nothing'
  } catch (error) {
    return codeOf(error)
  }
}

/** @param {() => unknown} call @param {readonly string[]} codes */
async function fails(call, codes) {
  const code = await failureOf(call)
  if (!codes.includes(code)) throw new Error(`failed with ${code}, not with ${codes.join(' or ')}`)
}

/** Everything that was committed before, and a commit. @param {Cache} cache @param {string} key */
async function works(cache, key) {
  const namespace = cache.namespace('n', { codec: 'text' })
  for (const [name, value] of Object.entries(CONTENT)) deepStrictEqual(namespace.get(name), value, `value of ${name}`)
  namespace.put(key, `${key}!`)
  await cache.commit({ durability: 'durable' })
  deepStrictEqual(namespace.get(key), `${key}!`)
  cache.refresh()
}

/** Uses the victim until the panic occurs, then checks it. @returns {Promise<{ step: string, code: string }>} */
async function untilPanic() {
  process.env.VARVE_PLANTED = inWorker ? '' : point
  let victim
  try {
    victim = await open('victim')
  } catch (error) {
    return { step: 'open', code: codeOf(error) }
  } finally {
    if (!inWorker) delete process.env.VARVE_PLANTED
  }
  for (const [name, step] of Object.entries(steps)) {
    // The other instance reads the variable when it is called.
    if (inWorker) process.env.VARVE_PLANTED = name === 'compact' ? point : ''
    if (inArchives) process.env.VARVE_PLANTED = point
    const thrown = await failureOf(() => step(victim, folder))
    const code = thrown === 'nothing' && warnings.includes('INTERNAL') ? 'INTERNAL' : thrown
    if (code === 'nothing') continue
    delete process.env.VARVE_PLANTED
    await checkVictim(victim, name)
    return { step: name, code }
  }
  return { step: 'none', code: 'nothing' }
}

/** @param {Cache} victim @param {string} step */
async function checkVictim(victim, step) {
  const codes = step === 'close' ? ['CLOSED'] : ['INTERNAL']
  if (inWorker || inArchives) return expect('the victim, whose instance met no trap', () => works(victim, LATER))
  await expect('a later put of the victim', () =>
    fails(() => victim.namespace('n', { codec: 'text' }).put('x', 'x'), codes),
  )
  await expect('a later commit of the victim', () => fails(() => victim.commit(), codes))
  await expect('a later status of the victim', () => fails(() => victim.status(), codes))
  // If the namespace is already open, a lookup is a miss and a warning.
  await expect('a later get of the victim', () =>
    fails(() => found(victim.namespace('n', { codec: 'text' }).get('log')), ['nothing', ...codes]),
  )
}

/** @param {string | undefined} value */
function found(value) {
  if (value !== undefined) throw new Error(`found ${value}`)
}

/** Makes JavaScript release unused objects: the victim is usually not closed. */
async function collectGarbage() {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const bystander = await open('bystander')
await works(bystander, 'first')
const { step, code } = await untilPanic()
delete process.env.VARVE_PLANTED
await collectGarbage()

await expect('the bystander', async () => {
  if (!sharesFate) return works(bystander, LATER)
  if (code !== 'nothing') await fails(() => bystander.status(), ['INTERNAL'])
})
await expect('the victim, opened again', async () => {
  const again = await open('victim')
  warnings = []
  await works(again, 'again')
  const { sound, damage } = await again.verify()
  deepStrictEqual({ sound, damage, warnings }, { sound: true, damage: [], warnings: [] })
  await again.close()
})
await expect('a third cache', async () => {
  const third = await open('third')
  third.namespace('n', { codec: 'text' }).put('k', 'v')
  await third.commit()
  await third.close()
})
if (!sharesFate) await expect('the bystander closes', () => bystander.close())
await collectGarbage()
process.stdout.write(`${JSON.stringify({ step, code, problems })}\n`)
