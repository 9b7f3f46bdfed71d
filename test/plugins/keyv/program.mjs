// @ts-check
// Asks Keyv for values and sets what is missing.
import { VarveKeyv } from '@varve/plugins/keyv'
import * as keyvModule from 'keyv'

const { Keyv = keyvModule.default } = keyvModule // Keyv 4 has no other export
const { options, first, count } = JSON.parse(process.argv[2] ?? '')
const keyv = new Keyv({ store: new VarveKeyv(options), namespace: 'numbers' })
const counts = { hits: 0, misses: 0, wrong: 0 }
for (let number = first; number < first + count; number++) {
  const value = { number, text: `${number} `.repeat(200) }
  const found = await keyv.get(`key ${number}`)
  if (found === undefined) counts.misses++
  else if (JSON.stringify(found) === JSON.stringify(value)) counts.hits++
  else counts.wrong++
  if (found === undefined) await keyv.set(`key ${number}`, value)
}
process.stdout.write(JSON.stringify(counts))
