// @ts-check
// A process whose clock is wrong and jumps once more while it runs. Its lives together write more than the cap, so that
// entries are evicted, but no life alone writes more than half of the cap.
import { writeSync } from 'node:fs'
import { openCache } from 'varve'
import { randomOf } from '../random.mjs'

const MAX_BYTES = 2_000_000
const COMMITS = 12
const VALUE_BYTES = 60_000
const YEAR_MS = 365 * 24 * 3600 * 1000

/** @type {{ dir: string, engine: 'native' | 'wasm', process: number, seed: number, years: number }} */
const order = JSON.parse(process.argv[2] ?? '')
const random = randomOf(order.seed)
const say = (/** @type {unknown} */ message) => void writeSync(1, `${JSON.stringify(message)}\n`)
const trueNow = Date.now
let years = order.years
Date.now = () => trueNow() + years * YEAR_MS

const cache = await openCache({ name: 'soak', dir: order.dir, engine: order.engine, maxBytes: MAX_BYTES })
const space = cache.namespace('n', { codec: 'text' })
/** Random bytes, which compression does not shorten. @param {string} key */
const valueOf = (key) => {
  const letters = randomOf([...key].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7))
  return `${key} ${Array.from({ length: VALUE_BYTES / 8 }, () =>
    letters(2 ** 32)
      .toString(36)
      .padStart(8, '0'),
  )
    .join('')
    .slice(0, VALUE_BYTES)}`
}
/** @type {string[]} */
const own = []
let evicted = 0

/** What is read counts as used by this process, so the others' entries are read only at the end. @param {number} others */
function check(others) {
  for (const key of own) {
    const value = space.get(key)
    if (value === undefined) say({ violation: `${key}, which this process wrote, is evicted` })
    else if (value !== valueOf(key)) say({ violation: `${key} has a wrong value` })
  }
  for (let other = 0; other < others; other++) {
    for (let number = 0; number < COMMITS; number++) {
      const value = space.get(`${other}-${number}`)
      if (value === undefined) evicted++
      else if (value !== valueOf(`${other}-${number}`)) say({ violation: `${other}-${number} has a wrong value` })
      const newest = space.get('same')
      if (order.process > 0 && newest !== undefined && own.length > 0 && !newest.startsWith(`${order.process} `)) {
        say({ violation: `an older value came back: ${newest}` })
      }
    }
  }
}

for (let number = 0; number < COMMITS; number++) {
  if (number === COMMITS / 2) years = [-10, 0, 10][random(3)] ?? 0
  const key = `${order.process}-${number}`
  space.put(key, valueOf(key))
  space.put('same', `${order.process} ${number}`)
  own.push(key)
  await cache.commit()
  if (random(4) === 0) await cache.compact({ full: random(2) === 0 })
  if (random(3) === 0) check(0)
}
await cache.compact({ full: true })
check(order.process)
say({ commits: COMMITS, evicted, reads: own.length })
await cache.close()
