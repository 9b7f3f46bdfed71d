/** The worker thread of `compact-elsewhere.ts`: opens the cache, compacts it, and reports the outcome. */
import * as files from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { Host } from '../../generated/varve_wasm.js'
import { toVarveError } from '../errors.ts'
import type { CompactNews, CompactOrder } from './compact-elsewhere.ts'
import { nodeHost } from './host-node.ts'
import { wasmEngine } from './wasm.ts'

const order: CompactOrder = workerData
/** The secret arrives as a message, because every module of the worker could read `workerData`. */
const received = new Promise<Uint8Array | undefined>((resolve) => parentPort?.once('message', resolve))
const tell = (news: CompactNews): void => parentPort?.postMessage(news)

/** A signal that reads the shared flag. */
const signal = Object.defineProperty(new AbortController().signal, 'aborted', { get: () => Atomics.load(order.stop, 0) !== 0 })

try {
  const hostOf = (directory: string, name: string): Host => nodeHost(files, `${directory}/${name}`)
  const engine = wasmEngine((directory, name) => ({ host: hostOf(directory, name) }), hostOf)
  const store = await engine.open(order.directory, { ...order.options, secret: await received })
  const report = await store.compact(order.full, { signal, onProgress: (done, total) => tell({ done, total }) })
  tell({ report, damage: await store.close() })
} catch (error) {
  const { code, message } = toVarveError(error)
  tell({ code, message })
}
