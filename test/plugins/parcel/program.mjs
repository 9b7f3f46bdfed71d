// @ts-check
// Asks Parcel's cache for blobs, streams and data and sets what is missing; a worker thread reads each after that.
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { VarveParcelCache } from '@varve/plugins/parcel'

/** @param {number} number */
const valueOf = (number) => `module ${number}; `.repeat(300)

/** One way to keep a value each. @type {((cache: VarveParcelCache, number: number) => Promise<string | undefined>)[]} */
const READS = [
  async (cache, number) => (await cache.getBuffer(`b${number}`))?.toString(),
  async (cache, number) => ((await cache.hasLargeBlob(`s${number}`)) ? text(cache.getStream(`s${number}`)) : undefined),
  async (cache, number) => (await cache.get(`d${number}`))?.value.get('code'),
]
/** @type {((cache: VarveParcelCache, number: number) => Promise<void>)[]} */
const WRITES = [
  (cache, number) => cache.setBlob(`b${number}`, valueOf(number)),
  (cache, number) =>
    cache.setStream(`s${number}`, Readable.from([valueOf(number).slice(0, 9), valueOf(number).slice(9)])),
  (cache, number) => cache.set(`d${number}`, { value: new Map([['code', valueOf(number)]]) }),
]

async function main() {
  const { options, first, count } = JSON.parse(process.argv[2] ?? '')
  const cache = new VarveParcelCache(options)
  await cache.ensure()
  const worker = new Worker(new URL(import.meta.url), { workerData: cache.serialize() })
  const counts = { hits: 0, misses: 0, wrong: 0 }
  for (let number = first; number < first + count; number++) {
    const found = await READS[number % 3]?.(cache, number)
    if (found === undefined) counts.misses++
    else if (found === valueOf(number)) counts.hits++
    else counts.wrong++
    if (found === undefined) await WRITES[number % 3]?.(cache, number)
    worker.postMessage(number)
    const seen = await new Promise((resolve) => worker.once('message', resolve))
    if (seen !== valueOf(number)) counts.wrong++
  }
  worker.postMessage('close')
  await new Promise((resolve) => worker.once('exit', resolve))
  await cache.close()
  process.stdout.write(JSON.stringify(counts))
}

if (isMainThread) await main()
else {
  const cache = VarveParcelCache.deserialize(workerData)
  parentPort?.on('message', async (message) => {
    if (typeof message === 'number') parentPort?.postMessage(await READS[message % 3]?.(cache, message))
    else await cache.close().then(() => parentPort?.close())
  })
}
