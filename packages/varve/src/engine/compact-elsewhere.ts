/**
 * Compaction of the WebAssembly engine in a worker thread, so that the main thread stays free. The worker opens the
 * cache like another process: it checkpoints the sealed logs, and their writers begin new ones.
 *
 * The program of the worker is a text in this module, and the compiled engine comes from this thread. So no file has to be found,
 * wherever a bundler puts this code.
 */
import type * as workers from 'node:worker_threads'
import { program } from '../../generated/compact_worker.js'
import { builtin } from '../host/builtin.ts'
import { type CompactOutcome, type CompactNews, type CompactOrder, RUNS, STOP } from './wasm-place.ts'
import type { EngineControl, EngineOptions } from './engine.ts'
import { EngineFailure } from './answers.ts'
import { folderBytes } from './host-node.ts'

/** Starting a worker takes longer than compacting a smaller directory. */
const WORKER_BYTES = 8 * 1024 * 1024

/** Interval between two reads of the progress, milliseconds. */
const PROGRESS_MS = 50

/**
 * Compacts the cache in `directory`, whose files are in `folder`, in a worker; undefined if this thread is quicker. The
 * promise resolves with undefined if no worker can be started, as in a sandbox.
 */
export function compactInWorker(
  {
    directory,
    folder,
    module,
  }: { readonly directory: string; readonly folder: string; readonly module: WebAssembly.Module },
  full: boolean,
  control: EngineControl,
  { secret, ...options }: EngineOptions,
): Promise<CompactOutcome | undefined> | undefined {
  const files = builtin('node:fs')
  const threads = builtin('node:worker_threads')
  if (files === undefined || threads === undefined || folderBytes(files, folder) < WORKER_BYTES) return undefined
  const { signal, onProgress } = control
  const flags = new Int32Array(new SharedArrayBuffer(8))
  const progress = new Float64Array(new SharedArrayBuffer(16))
  const order: CompactOrder = { directory, full, options, module, flags, progress }
  const worker = startWorker(threads, order)
  if (worker === undefined) return undefined
  const stop = (): void => void Atomics.store(flags, STOP, 1)
  signal?.addEventListener('abort', stop, { once: true })
  worker.postMessage(secret)
  const look = (): void => {
    const [done = 0, total = 0] = progress
    if (total > 0) onProgress?.(done, total)
  }
  const timer = onProgress === undefined ? undefined : setInterval(look, PROGRESS_MS)
  const outcome = new Promise<CompactOutcome | undefined>((resolve, reject) => {
    worker.on('message', (news: CompactNews) => {
      look()
      if ('report' in news) resolve(news)
      else reject(new EngineFailure(news.code, news.message))
    })
    worker.on('error', (error) => {
      if (Atomics.load(flags, RUNS) !== 0)
        reject(new EngineFailure('INTERNAL', `compaction failed: ${error.message}`, { cause: error }))
      else resolve(undefined)
    })
    worker.on('exit', () =>
      reject(new EngineFailure('INTERNAL', 'the compaction worker ended early; committed entries are kept')),
    )
  })
  return outcome.finally(() => {
    clearInterval(timer)
    signal?.removeEventListener('abort', stop)
  })
}

/** Undefined if the host refuses workers, as Node.js does with `--permission`. */
function startWorker(threads: typeof workers, order: CompactOrder): workers.Worker | undefined {
  try {
    return new threads.Worker(program, { eval: true, workerData: order })
  } catch {
    return undefined
  }
}
