/** Watches a long call of the WebAssembly engine, which reports its progress from within the call. */
import type { EngineControl } from './engine.ts'
import { EngineFailure } from './answer.ts'
import { runningMs } from '../host/now.ts'

const PROGRESS_MS = 50

/** Reports progress every 50 ms, and stops when the signal is aborted. */
export function watcherOf({ signal, onProgress }: EngineControl): { report(done: number, total: number): boolean } {
  if (signal?.aborted === true) throw new EngineFailure('CANCELLED', 'stopped on request before it began')
  let reportedMs = 0
  return {
    report(done, total) {
      const now = runningMs()
      if (onProgress !== undefined && now - reportedMs >= PROGRESS_MS) {
        reportedMs = now
        onProgress(done, total)
      }
      return signal?.aborted !== true
    },
  }
}

/** The long calls of one store. Until such a call ends, the module cannot answer others, which a listener of its progress may make. */
export class LongCalls {
  /** Whether a listener runs now. */
  isReporting = false

  /** Throws BUSY inside of a listener. */
  check(): void {
    if (!this.isReporting) return
    throw new EngineFailure(
      'BUSY',
      'WebAssembly runs a call that reports its progress; use this cache after onProgress has returned',
    )
  }

  watcherOf({ signal, onProgress }: EngineControl): ReturnType<typeof watcherOf> {
    const report = (done: number, total: number): void => {
      this.isReporting = true
      try {
        onProgress?.(done, total)
      } finally {
        this.isReporting = false
      }
    }
    return watcherOf({ signal, onProgress: onProgress === undefined ? undefined : report })
  }
}
