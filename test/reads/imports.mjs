// @ts-check
// Two tasks that load one module of the project, after another or at once, with edits after the first. Prints what each made of it, and its hits.
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { installReads } from 'varve/reads'

installReads()
const { openCache } = await import('varve')
const { folder, load, isAtOnce = false, edits = {} } = JSON.parse(process.argv[2] ?? '')
const path = join(folder, load)
const work = load.endsWith('.cjs')
  ? () => createRequire(import.meta.url)(path)
  : async () => (await import(pathToFileURL(path).href)).load()

const cache = await openCache({ name: 'test', dir: join(folder, 'cache') })
const tasks = ['one', 'two'].map((name) => cache.task(name, { root: folder, codec: 'json', trackReads: true }))
const runs = tasks.map((task) => () => task.run({ id: 'id' }, async () => (await work()) ?? null))
const made = []
if (isAtOnce) made.push(...(await Promise.all(runs.map((run) => run()))))
else
  for (const run of runs) {
    made.push(await run())
    if (made.length > 1) continue
    for (const [name, text] of Object.entries(edits)) writeFileSync(join(folder, name), text)
    await wait(50) // longer than files stay young
  }
const hits = tasks.map((task) => task.stats().hits)
await cache.close()
process.stdout.write(JSON.stringify({ made, hits }))
