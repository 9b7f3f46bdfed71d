/**
 * Background work of a cache: a disk sync some seconds after a relaxed commit, and checkpoints and compaction when a commit
 * reports that they are due. One at a time; a failure is a warning, never an unhandled rejection.
 */
import { toVarveError } from '../errors.ts'
import type { Session } from './session.ts'

/** Milliseconds until a relaxed commit is synced. */
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

  /** Call after each commit: whether it still needs a sync, and whether a checkpoint or compaction is due. */
  committed(needsFlush: boolean, isCompactionDue: boolean): void {
    if (this.#isStopped) return
    if (needsFlush) this.#scheduleFlush()
    if (isCompactionDue && !this.#compacting) void this.#compact()
  }

  /** Starts no new work; the session waits for work under way. */
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
    // A finished build must not wait for it: close() syncs, and relaxed commits survive the end of the process.
    if (typeof this.#flushTimer === 'object') this.#flushTimer.unref()
  }

  async #compact(): Promise<void> {
    this.#compacting = true
    await new Promise((resolve) => setTimeout(resolve, 0)) // the caller of commit() continues first
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
      // BUSY: other processes compacted meanwhile. The rest is due again after the next commit.
      if (!this.#isStopped && failure.code !== 'BUSY') this.#session.warn(failure, 'maintenance')
    }
  }
}
