// @ts-check
// A process of `reopen.mjs`: a build that commits until it is killed, or the next build, which looks for the last commit.
import { performance } from 'node:perf_hooks'
import { openCache } from 'varve'

/** @type {{ dir: string, engine: import('./group.mjs').Engine, round: number, last: number, isWriter?: true }} */
const { dir, engine, round, last, isWriter } = JSON.parse(process.argv[2] ?? '')
const say = (/** @type {object} */ message) => void process.stdout.write(`${JSON.stringify(message)}\n`)

const startMs = performance.now()
const cache = await openCache({ name: 'soak', dir, engine, maxBytes: '4GiB' })
const openMs = performance.now() - startMs
const space = cache.namespace('n')

if (isWriter) {
  for (let number = 0; ; number++) {
    space.put(`${round} ${number}`, Buffer.alloc(number % 10 === 0 ? 500_000 : 5_000, number))
    await cache.commit()
    say({ done: number })
  }
}

const askedMs = performance.now()
const value = space.get(`${round} ${last}`)
const getMs = performance.now() - askedMs
// As the next build does: close checkpoints the logs of the killed process.
space.put(`${round} read`, Buffer.alloc(100))
await cache.commit()
await cache.close()
say({ found: value?.[0] === last % 256, openMs, getMs })
