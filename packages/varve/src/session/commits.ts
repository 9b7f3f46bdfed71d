/**
 * The commits of a cache whose directory may have limits (`health/place.ts`), and the work in the background that commits make due.
 * `Mode` has the states that limits lead to.
 */
import { damageError, type Session } from './session.ts'
import { type Degraded, degradedBy, degradedWarning, type Place } from '../health/place.ts'
import type { EngineCommit, EngineStore } from '../engine/engine.ts'
import { toVarveError, VarveError } from '../errors.ts'
import type { Durability } from '../options.ts'
import type { Recorder } from '../history/history.ts'
import type { CommitReport } from '../reports.ts'
import { nowMs } from '../host/own.ts'

/** Milliseconds between two checks of a directory that could not be written. */
const LOOK_MS = 1000

/**
 * What the next commit does:
 *
 *   sound    it writes to the store
 *   failed   it writes to the store, although the last commit failed
 *   barred   the directory was not trusted before the last use; it is checked again
 *   memory   entries stay in memory. A directory that could not be written is examined again every LOOK_MS
 *
 *   opening                          -> memory if the directory cannot be used or written, otherwise sound
 *   sound, failed, barred            -> barred  the directory is not trusted
 *                                    -> failed  the commit failed: the disk is full, or an I/O error
 *                                    -> memory  the directory belongs to another program
 *                                    -> sound   a commit has written entries
 *   memory                           -> sound   the directory can be written by now
 */
type Mode =
  | { readonly kind: 'sound' }
  | { readonly kind: 'failed' | 'barred'; readonly limit: Degraded }
  | {
      readonly kind: 'memory'
      readonly limit: Degraded
      readonly lookedMs: number
      /** Whether a commit has left entries in memory. */
      readonly hasEntries: boolean
    }

/** The commits of one open cache. */
export class Commits {
  readonly #session: Session
  /** Undefined for a cache in memory. */
  readonly #place: Place | undefined
  /** The host cannot sync files, so durable commits are refused in every mode. */
  readonly #unsynced: Degraded | undefined
  readonly #recorder: Recorder
  #mode: Mode

  /** `degraded` is what limits the cache when it is opened. */
  constructor(session: Session, degraded: Degraded | undefined, place: Place | undefined, recorder: Recorder) {
    this.#session = session
    this.#recorder = recorder
    this.#place = place
    this.#unsynced = degraded?.mode === 'unsynced' ? degraded : undefined
    this.#mode = degraded === undefined || degraded.mode === 'unsynced' ? { kind: 'sound' } : keptInMemory(degraded)
  }

  /** What limits the cache now. */
  get degraded(): Degraded | undefined {
    return this.#mode.kind === 'sound' ? this.#unsynced : this.#mode.limit
  }

