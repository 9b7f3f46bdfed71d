// @ts-check
// Runs tasks in a working directory that was removed: `removed.mjs <engine>` prints what they returned.
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCache } from 'varve'

const folder = mkdtempSync(join(tmpdir(), 'varve-removed-'))
process.chdir(folder)
rmdirSync(folder)

const engine = process.argv[2] === 'wasm' ? 'wasm' : 'auto'
const cache = await openCache({ name: 'removed', engine, onWarning() {} })
for (const trackReads of [false, true]) {
  const task = cache.task(`tracks ${trackReads}`, { trackReads })
  for (let run = 0; run < 2; run++) console.log(await task.run({ id: 'id', files: ['a.txt'] }, () => 'made'))
}
await cache.close()
