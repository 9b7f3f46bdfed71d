// @ts-check
// A process whose caches use the threads of the engine: `node pool.mjs <folder> <case>`. It prints what it saw as JSON.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { openCache } from 'varve'

const script = fileURLToPath(import.meta.url)
const folder = process.argv[2] ?? ''
const chosen = process.argv[3] ?? ''
const tasks = '/proc/self/task'

/** The number of the engine's threads in this process. */
function threads() {
  return readdirSync(tasks).filter((task) => /^varve-\d$/.test(nameOf(task))).length
}

/** @param {string} task */
function nameOf(task) {
  try {
    return readFileSync(join(tasks, task, 'comm'), 'utf8').trim()
  } catch {
    return '' // it has ended since
  }
}

/** @param {string} name */
const open = (name) => openCache({ name, dir: join(folder, name), engine: 'native' })

/** Begins a commit of files, which the threads write and sync. @param {import('varve').Cache} cache */
function commit(cache) {
  for (let index = 0; index < 8; index++) cache.namespace('n').put(`large ${index}`, Buffer.alloc(1 << 20, index + 1))
  return cache.commit({ durability: 'durable' })
}

/** @type {Record<string, () => Promise<unknown>>} */
const CASES = {
  async 'last close'() {
    const first = await open('first')
    const second = await open('second')
    const before = threads()
    await commit(first)
    const used = threads()
    await first.close()
    const kept = threads()
    await second.close()
    while (threads() > 0) await setTimeout(1)
    return { before, hasThreads: used > 1 && used <= 8, hasKept: kept === used }
  },
  async 'many times'() {
    for (let round = 0; round < 20; round++) {
      const cache = await open('again')
      await commit(cache)
      await cache.close()
    }
    return 'closed'
  },
  async exit() {
    void commit(await open('exit'))
    process.exit(7)
  },
  async commits() {
    const cache = await open('commits')
    process.send?.('begun')
    for (;;) await commit(cache)
  },
  async workers() {
    const source = `const { workerData, parentPort } = require('node:worker_threads')
      process.argv[2] = workerData.folder
      process.argv[3] = 'commits'
      process.send = () => parentPort.postMessage('begun')
      import(workerData.script)`
    const codes = []
    for (let round = 0; round < 10; round++) {
      const worker = new Worker(source, { eval: true, workerData: { script, folder } })
      await once(worker, 'message')
      await setTimeout(round)
      codes.push(await worker.terminate())
    }
    const cache = await open('commits')
    await commit(cache)
    const { damage } = await cache.verify()
    await cache.close()
    return { codes: [...new Set(codes)], damage }
  },
  async children() {
    const cache = await open('parent')
    const own = commit(cache)
    const child = fork(script, [join(folder, 'child'), 'many times'], { silent: true })
    const [code] = await once(child, 'exit')
    await own
    await commit(cache)
    await cache.close()
    return code
  },
}

console.log(JSON.stringify(await CASES[chosen]?.()))
