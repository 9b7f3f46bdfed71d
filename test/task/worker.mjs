// @ts-check
// A worker thread of a test: runs a task on request, and counts in shared memory how often the work runs.
import { parentPort, workerData } from 'node:worker_threads'
import { openCache } from 'varve'

const { dir, root, engine, counts } = workerData
const done = new Int32Array(counts)
const cache = await openCache({ name: 'tasks', dir, engine })
const task = cache.task('threads', { root, codec: 'json' })

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * The work of each id asks for the next one, once `ms` have passed.
 * @param {string} id @param {string[]} next @param {number} ms @returns {Promise<{ number: number }>}
 */
function chain(id, [next, ...others], ms) {
  return task.run({ id }, async () => {
    Atomics.add(done, 0, 1)
    await pause(ms)
    return next === undefined ? { number: 0 } : chain(next, others, ms)
  })
}

parentPort?.on('message', async ({ order, id, ms, next }) => {
  if (order === 'chain') {
    const told = (/** @type {import('varve').TaskCycleError} */ error) => `${error.code} ${error.chain?.map((step) => step.id)}`
    parentPort?.postMessage(await chain(id, next, ms).then(({ number }) => `${number}`, told))
    return
  }
  const result = task.run({ id }, async () => {
    const number = Atomics.add(done, 0, 1) + 1
    if (order === 'stop here') parentPort?.postMessage('stopped')
    if (order === 'block') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
    else await pause(ms)
    if (order === 'fail') throw new Error(`failed ${number}`)
    return { number, large: 'x'.repeat(100_000) }
  })
  const answer = await result.then(({ number, large }) => `${number} ${large.length}`, (error) => error.message)
  parentPort?.postMessage(answer)
})
parentPort?.postMessage('ready')
