/** Puts the record of a build when its cache is closed. A failure costs a record and nothing else. */
import type { EngineName, EngineStore } from '../engine/engine.ts'
import { VarveError } from '../errors.ts'
import { variable } from '../host/permission.ts'
import type { HistoryMode } from '../options.ts'
import { putRecord, recordKey } from './history.ts'
import { encodeRecord, type RecordedRemote } from './record.ts'
import type { Tally } from './tally.ts'
import { nowMs } from '../host/now.ts'

/** The option `history`, which VARVE_HISTORY overrides. Throws INVALID_OPTION. */
export function historyMode(given: HistoryMode = 'auto'): HistoryMode {
  const forced = variable('VARVE_HISTORY')
  if (forced === undefined || forced === '') return given
  if (forced === 'auto' || forced === 'always' || forced === 'never') return forced
  throw new VarveError('INVALID_OPTION', `VARVE_HISTORY is '${forced}'; set it to auto, always or never, or unset it`)
}

/** What the record of one open cache is made from. */
export interface RecorderParts {
  readonly mode: HistoryMode
  readonly name: string
  readonly engine: EngineName
  readonly tally: Tally
  /** The remote, if there is one. */
  readonly remote: RecordedRemote | null
}

/** The record of one open cache. */
export class Recorder {
  readonly #parts: RecorderParts
  readonly #startMs: number = nowMs()
  readonly #key: string = recordKey(this.#startMs)
  #writtenBytes = 0
  /** Results of the tool that the record counts. */
  #recorded = 0

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  /**
   * Call before each commit. Once the tool has counted a build, each commit that writes entries has the record, in place of the one
   * before: a watching build that is killed has one, too.
   */
  committing(store: EngineStore): void {
    const { mode, tally } = this.#parts
    if (mode !== 'never' && !tally.tool.isEmpty && store.pendingBytes() > 0) this.put(store)
  }

  /** Call after each commit, with the bytes of its entries. */
  committed(batchBytes: number): void {
    this.#writtenBytes += batchBytes
  }

  /** Whether the tool had results of which this build has stored none: `varve doctor` looks for such builds. */
  hasStoredNothing(store: EngineStore): boolean {
    const { hits, misses } = this.#parts.tally.tool
    return hits === 0 && misses > 0 && this.#writtenBytes === 0 && store.pendingBytes() === 0
  }

  /**
   * Whether this build leaves a record when it ends: each build does, or it wrote something that no record counts, or it has stored
   * nothing.
   */
  isDue(store: EngineStore): boolean {
    const { mode, tally } = this.#parts
    if (mode !== 'auto') return mode === 'always'
    if (this.hasStoredNothing(store)) return true
    const isRecorded = this.#recorded > 0 && this.#recorded === tally.tool.count
    return store.pendingBytes() > 0 || (this.#writtenBytes > 0 && !isRecorded)
  }

  /** Buffers the record, in place of an earlier one of this build. */
  put(store: EngineStore): void {
    const { name, engine, tally, remote } = this.#parts
    if (engine === 'none') return // nothing is left for a later build
    const writtenBytes = this.#writtenBytes + store.pendingBytes()
    try {
      const layers = store.status().layers.filter(({ problem }) => problem === null).length
      const [startMs, durationMs] = [this.#startMs, Math.max(0, nowMs() - this.#startMs)]
      const { readBytes, namespaces } = tally
      const facts = { name, startMs, durationMs, readBytes, writtenBytes, engine, layers, remote, namespaces }
      putRecord(store, this.#key, encodeRecord(facts, tally.counts))
      this.#recorded = tally.tool.count
    } catch {
      // A cache that cannot be read has no history to extend.
    }
  }
}