  async commit(store: EngineStore, durability: Durability): Promise<CommitReport> {
    this.#lookAgain()
    if (this.#mode.kind === 'memory') return this.#keep(this.#mode.limit, store, durability)
    const barred = this.#place?.isUnchanged === false ? this.#check(store.pendingBytes() > 0) : undefined
    if (barred !== undefined) return this.#keep(barred, store, durability)
    if (durability === 'durable' && this.#unsynced !== undefined) throw refused(this.#unsynced)
    this.#recorder.committing(store)
    try {
      const committed = await store.commit(durability)
      this.#recorder.committed(committed.batchBytes)
      const report = this.#counted(committed)
      if (report.entries > 0) this.#mode = { kind: 'sound' }
      return report
    } catch (error) {
      const failure = toVarveError(error)
      const limit = degradedBy(failure)
      if (limit === undefined) throw failure
      if (failure.code !== 'NOT_A_CACHE') {
        this.#mode = { kind: 'failed', limit }
        throw failure
      }
      this.#mode = keptInMemory(limit)
      this.#session.warn(degradedWarning(limit), 'degraded')
      return this.#keep(limit, store, durability)
    }
  }

  /**
   * The last commit of a cache that is being closed. Rejects with an error that names the lost entries, unless the directory
   * could not be written from the start, which was a warning.
   */
  async commitRest(store: EngineStore): Promise<void> {
    const entries = store.pendingEntries()
    const bytes = store.pendingBytes()
    this.#putRecord(store)
    if (store.pendingEntries() === 0) return
    try {
      if (this.#session.isStrict && store.damageCount() > 0) throw damageError(store.status().damage)
      await this.commit(store, 'relaxed')
    } catch (error) {
      if (entries === 0) return // only the record of this build is lost
      const { code, message } = toVarveError(error)
      const lost = `${entries} ${entries === 1 ? 'entry' : 'entries'} (${bytes} bytes)`
      throw new VarveError(
        code,
        `close() could not commit the buffered entries, so ${lost} will be computed again: ${message}`,
        { cause: error },
      )
    }
  }

  /** Adds the record of this build to its last commit, unless that stays in memory. */
  #putRecord(store: EngineStore): void {
    if (this.#mode.kind === 'memory' || !this.#recorder.isDue(store)) return
    const isGone = store.pendingEntries() === 0 && this.#place?.examine().isThere === false
    if (!isGone || this.#recorder.hasStoredNothing(store)) this.#recorder.put(store)
  }

  /** Makes visible what others committed, if the directory is trusted; true if something changed. */
  refresh(): boolean {
    if (this.#check(false) !== undefined || this.#place?.isThere === false) return false
    return this.#session.call((store) => store.refresh())
  }

  /** Throws if entries are only in memory, or cannot be synced: a flush was requested. */
  checkFlushed(): void {
    if (this.#unsynced !== undefined) throw refused(this.#unsynced)
    if (this.#mode.kind === 'memory' && this.#mode.hasEntries) throw refused(this.#mode.limit)
  }

  /** Why the directory must not be read, or written, any more; reported once. */
  #check(writes: boolean): Degraded | undefined {
    const limit = this.#place?.check(writes)
    if (limit === undefined) return undefined
    this.#mode = this.#mode.kind === 'memory' ? { ...this.#mode, limit } : { kind: 'barred', limit }
    this.#session.warn(degradedWarning(limit), 'degraded')
    return limit
  }

  /** A relaxed commit that writes nothing to the directory. */
  async #keep(limit: Degraded, store: EngineStore, durability: Durability): Promise<CommitReport> {
    const hasPending = store.pendingBytes() > 0
    if (hasPending && durability === 'durable') throw refused(limit)
    if (hasPending && this.#mode.kind === 'memory') this.#mode = { ...this.#mode, hasEntries: true }
    if (this.#place !== undefined)
      return { entries: 0, bytes: 0, maintenanceDue: false, ...(hasPending ? { inMemory: true } : {}) }
    const report = this.#counted(await store.commit('relaxed'))
    return report.entries > 0 ? { ...report, bytes: 0, inMemory: true } : report
  }

  #counted({ report, damageCount }: EngineCommit): CommitReport {
    this.#session.noteDamage(damageCount)
    return report
  }

  /** A directory that is read may have become writable; one that was not opened stays unused. */
  #lookAgain(): void {
    const mode = this.#mode
    if (mode.kind !== 'memory' || mode.limit.mode !== 'unwritable') return
    const lookedMs = nowMs()
    if (lookedMs - mode.lookedMs < LOOK_MS) return
    const limit = this.#place?.examine().degraded
    if (limit === undefined) this.#mode = { kind: 'sound' }
    else this.#mode = { ...mode, lookedMs, limit: limit.mode === 'unwritable' ? limit : mode.limit }
  }
}

function keptInMemory(limit: Degraded): Mode {
  return { kind: 'memory', limit, lookedMs: nowMs(), hasEntries: false }
}

function refused({ mode, code, why, fix }: Degraded): VarveError {
  const limit = mode === 'unsynced' ? 'synced, but relaxed commits work' : 'written, so new entries stay in memory'
  return new VarveError(code, `the cache cannot be ${limit}: ${why}; ${fix}`)
}

// Background work of a cache: a disk sync some seconds after a relaxed commit, and checkpoints and compaction when a commit
// reports that they are due. One at a time; a failure is a warning, never an unhandled rejection.

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
      // BUSY: other processes compacted first. The rest is due again after the next commit.
      if (!this.#isStopped && failure.code !== 'BUSY') this.#session.warn(failure, 'maintenance')
    }
  }
}
