/**
 * The worker thread of `compact-elsewhere.ts`: opens the cache, compacts it, and reports the outcome. The build makes one script
 * of it and of all it imports, without the bytes of the engine: `workerData` has the compiled module.
 */
import type { Host } from '../../generated/varve_wasm.js'
import { toVarveError } from '../errors.ts'
import { builtin } from '../host/builtin.ts'
import { type CompactNews, type CompactOrder, RUNS, STOP } from './wasm-place.ts'
import { nodeHost } from './host-node.ts'
import { wasmEngine } from './wasm.ts'

const files = builtin('node:fs')
const threads = builtin('node:worker_threads')
if (files !== undefined && threads !== undefined) void compact(files, threads)

async function compact(
  fs: NonNullable<typeof files>,
  { parentPort, workerData }: NonNullable<typeof threads>,
): Promise<void> {
  const order: CompactOrder = workerData
  const send = (news: CompactNews): void => parentPort?.postMessage(news)
  try {
    // The secret arrives as a message, because every module of the worker could read `workerData`.
    const secret = await new Promise<Uint8Array | undefined>((resolve) => parentPort?.once('message', resolve))
    /** A signal that reads the shared flag. */
    const signal = Object.defineProperty(new AbortController().signal, 'aborted', {
      get: () => Atomics.load(order.flags, STOP) !== 0,
    })
    Atomics.store(order.flags, RUNS, 1)
    const onProgress = (done: number, total: number): void => {
      order.progress[1] = total // first, because the reader takes it last: it never sees more done than in all
      order.progress[0] = done
    }
    const hostOf = (directory: string, name: string): Host => nodeHost(fs, `${directory}/${name}`)
    const engine = await wasmEngine((directory, name) => ({ host: hostOf(directory, name) }), hostOf)
    const store = await engine.open(order.directory, { ...order.options, secret })
    const report = await store.compact(order.full, { signal, onProgress })
    send({ report, damage: await store.close() })
  } catch (error) {
    const { code, message } = toVarveError(error)
    send({ code, message })
  }
}
