// @ts-check
// `node read.mjs <subject> <directory> <entries> <bytes> <method> <order>`: reads all values of a store once, in a process of its
// own, and prints the cost as JSON. Without arguments it does nothing, so that its memory is that of bare Node.
import { readFileSync } from 'node:fs'

/** @typedef {{ wall: number, cpu: number, memory: number }} Sample milliseconds, and peak memory in MB */

const BATCH = 500
const [name, dir = '', entries, bytes, method, order] = process.argv.slice(2)
const all = await keysOf(Number(entries ?? 0)) // a build has its keys anyway
const [startMs, startCpu] = [performance.now(), process.cpuUsage()]
if (name !== undefined) await readAll()
const { user, system } = process.cpuUsage(startCpu)
const sample = { wall: performance.now() - startMs, cpu: (user + system) / 1000, memory: peakMemory() }
process.stdout.write(JSON.stringify(sample))

/** Of this process alone: on Linux, `maxRSS` begins with the memory of the process that started this one. */
function peakMemory() {
  const { maxRSS } = process.resourceUsage()
  if (process.platform !== 'linux') return maxRSS / 1000
  return Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]) / 1000
}

/** @param {number} count */
async function keysOf(count) {
  const { keyOf, shuffled } = await import('../api/data.mjs')
  const inOrder = Array.from({ length: count }, (_, index) => keyOf(index))
  return order === 'random' ? shuffled(inOrder) : inOrder
}

async function readAll() {
  const { subjectOf } = await import('./subjects.mjs')
  const subject = await subjectOf(name ?? '')
  const store = await subject.open(dir, 'relaxed')
  const found = method === 'get' ? getAll : getBatches
  const total = await found(store, all)
  await store.close()
  if (total !== Number(entries) * Number(bytes)) throw new Error(`${name} found ${total} bytes`)
}

/** @param {import('../api/subject.mjs').Store} store @param {readonly string[]} keys */
async function getAll(store, keys) {
  let total = 0
  for (const key of keys) {
    const answer = store.get(key)
    const value = answer instanceof Promise ? await answer : answer
    total += value?.length ?? 0
  }
  return total
}

/** @param {import('../api/subject.mjs').Store} store @param {readonly string[]} keys */
async function getBatches(store, keys) {
  let total = 0
  for (let start = 0; start < keys.length; start += BATCH) {
    const batch = keys.slice(start, start + BATCH)
    const values = await (method === 'getManyAsync' ? store.getManyAsync?.(batch) : store.getMany(batch))
    for (const value of values ?? []) total += value?.length ?? 0
  }
  return total
}
