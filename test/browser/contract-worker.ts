/** The program of a worker that runs the contract: bundled by `contract.test.ts`, in a browser. */
import { type Cache, type CacheOptions, openCache } from 'varve'
import { inMemory } from '../engines.ts'
import { contract } from '../contract/contract.ts'
import { runAll } from './vitest.ts'

interface Call {
  readonly id: number
  readonly call: readonly ['private' | 'memory', readonly string[]]
}

/** What a worker of a browser has; tests are compiled without its types. */
interface BrowserWorker {
  addEventListener(type: 'message', listener: (event: { readonly data: Call }) => unknown): void
  postMessage(answer: unknown): void
}
const worker = globalThis as object as BrowserWorker

/** A cache on the private files, never the one in memory that a browser opens without them. */
async function openPrivate(options: CacheOptions): Promise<Cache> {
  const cache = await openCache(options)
  const { reason } = cache.status()
  if (!reason.endsWith('private to the origin')) throw new Error(reason)
  return cache
}

worker.addEventListener(
  'message',
  async ({
    data: {
      id,
      call: [place, left],
    },
  }) => {
    const isOnDisk = false // no test can look at the files
    contract(place, {
      isOnDisk,
      openEngineCache: (options) => (place === 'memory' ? openCache(inMemory(options)) : openPrivate(options)),
    })
    worker.postMessage({ id, answer: await runAll(left) })
  },
)
