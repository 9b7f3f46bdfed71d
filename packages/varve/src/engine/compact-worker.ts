/** The worker thread of `compact-elsewhere.ts`: opens the folder as a participant of its own, compacts, says how it went. */
import * as files from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { toVarveError } from '../errors.ts'
import type { CompactNews, CompactOrder } from './compact-elsewhere.ts'
import { nodeHost } from './host-node.ts'
import { wasmEngine } from './wasm.ts'

const order: CompactOrder = workerData
/** Sent and not in `workerData`, where every module of the worker could read it as long as it lives. */
const received = new Promise<Uint8Array | undefined>((resolve) => parentPort?.once('message', resolve))
const tell = (news: CompactNews): void => parentPort?.postMessage(news)

/** Reads the shared flag whenever it is asked. */
const signal = Object.defineProperty(new AbortController().signal, 'aborted', { get: () => Atomics.load(order.stop, 0) !== 0 })

try {
  const engine = wasmEngine((directory, name) => ({ host: nodeHost(files, `${directory}/${name}`) }))
  const store = await engine.open(order.directory, { ...order.options, secret: await received })
  const report = await store.compact(order.full, { signal, onProgress: (done, total) => tell({ done, total }) })
  tell({ report, damage: await store.close() })
} catch (error) {
  const { code, message } = toVarveError(error)
  tell({ code, message })
}
