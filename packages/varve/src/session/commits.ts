/**
 * Commits of a cache whose directory has limits (`degraded.ts`): they stay in memory if the directory cannot be written from
 * the start or belongs to another user by now, and go to disk as soon as that is possible.
 */
import { damageError } from './damage-watch.ts'
import { type Degraded, degradedBy, degradedWarning } from '../health/degraded.ts'
import type { EngineCommit, EngineStore } from '../engine/engine.ts'
import { toVarveError, VarveError } from '../errors.ts'
import type { Durability } from '../options.ts'
import type { Recorder } from '../history/recorder.ts'
import type { Place } from '../health/place.ts'
import type { CommitReport } from '../reports.ts'
import type { Session } from './session.ts'
import { nowMs } from '../host/now.ts'

/** Milliseconds between two checks of a directory that could not be written. */
const LOOK_MS = 1000

/** The commits of one open cache. */
export class Commits {
  readonly #session: Session
  /** Undefined for a cache in memory. */
  readonly #place: Place | undefined
  /** Found before the first commit: commits go into memory. Else they reject. */
  #isFromStart: boolean
  /** Nothing can be synced, from the start. */
  readonly #unsynced: Degraded | undefined
  readonly #recorder: Recorder
  #degraded: Degraded | undefined
  #lookedMs = nowMs()
  #hasKept = false

  constructor(session: Session, degraded: Degraded | undefined, place: Place | undefined, recorder: Recorder) {
    this.#session = session
    this.#recorder = recorder
    this.#degraded = degraded
    this.#unsynced = degraded?.mode === 'unsynced' ? degraded : undefined
    this.#isFromStart = degraded !== undefined && this.#unsynced === undefined
    this.#place = place
  }

  /** What limits the cache now. */
  get degraded(): Degraded | undefined {
    return this.#degraded
  }

  async commit(store: EngineStore, durability: Durability): Promise<CommitReport> {
    const degraded = this.#look()
    if (degraded !== undefined && this.#isFromStart) return this.#keep(degraded, store, durability)
    const barred = this.#place?.isUnchanged === false ? this.#check(store.pendingBytes() > 0) : undefined
    if (barred !== undefined) return this.#keep(barred, store, durability)
    if (durability === 'durable' && this.#unsynced !== undefined) throw refused(this.#unsynced)
    this.#recorder.committing(store)
    try {
      const committed = await store.commit(durability)
      this.#recorder.committed(committed.batchBytes)
      const report = this.#counted(committed)
      if (report.entries > 0) this.#degraded = this.#unsynced
      return report
    } catch (error) {
      const failure = toVarveError(error)
      this.#degraded = degradedBy(failure) ?? this.#degraded
      if (failure.code !== 'NOT_A_CACHE' || this.#degraded === undefined) throw failure
      // The directory is of another program and stays that, so the cache goes on as in one that may not be written.
      this.#isFromStart = true
      this.#lookedMs = nowMs()
      this.#session.warn(degradedWarning(this.#degraded), 'degraded')
      return this.#keep(this.#degraded, store, durability)
    }
  }

  /**
   * The last commit of a cache that is being closed. Rejects with an error that names the lost entries, unless the directory
   * could not be written from the start, which was a warning.
   */
  async commitRest(store: EngineStore): Promise<void> {
    const [entries, bytes] = [store.pendingEntries(), store.pendingBytes()]
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
    if (this.#isFromStart || !this.#recorder.isDue(store)) return
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
    if (this.#degraded !== undefined && this.#isFromStart && this.#hasKept) throw refused(this.#degraded)
  }

  /** Why the directory must not be read, or written, any more; reported once. */
  #check(writes: boolean): Degraded | undefined {
    const barred = this.#place?.check(writes)
    if (barred === undefined) return undefined
    this.#degraded = barred
    this.#session.warn(degradedWarning(barred), 'degraded')
    return barred
  }

  async #keep(degraded: Degraded, store: EngineStore, durability: Durability): Promise<CommitReport> {
    const hasPending = store.pendingBytes() > 0
    if (hasPending && durability === 'durable') throw refused(degraded)
    this.#hasKept ||= hasPending
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
  #look(): Degraded | undefined {
    const isDue = this.#isFromStart && this.#degraded?.mode === 'unwritable' && nowMs() - this.#lookedMs >= LOOK_MS
    if (!isDue) return this.#degraded
    this.#lookedMs = nowMs()
    const found = this.#place?.examine().degraded
    this.#isFromStart = found !== undefined
    if (found === undefined) this.#degraded = undefined
    else if (found.mode === 'unwritable') this.#degraded = found
    return this.#degraded
  }
}

function refused({ mode, code, why, fix }: Degraded): VarveError {
  const limit = mode === 'unsynced' ? 'synced, but relaxed commits work' : 'written, so new entries stay in memory'
  return new VarveError(code, `the cache cannot be ${limit}: ${why}; ${fix}`)
}
