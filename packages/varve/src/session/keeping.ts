/**
 * Commits of a cache whose folder may fall short (`degraded.ts`): into memory where the folder cannot be written from
 * the start or is another user's by now, and all of it to the disk as soon as that is possible again.
 */
import { damageError } from './damage-watch.ts'
import { type Degraded, degradedBy, degradedWarning } from '../health/degraded.ts'
import type { EngineStore } from '../engine/engine.ts'
import { toVarveError, VarveError } from '../errors.ts'
import type { Durability } from '../options.ts'
import type { Place } from '../health/place.ts'
import type { CommitReport } from '../reports.ts'
import type { Session } from './session.ts'

/** How often a folder that could not be written is looked at again, milliseconds. */
const LOOK_MS = 1000

/** What a cache does with what it cannot write. */
export class Keeping {
  readonly #session: Session
  /** Undefined where everything is in memory. */
  readonly #place: Place | undefined
  /** Found before the first commit: commits go into memory. Else they reject. */
  #isFromStart: boolean
  /** Nothing can be synced, from the start. */
  readonly #unsynced: Degraded | undefined
  #degraded: Degraded | undefined
  #lookedMs = Date.now()
  #hasKept = false

  constructor(session: Session, degraded: Degraded | undefined, place: Place | undefined) {
    this.#session = session
    this.#degraded = degraded
    this.#unsynced = degraded?.mode === 'unsynced' ? degraded : undefined
    this.#isFromStart = degraded !== undefined && this.#unsynced === undefined
    this.#place = place
  }

  /** What falls short now. */
  get degraded(): Degraded | undefined {
    return this.#degraded
  }

  async commit(store: EngineStore, durability: Durability): Promise<CommitReport> {
    const degraded = this.#look()
    if (degraded !== undefined && this.#isFromStart) return this.#keep(degraded, store, durability)
    const barred = this.#check(store.pendingBytes() > 0)
    if (barred !== undefined) return this.#keep(barred, store, durability)
    if (durability === 'durable' && this.#unsynced !== undefined) throw refused(this.#unsynced)
    try {
      const report = await store.commit(durability)
      if (report.entries > 0) this.#degraded = this.#unsynced
      return report
    } catch (error) {
      const failure = toVarveError(error)
      this.#degraded = degradedBy(failure) ?? this.#degraded
      throw failure
    }
  }

  /**
   * The last commit of a cache that is being closed. Rejects with an error that says how much is lost, but not where the
   * folder could not be written from the start: of that there was a warning.
   */
  async commitRest(store: EngineStore): Promise<void> {
    const [entries, bytes] = [store.pendingEntries(), store.pendingBytes()]
    if (entries === 0) return
    try {
      if (this.#session.isStrict && store.damageCount() > 0) throw damageError(store.status().damage)
      await this.commit(store, 'relaxed')
    } catch (error) {
      const { code, message } = toVarveError(error)
      const lost = `${entries} ${entries === 1 ? 'entry' : 'entries'} (${bytes} bytes)`
      throw new VarveError(code, `close() could not commit what was buffered, ${lost} will be computed again: ${message}`, { cause: error })
    }
  }

  /** Takes up what others committed, where the folder is to be trusted; true where something changed. */
  refresh(): boolean {
    if (this.#check(false) !== undefined || this.#place?.isThere === false) return false
    return this.#session.call((store) => store.refresh())
  }

  /** Throws where something is only in memory, or cannot be synced, and somebody asks for the disk. */
  checkFlushed(): void {
    if (this.#unsynced !== undefined) throw refused(this.#unsynced)
    if (this.#degraded !== undefined && this.#isFromStart && this.#hasKept) throw refused(this.#degraded)
  }

  /** Why the folder must not be read, or written, any more; told once. */
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
    if (this.#place !== undefined) return { entries: 0, bytes: 0, maintenanceDue: false, ...(hasPending ? { inMemory: true } : {}) }
    const report = await store.commit('relaxed')
    return report.entries > 0 ? { ...report, bytes: 0, inMemory: true } : report
  }

  /** A folder that is read may have become writable; one that was not even opened stays out of use. */
  #look(): Degraded | undefined {
    const isDue = this.#isFromStart && this.#degraded?.mode === 'unwritable' && Date.now() - this.#lookedMs >= LOOK_MS
    if (!isDue) return this.#degraded
    this.#lookedMs = Date.now()
    const found = this.#place?.examine().degraded
    this.#isFromStart = found !== undefined
    if (found === undefined) this.#degraded = undefined
    else if (found.mode === 'unwritable') this.#degraded = found
    return this.#degraded
  }
}

function refused({ mode, code, why, fix }: Degraded): VarveError {
  const what = mode === 'unsynced' ? 'cannot be synced, relaxed commits work' : 'cannot be written, what was put is kept in memory'
  return new VarveError(code, `${what}: ${why}; ${fix}`)
}
