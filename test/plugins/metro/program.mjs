// @ts-check
// Asks Metro's cache, with a store of Varve behind it, for results and sets what is missing.
import { createHash } from 'node:crypto'
import { VarveMetroStore } from '@varve/plugins/metro'
import { Cache } from 'metro-cache'

const { options, first, count } = JSON.parse(process.argv[2] ?? '')
const cache = new Cache([new VarveMetroStore(options)])
const counts = { hits: 0, misses: 0, wrong: 0 }

for (let number = first; number < first + count; number++) {
  const code = `module(${number}); `.repeat(100)
  const value = { dependencies: [], output: [{ type: 'js/module', data: { code, lineCount: 1, map: [[1, 2, 3, 4]] } }] }
  const key = createHash('sha1').update(String(number)).digest()
  const found = await cache.get(key)
  if (found === null) counts.misses++
  else if (JSON.stringify(found) === JSON.stringify(value)) counts.hits++
  else counts.wrong++
  if (found === null) await cache.set(key, value)
}
process.stdout.write(JSON.stringify(counts))
