// @ts-check
// Asks a storage for items and sets what is missing.
import { varveDriver } from '@varve/plugins/unstorage'
import { createStorage } from 'unstorage'

const { options, first, count } = JSON.parse(process.argv[2] ?? '')
const storage = createStorage({ driver: varveDriver(options) })
const counts = { hits: 0, misses: 0, wrong: 0 }
for (let number = first; number < first + count; number++) {
  const value = { number, text: `${number} `.repeat(200) }
  const found = await storage.getItem(`numbers:${number}`)
  if (found === null) counts.misses++
  else if (JSON.stringify(found) === JSON.stringify(value)) counts.hits++
  else counts.wrong++
  if (found === null) await storage.setItem(`numbers:${number}`, value)
}
await storage.dispose()
process.stdout.write(JSON.stringify(counts))
