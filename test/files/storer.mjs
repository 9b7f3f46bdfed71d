// Stores the same tree again and again, from one process of many: node storer.mjs <dir> <engine> <tree> <times>
import { openCache } from 'varve'

const [dir, engine, tree, times] = process.argv.slice(2)
const cache = await openCache({ name: 'files', dir, engine })
const outputs = cache.namespace('outputs', { codec: 'json' })
for (let time = 0; time < Number(times); time++) {
  outputs.put(`${process.pid}-${time % 3}`, await cache.files.store(tree))
  await cache.commit()
  if (time % 4 === 3) await cache.compact()
}
await cache.close()
