// @ts-check
// A host that builds once and never closes its compiler. It ends by itself, or by process.exit(): at once, or when webpack has
// resolved what the build depends on. The idle timers of the cache are longer than that.
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { makeCompiler } from './compiler.mjs'

const { folder, exit, load, remove } = JSON.parse(process.argv[2] ?? '')
if (load !== undefined) createRequire(join(folder, 'host.cjs'))(join(folder, load))
if (remove !== undefined) rmSync(join(folder, remove), { force: true })
/** @type {string[]} */
const complaints = []
const log = { warn: (/** @type {unknown} */ text) => complaints.push(String(text)) }
const { compiler, counts } = makeCompiler(folder, {
  infrastructureLogging: { level: 'warn', console: Object.assign(Object.create(console), log) },
  plugins: [
    new VarveWebpackPlugin({ dir: join(folder, 'cache'), idleTimeout: 60_000, idleTimeoutForInitialStore: 60_000 }),
  ],
})
process.on('exit', () => console.log(JSON.stringify({ ...counts, complaints })))
compiler.run((error) => {
  if (error) throw error
  if (exit === 'at once') process.exit()
  if (exit === 'when idle') exitWhenIdle()
})

/** Exits after half a second without a call of the file system under way. */
function exitWhenIdle() {
  let quiet = 0
  setInterval(() => {
    quiet = process.getActiveResourcesInfo().some((resource) => resource.startsWith('FSReq')) ? 0 : quiet + 1
    if (quiet === 25) process.exit()
  }, 20)
}
