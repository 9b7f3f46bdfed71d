// @ts-check
// A worker thread of a test: commits or reads on request, or commits until it is ended.
import { parentPort, workerData } from 'node:worker_threads'
import { openCache } from 'varve'

const cache = await openCache({ name: 'threads', dir: workerData.dir, engine: workerData.engine })
const space = cache.namespace('n', { codec: 'text' })

parentPort?.on('message', async ({ order, key }) => {
  if (order === 'put') {
    space.put(key, `value of ${key}`)
    await cache.commit()
    parentPort?.postMessage('committed')
  } else if (order === 'get') parentPort?.postMessage(space.get(key))
  else if (order === 'refresh') parentPort?.postMessage(cache.refresh())
  else if (order === 'put and close') {
    space.put(key, `value of ${key}`)
    await cache.close()
    parentPort?.postMessage('closed')
  } else if (order === 'pairs') {
    for (let number = 0; ; number++) {
      const value = `${number} ${key}`
      space.putMany([
        ['first', value],
        ['second', value],
      ])
      await cache.commit()
      if (number === 0) parentPort?.postMessage('committing')
    }
  } else if (order === 'storm') {
    for (let number = 0; ; number++) {
      space.put(`${key} ${number}`, 'x'.repeat(number % 5000))
      await cache.commit({ durability: number % 5 === 0 ? 'durable' : 'relaxed' })
      // The test may end this thread after its first commit.
      if (number === 0) parentPort?.postMessage('storming')
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
})
parentPort?.postMessage('ready')
