// @ts-check
// A writing process: commits on request and reports acknowledged commits. Compacts until it is stopped.
// Orders on standard input, one a line: "commit <first> <count>", "compact", "close".
import { createInterface } from 'node:readline'
import { openCache } from 'varve'

const [dir = '', engine = 'native', name = ''] = process.argv.slice(2)
const cache = await openCache({ name: 'writers', dir, engine: engine === 'wasm' ? 'wasm' : 'native' })
const space = cache.namespace('n', { codec: 'text' })
/** @param {string} line */
const say = (line) => process.stdout.write(`${line}\n`)
const loop = { isOn: false }

async function compactForEver() {
  loop.isOn = true
  for (let round = 0; loop.isOn; round++) {
    try {
      await cache.compact({ full: round % 4 === 0 })
    } catch (error) {
      // It lost every race; that is an answer too.
      if (!(error instanceof Error && 'code' in error && error.code === 'BUSY')) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  say('compacted')
}

say('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const [order, first = '0', count = '0'] = line.split(' ')
  if (order === 'commit') {
    for (let number = Number(first); number < Number(first) + Number(count); number++) {
      space.put(`${name} ${number}`, `value ${number}`)
      await cache.commit()
      say(`ack ${number}`)
    }
    say('done')
  } else if (order === 'compact' && !loop.isOn) void compactForEver()
  else if (order === 'close') {
    loop.isOn = false
    await new Promise((resolve) => setTimeout(resolve, 20))
    await cache.close()
    process.exit(0)
  }
}
