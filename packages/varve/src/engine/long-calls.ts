/** Progress and cancellation of long calls of the WebAssembly engine: calls into the module, and loops of this thread in slices. */
import type { EngineControl } from './engine.ts'
import { EngineFailure } from './answers.ts'
import { runningMs } from '../host/now.ts'

/** Milliseconds between two reports of progress. */
const PROGRESS_MS = 50

/** Reports progress, and stops when the signal is aborted. */
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

/** Milliseconds of one slice. */
const SLICE_MS = 20

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
