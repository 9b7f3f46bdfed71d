/** Watches a long call of the WebAssembly engine, which reports its progress from within the call. */
import type { EngineControl } from './engine.ts'
import { EngineFailure } from './answer.ts'

const PROGRESS_MS = 50

/** Reports progress every 50 ms, and stops when the signal is aborted. */
export function watcherOf({ signal, onProgress }: EngineControl): { report(done: number, total: number): boolean } {
  if (signal?.aborted === true) throw new EngineFailure('CANCELLED', 'stopped on request before it began')
  let reportedMs = 0
  return {
    report(done, total) {
      const now = performance.now()
      if (onProgress !== undefined && now - reportedMs >= PROGRESS_MS) {
        reportedMs = now
        onProgress(done, total)
      }
      return signal?.aborted !== true
    },
  }
}
