/** Long work on the JavaScript thread, in slices, with other work between two of them. */
import type { EngineControl } from './engine.ts'
import { EngineFailure } from './answer.ts'
import { runningMs } from '../host/now.ts'

/** Milliseconds of one slice. */
const SLICE_MS = 20
const PROGRESS_MS = 50

/** Calls `work` for each item, in order. Reports progress in items, and rejects with CANCELLED once the signal is aborted. */
export async function inSlices<T>(items: readonly T[], control: EngineControl, work: (item: T) => void): Promise<void> {
  const { signal, onProgress } = control
  onProgress?.(0, items.length)
  let sliceMs = runningMs()
  let toldMs = sliceMs
  for (const [index, item] of items.entries()) {
    if (signal?.aborted === true) throw new EngineFailure('CANCELLED', 'stopped on request', { cause: signal.reason })
    work(item)
    const now = runningMs()
    if (now - sliceMs < SLICE_MS) continue
    if (now - toldMs >= PROGRESS_MS) {
      onProgress?.(index + 1, items.length)
      toldMs = now
    }
    await new Promise((resolve) => setTimeout(resolve, 0))
    sliceMs = runningMs()
  }
  onProgress?.(items.length, items.length)
}
