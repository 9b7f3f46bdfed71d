// @ts-check
// Commits under a limit on the size of files, and prints the acknowledged ones.  node limited.mjs <dir> <engine>
import { openCache, VarveError } from 'varve'

const [dir = '', engine] = process.argv.slice(2)
const cache = await openCache({
  name: 'fixture',
  dir,
  engine: engine === 'wasm' ? 'wasm' : 'native',
  onWarning: () => {},
})
const values = cache.namespace('n')
/** @type {number[]} */
const acknowledged = []
let [refused, waiting] = [0, 0]
for (let number = 0; number < 40; number++) {
  const value = new Uint8Array(9000).map((_, i) => (i * 7919 + number) >> 3)
  values.put(`k${number}`, value)
  waiting++
  try {
    await cache.commit({ durability: number % 2 === 0 ? 'durable' : 'relaxed' })
    for (; waiting > 0; waiting--) acknowledged.push(number - waiting + 1)
  } catch (error) {
    if (!(error instanceof VarveError) || !['IO', 'DISK_FULL'].includes(error.code)) throw error
    refused++
  }
}
await cache.close()
process.stdout.write(JSON.stringify({ acknowledged, refused }))
