/**
 * Work that a cache does for itself, off the critical path: a sync of the disk some seconds after a relaxed commit, and
 * folding and compaction when a commit says that they are due. One at a time; a failure is a warning, never an
 * unhandled rejection.
 */
import { toVarveError } from '../errors.ts'
import type { Session } from './session.ts'

/** How long a relaxed commit may be unsafe from a loss of power, milliseconds. */
const FLUSH_DELAY_MS = 5000

/** The background work of one cache. */
export class Maintenance {
  readonly #session: Session
  #flushTimer: ReturnType<typeof setTimeout> | undefined
  #compacting = false
  #isStopped = false

  constructor(session: Session) {
    this.#session = session
  }

  /** To be told after each commit: whether it still needs a sync, and whether folding or compaction is due. */
  committed(needsFlush: boolean, isCompactionDue: boolean): void {
    if (this.#isStopped) return
    if (needsFlush) this.#scheduleFlush()
    if (isCompactionDue && !this.#compacting) void this.#compact()
  }

  /** No new work from here on; what is under way goes on and is waited for by the session. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#flushTimer)
  }

  #scheduleFlush(): void {
    if (this.#flushTimer !== undefined) return
    this.#flushTimer = setTimeout(() => {
      this.#flushTimer = undefined
      void this.#attempt(() => this.#session.run((store) => store.flush()))
    }, FLUSH_DELAY_MS)
    // A finished build must not wait for it: close() syncs, and relaxed commits survive the end of the process anyway.
    if (typeof this.#flushTimer === 'object') this.#flushTimer.unref()
  }

  async #compact(): Promise<void> {
    this.#compacting = true
    await new Promise((resolve) => setTimeout(resolve, 0)) // the caller of commit() goes on first
    if (!this.#isStopped) {
      const control = { signal: undefined, onProgress: undefined }
      await this.#attempt(() => this.#session.run((store) => store.compact(false, control)))
    }
    this.#compacting = false
  }

  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const failure = toVarveError(error)
      // BUSY: other processes compacted meanwhile. What is left is due again after the next commit.
      if (!this.#isStopped && failure.code !== 'BUSY') this.#session.warn(failure, 'maintenance')
    }
  }
}
